"""File tree of a package: writes all installed files below a directory, for every package format.

Standard library only. The program and its locked libraries are in /usr/lib/mountwright, a virtual environment
of the system's python3 (PEP 405). Libraries of the system and of the user are not imported. Child processes
started as ``sys.executable`` use the same modules. install_helper.py installs the root helper.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).absolute().parents[1]
PACKAGING = ROOT / "packaging"
sys.path.insert(0, str(PACKAGING))

import changes  # noqa: E402
import install_helper  # noqa: E402
import wheel_files  # noqa: E402
from environments import REQUIREMENTS  # noqa: E402
from system_packages import LAB_TOOLS, SetupError, find  # noqa: E402

APP_ID = "org.mountwright.Mountwright"
PRIVATE = Path("/usr/lib/mountwright")
#: Top-level packages of the program (docs/architecture.md).
FLOORS = ("advisor", "app", "resources", "ui")
#: Server programs of the lab, copied because installing nfs-kernel-server would start an NFS server.
_SERVER_PROGRAMS = ("exportfs", "nfsdcld", "rpc.mountd")


@dataclass(frozen=True)
class Source:
    """Sources of a package tree.

    Attributes:
        site: directory of the installed libraries (site-packages).
        python: version of Python that they are installed for, such as "3.13".
        with_lab: whether the lab is included; it needs User-Mode Linux.
        epoch: modification time of every file, s since 1970.
        builder: Python and its site-packages that run the program during the build, where the libraries in
            ``site`` are for another Python; None for the system's Python of version ``python`` and ``site``.
    """

    site: Path
    python: str
    with_lab: bool
    epoch: int
    builder: tuple[Path, Path] | None = None


def make(folder: Path, source: Source) -> None:
    """Write the whole tree below a directory that does not exist yet.

    Raises:
        SetupError: if a compiler or a server program is missing.
    """
    _make_program(folder, source)
    if source.with_lab:
        _make_lab(folder)
    install_helper.install(folder)
    _make_commands(folder, source)
    _make_desktop(folder, source)
    _make_documents(folder)
    make_uniform(folder, source.epoch)


def libraries(source: Source) -> list[wheel_files.Wheel]:
    """Return the bundled libraries: the installed ones that run.txt locks."""
    return wheel_files.wheels(source.site, wheel_files.locked_names(REQUIREMENTS / "run.txt"))


def private(folder: Path) -> Path:
    """Return the path of /usr/lib/mountwright below a directory."""
    return install_helper.below(folder, PRIVATE)


def _make_program(folder: Path, source: Source) -> None:
    home = private(folder)
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and not path.name.endswith(".pyc"):
                _copy(path, home / path.relative_to(ROOT))
    make_libraries(home / "lib" / f"python{source.python}" / "site-packages", source)
    (home / "bin").mkdir()
    # Relative, as Debian's policy (10.5) wants it inside of /usr.
    (home / "bin" / "python3").symlink_to(f"../../../bin/python{source.python}")
    (home / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {source.python}\n"
    )


def make_libraries(site: Path, source: Source) -> None:
    """Write the bundled libraries, and the line that makes the program's own modules importable (site)."""
    for name in wheel_files.wanted(source.site, libraries(source)):
        _copy(source.site / name, site / name)
    (site / "mountwright.pth").write_text(f"{PRIVATE}\n")


def _make_lab(folder: Path) -> None:
    """Add the server programs, and the library for processors with AMX (app/lab/xstate.py)."""
    home = private(folder)
    for name in _SERVER_PROGRAMS:
        _copy(_server_program(name), home / "lab" / name, 0o755)
    xstate = home / "app" / "lab" / "xstate.c"
    compiler = find("cc")
    if compiler is None:
        raise SetupError("A C compiler is needed to build the package (on Debian, the package gcc).")
    # With a relative path of the source, the library is the same for every build directory.
    made = str(home / "lab" / "xstate.so")
    command = [
        compiler,
        "-O2",
        "-shared",
        "-fPIC",
        "-nostdlib",
        "-s",
        "-Wl,-z,relro,-z,now",
        "-o",
        made,
        xstate.name,
    ]
    subprocess.run(command, check=True, cwd=xstate.parent)


