"""RPM builder: the package for Fedora. ``packaging/build rpm`` runs it.

Standard library only. The tree is that of the Debian package without the lab, whose kernel Fedora does not
have. The libraries are those of the lock for the Python of that Fedora, so it is built on any distribution
with rpmbuild. Two builds are identical byte for byte (rpm's SOURCE_DATE_EPOCH macros).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import changes
import install_helper
import other_libraries
import package_copyright
import package_tree
from environments import python_of, version_of
from package_tree import Source
from system_packages import SetupError, find, say

SPEC = Path(__file__).absolute().parent / "rpm" / "mountwright.spec"
#: Python of Fedora 43 and 44.
FEDORA_PYTHON = "3.14"
#: Fedora's directories of completions, where they differ from Debian's.
_MOVED = {"usr/share/zsh/vendor-completions": "usr/share/zsh/site-functions"}


def build(out: Path, work: Path, epoch: int, python: str = FEDORA_PYTHON, machine: str = "x86_64") -> Path:
    """Build the package; return its path.

    Args:
        out: directory for the package; it is created if it is missing.
        work: directory for everything that the build makes; it is replaced.
        epoch: modification time of every file, s since 1970.
        python: version of Python of the distribution.
        machine: processor as in uname(1).

    Raises:
        SetupError: if rpmbuild is missing or fails.
    """
    if find("rpmbuild") is None:
        raise SetupError("rpmbuild is missing; on Debian it comes with rpm, on Fedora with rpm-build.")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    say(f"fetching the libraries for Python {python}")
    source = Source(
        other_libraries.fetch(work, python, machine), python, with_lab=False, epoch=epoch, builder=builder()
    )
    say("collecting the program and its libraries")
    stage = work / "stage"
    package_tree.make(stage, source)
    for old, new in _MOVED.items():
        (stage / new).parent.mkdir(parents=True, exist_ok=True)
        (stage / old).rename(stage / new)
    libraries = package_tree.libraries(source)
    found = changes.releases(changes.CHANGELOG.read_text(encoding="utf-8"))
    licences = stage / "usr/share/licenses/mountwright/copyright"
    licences.parent.mkdir(parents=True)
    licences.write_text(
        package_copyright.text(source.site, libraries, python, with_lab=False), encoding="utf-8"
    )
    package_tree.make_uniform(stage, epoch)
    for path in stage.rglob("*.so*"):
        path.chmod(0o755)  # rpm looks for what a library needs only in executable ones
    (work / "changes").write_text(changes.for_rpm(found, epoch), encoding="utf-8")
    (work / "files").write_text("".join(f"{line}\n" for line in file_list(stage)))
    say("building the package with rpmbuild")
    package = _rpmbuild(work, stage, source, found[0].version, machine)
    out.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy2(package, out / package.name))


def builder() -> tuple[Path, Path]:
    """Return the Python of ``./run`` and its libraries, which run the program during the build."""
    python = python_of("run")
    version = ".".join(map(str, version_of(str(python)) or ()))
    return python, python.parents[1] / "lib" / f"python{version}" / "site-packages"


def file_list(stage: Path) -> list[str]:
    """Return the lines of %files: every file, and the directories that are the package's own."""
    mine = (package_tree.PRIVATE, install_helper.LIBEXEC, Path("/usr/share/doc/mountwright"),
            Path("/usr/share/licenses/mountwright"))  # fmt: skip
    lines: list[str] = []
    for path in sorted(stage.rglob("*")):
        installed = Path("/") / path.relative_to(stage)
        if path.is_dir() and not path.is_symlink():
            if any(installed.is_relative_to(each) for each in mine):
                lines.append(f'%dir "{installed}"')
            continue
        kind = "%doc " if installed.is_relative_to("/usr/share/doc") else ""
        kind = "%license " if installed.is_relative_to("/usr/share/licenses") else kind
        packed = "*" if installed.is_relative_to("/usr/share/man") else ""  # rpmbuild compresses pages
        lines.append(f"{kind}{installed}{packed}" if packed else f'{kind}"{installed}"')
    return lines


def _bundled(stage: Path) -> str:
    """Return the pattern of the dependencies that the package's own libraries satisfy."""
    names = sorted({re.escape(path.name) for path in stage.rglob("*.so*")})
    return f"^({'|'.join(names)})[(].*$"


def _rpmbuild(work: Path, stage: Path, source: Source, version: str, machine: str) -> Path:
    licences = sorted({wheel.licence for wheel in package_tree.libraries(source)})
    macros = {
        "stage": stage, "file_list": work / "files", "_topdir": work / "rpmbuild",
        "change_list": work / "changes", "bundled": _bundled(stage),
        "program_version": version, "program_python": source.python,
        "program_licenses": " AND ".join(["GPL-3.0-or-later", *(f"({each})" for each in licences)]),
        "_dbpath": work / "database",
    }  # fmt: skip
    command = ["rpmbuild", "-bb", "--quiet", "--target", f"{machine}-linux", "--nodeps"]
    command += [word for name, value in macros.items() for word in ("--define", f"{name} {value}")]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(source.epoch), "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    with (work / "build.log").open("wb") as log:
        done = subprocess.run([*command, str(SPEC)], check=False, env=environment, stdout=log, stderr=log)
    if done.returncode:
        raise SetupError(f"rpmbuild failed; {work / 'build.log'} says why.")
    (package,) = (work / "rpmbuild/RPMS").rglob("mountwright-*.rpm")
    return package
