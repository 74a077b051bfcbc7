"""Package builder: builds a package of the program. ``packaging/build`` runs it.

    packaging/build deb [--out FOLDER]       # for this system: Debian 12, Debian 13, Ubuntu 24.04
    packaging/build rpm [--out FOLDER]       # Fedora 43 and 44
    packaging/build tarball [--out FOLDER]   # every distribution with Python 3.11 to 3.14 and glibc 2.34

A package is for one release of a distribution, because its libraries are compiled for one version of Python.
The tarball has them for each version. Each is built from the checkout, uncommitted changes included. With the
same files and the same SOURCE_DATE_EPOCH (default: time of the last commit), two builds are identical byte
for byte.

Standard library only. The locked libraries and the server programs of the lab are fetched like those of
``./run``. The build itself needs no network.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).absolute().parents[1]
sys.path.insert(0, str(ROOT / "packaging"))

import build_rpm  # noqa: E402
import build_tarball  # noqa: E402
import changes  # noqa: E402
import package_copyright  # noqa: E402
import package_tree  # noqa: E402
from bootstrap import set_up  # noqa: E402
from environments import CACHE, python_of, version_of  # noqa: E402
from package_tree import Source  # noqa: E402
from system_packages import (  # noqa: E402
    LAB,
    SETUP,
    TO_BUILD_DEB,
    TO_BUILD_RPM,
    WINDOW,
    Purpose,
    SetupError,
    is_debian,
    say,
)

WORK = CACHE / "packages"
DEBIAN = ROOT / "packaging" / "debian"
_PYTHON = "/usr/bin/python3"


def source(*, with_lab: bool, site: Path | None = None) -> Source:
    """Return the sources of the package tree.

    Args:
        with_lab: whether the lab is included; it needs User-Mode Linux.
        site: directory of the installed libraries; None for the environment of ``./run``.

    Raises:
        SetupError: if that environment belongs to another Python than the system's.
    """
    python = ".".join(map(str, version_of(_PYTHON) or ()))
    site = site or python_of("run").parents[1] / "lib" / f"python{python}" / "site-packages"
    if not site.is_dir():
        raise SetupError(f".venv-run has another Python than {_PYTHON}. Delete it and build again.")
    return Source(site, python, with_lab, epoch())


def epoch() -> int:
    """Return the modification time of every file, s: SOURCE_DATE_EPOCH or the time of the last commit.

    Raises:
        SetupError: if neither is known.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SetupError(
            "Set SOURCE_DATE_EPOCH: this is no checkout that git could ask for the time of a commit."
        )
    return int(done.stdout)


def suffix(os_release: dict[str, str], revision: int = 1) -> str:
    """Return the suffix of the package version, such as "-1~deb13"; later distribution releases sort later.

    Args:
        os_release: variables of os-release(5).
        revision: revision of the package.
    """
    name = {"debian": "deb"}.get(os_release.get("ID", ""), os_release.get("ID", "linux"))
    return f"-{revision}~{name}{os_release.get('VERSION_ID', '')}"


def read_os_release(path: Path = Path("/etc/os-release")) -> dict[str, str]:
    """Return the variables of /etc/os-release (os-release(5)) by name."""
    pairs = (line.partition("=") for line in path.read_text().splitlines() if "=" in line)
    return {key: value.strip("\"'") for key, _, value in pairs}


def build_deb(out: Path) -> Path:
    """Build the package for this Debian or Ubuntu; return its path.

    Args:
        out: directory for the package; it is created if it is missing.

    Raises:
        SetupError: if the system is another one, or a tool is missing or fails.
    """
    if not is_debian():
        raise SetupError("A .deb is built on Debian or Ubuntu.")
    architecture = _output("dpkg", "--print-architecture")
    with_lab = architecture == "amd64"  # elsewhere there is no user-mode Linux
    purposes: tuple[Purpose, ...] = (SETUP, WINDOW, TO_BUILD_DEB, *((LAB,) if with_lab else ()))
    set_up(("run",), purposes)
    made = source(with_lab=with_lab)
    folder = WORK / "deb"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tree = folder / "mountwright"
    say("collecting the program and its libraries")
    package_tree.make(tree / "stage", made)
    write_debian(tree / "debian", made)
    say("building the package with debhelper")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(made.epoch), "LC_ALL": "C.UTF-8"}
    command = ["dpkg-buildpackage", "--build=binary", "--no-sign", "--no-pre-clean"]
    with (folder / "build.log").open("wb") as log:
        done = subprocess.run(command, check=False, cwd=tree, env=environment, stdout=log, stderr=log)
    if done.returncode:
        raise SetupError(f"dpkg-buildpackage failed; {folder / 'build.log'} says why.")
    out.mkdir(parents=True, exist_ok=True)
    (package,) = folder.glob("mountwright_*.deb")
    return Path(shutil.copy2(package, out / package.name))


def write_debian(folder: Path, made: Source) -> None:
    """Write the directory “debian” of a source package."""
    shutil.copytree(DEBIAN, folder)
    (folder / "rules").chmod(0o755)
    found = changes.releases(changes.CHANGELOG.read_text(encoding="utf-8"))
    text = changes.for_debian(found, suffix(read_os_release()), made.epoch)
    (folder / "changelog").write_text(text, encoding="utf-8")
    libraries = package_tree.libraries(made)
    text = package_copyright.text(made.site, libraries, made.python, with_lab=made.with_lab)
    (folder / "copyright").write_text(text, encoding="utf-8")
    major, minor = made.python.split(".")
    window = ", ".join(name.replace("|", " | ") for name in WINDOW.packages)
    substitutes = {
        "mountwright:Python": f"python3 (>= {made.python}~), python3 (<< {major}.{int(minor) + 1}~), "
        f"python{made.python}",
        "mountwright:Window": window,
        "mountwright:Lab": ", ".join(["user-mode-linux", *_LAB]) if made.with_lab else "",
        "mountwright:Built": package_tree.server_source() if made.with_lab else "",
    }
    lines = "".join(f"{key}={value}\n" for key, value in substitutes.items())
    (folder / "values").write_text(lines)  # debhelper removes a file of substvars that is there before


#: What the lab uses beside user-mode Linux.
_LAB = ("iproute2", "kmod", "rpcbind", "netbase")


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def build(kind: str, out: Path) -> Path:
    """Build a package of a kind (deb, rpm, tarball) into a directory; return its path.

    Raises:
        SetupError: if the system cannot build it, or a tool is missing or fails.
    """
    if kind == "deb":
        return build_deb(out)
    purposes = (SETUP, WINDOW, TO_BUILD_RPM) if kind == "rpm" else (SETUP, WINDOW)
    set_up(("run",), purposes)
    make = build_rpm.build if kind == "rpm" else build_tarball.build
    return make(out, WORK / kind, epoch())


def main(arguments: list[str]) -> int:
    """Carry out the command line."""
    parser = argparse.ArgumentParser(prog="packaging/build", description="Build a package for this system.")
    parser.add_argument("format", choices=("deb", "rpm", "tarball"), help="kind of package")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "dist", help="directory for the package (default: dist)"
    )
    options = parser.parse_args(arguments)
    os.umask(0o022)
    try:
        package = build(options.format, options.out.absolute())
    except SetupError as error:
        say(f"packaging/build: {error}")
        return 1
    print(package)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