def _server_program(name: str) -> Path:
    unpacked = [LAB_TOOLS / "nfs-kernel-server" / place / name for place in ("usr/sbin", "sbin")]
    found = next((path for path in unpacked if path.exists()), None) or find(name)
    if found is None:
        raise SetupError(f"{name} of nfs-kernel-server could not be fetched for the lab.")
    return Path(found)


def server_source() -> str:
    """Return the value of the field Built-Using: source package and version of the server programs.

    Raises:
        SetupError: if the version is unknown.
    """
    for home in (LAB_TOOLS / "nfs-kernel-server", Path("/")):
        path = home / "usr/share/doc/nfs-kernel-server/changelog.Debian.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                found = re.match(r"(\S+) \((\S+)\)", lines.readline())
            if found is not None:
                return f"{found[1]} (= {found[2]})"
    raise SetupError("The version of nfs-kernel-server is unknown.")


def _make_commands(folder: Path, source: Source) -> None:
    _copy(PACKAGING / "mountwright-launcher", folder / "usr/bin/mountwright", 0o755)
    made = folder / "completions"
    made.mkdir()
    home = private(folder)
    python, site = source.builder or (Path(f"/usr/bin/python{source.python}"), source.site)
    environment = {"PYTHONPATH": f"{home}:{site}", "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), "-P", str(PACKAGING / "completions.py"), str(made)]
    subprocess.run(command, check=True, env=environment)
    share = folder / "usr/share"
    for name, place in (
        ("mountwright", "bash-completion/completions"),
        ("_mountwright", "zsh/vendor-completions"),
        ("mountwright.fish", "fish/vendor_completions.d"),
    ):
        _copy(made / name, share / place / name)
    shutil.rmtree(made)


def _make_desktop(folder: Path, source: Source) -> None:
    share = folder / "usr/share"
    _copy(PACKAGING / f"{APP_ID}.desktop", share / "applications" / f"{APP_ID}.desktop")
    for icon in sorted((ROOT / "resources/icons").glob(f"{APP_ID}*.svg")):
        kind = "symbolic" if icon.stem.endswith("-symbolic") else "scalable"
        _copy(icon, share / "icons/hicolor" / kind / "apps" / icon.name)
    found = changes.releases(changes.CHANGELOG.read_text(encoding="utf-8"))
    text = (PACKAGING / f"{APP_ID}.metainfo.xml").read_text(encoding="utf-8")
    text = re.sub(
        r"  <releases>.*</releases>",
        lambda _: changes.for_appstream(found, source.epoch),
        text,
        flags=re.DOTALL,
    )
    metainfo = share / "metainfo" / f"{APP_ID}.metainfo.xml"
    metainfo.parent.mkdir(parents=True)
    metainfo.write_text(text, encoding="utf-8")


def _make_documents(folder: Path) -> None:
    _copy(PACKAGING / "mountwright.1", folder / "usr/share/man/man1/mountwright.1")
    documents = folder / "usr/share/doc/mountwright"
    _copy(ROOT / "README.md", documents / "README.md")
    _copy(ROOT / "CHANGELOG.md", documents / "CHANGELOG.md")
    # The window shows the pages (app/files/documentation.py). Programs must not need files of /usr/share/doc
    # (Debian policy 12.3), so they are beside the program, too.
    for path in sorted((ROOT / "docs").iterdir()):
        if path.suffix in {".md", ".png"}:
            _copy(path, private(folder) / "docs" / path.name)
            _copy(path, documents / "docs" / path.name)


def _copy(source: Path, target: Path, mode: int = 0o644) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def make_uniform(folder: Path, epoch: int) -> None:
    """Set fixed modes of directories and libraries and one modification time of all files."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
        elif path.suffix == ".so" or ".so." in path.name:
            path.chmod(0o644)
    for path in sorted(folder.rglob("*"), reverse=True):
        os.utime(path, (epoch, epoch), follow_symlinks=False)
