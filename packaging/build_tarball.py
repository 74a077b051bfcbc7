"""Tarball builder: the program for distributions without a package. ``packaging/build tarball`` runs it.

Standard library only. The archive has the tree of the packages without the lab, the libraries for each
supported Python, and the installer (packaging/tarball/install), which takes those for the Python it finds.
Files that are the same for two Pythons are stored once, as hard links. Two builds are
identical byte for byte.
"""

from __future__ import annotations

import gzip
import hashlib
import platform
import shutil
import tarfile
from pathlib import Path

import changes
import other_libraries
import package_copyright
import package_tree
from build_rpm import builder
from package_tree import Source
from system_packages import say

INSTALLER = Path(__file__).absolute().parent / "tarball" / "install"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def build(out: Path, work: Path, epoch: int, pythons: tuple[str, ...] = PYTHONS) -> Path:
    """Build the archive; return its path.

    Args:
        out: directory for the archive; it is created if it is missing.
        work: directory for everything that the build makes; it is replaced.
        epoch: modification time of every file, s since 1970.
        pythons: versions of Python that the archive has libraries for.

    Raises:
        SetupError: if a library cannot be fetched.
    """
    shutil.rmtree(work, ignore_errors=True)
    machine = platform.machine()
    version = changes.releases(changes.CHANGELOG.read_text(encoding="utf-8"))[0].version
    folder = work / f"mountwright-{version}-{machine}"
    folder.mkdir(parents=True)
    for number, python in enumerate(pythons):
        say(f"fetching the libraries for Python {python}")
        site = other_libraries.fetch(work, python, machine)
        source = Source(site, python, with_lab=False, epoch=epoch, builder=builder())
        if number == 0:
            package_tree.make(folder / "tree", source)
            home = package_tree.private(folder / "tree")
            shutil.rmtree(home / "lib")
            shutil.rmtree(home / "bin")
            (home / "pyvenv.cfg").unlink()
        package_tree.make_libraries(folder / "libraries" / f"python{python}", source)
        text = package_copyright.text(site, package_tree.libraries(source), python, with_lab=False)
        (folder / f"copyright-python{python}").write_text(text, encoding="utf-8")
    shutil.copyfile(INSTALLER, folder / "install")
    (folder / "install").chmod(0o755)
    package_tree.make_uniform(folder, epoch)
    say("writing the archive")
    out.mkdir(parents=True, exist_ok=True)
    archive = out / f"{folder.name}.tar.gz"
    _write(archive, folder, epoch)
    return archive


def _write(archive: Path, folder: Path, epoch: int) -> None:
    """Write a directory as a tar archive, with the same contents stored once."""
    seen: dict[str, str] = {}
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", 6, file, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        for path in (folder, *sorted(folder.rglob("*"))):
            info = tar.gettarinfo(str(path), str(path.relative_to(folder.parent)))
            info.uid = info.gid = 0
            info.uname = info.gname = "root"
            if not info.isreg():
                tar.addfile(info)
                continue
            data = path.read_bytes()
            key = f"{hashlib.sha256(data).hexdigest()}{info.mode:o}"
            if key in seen and info.size:
                info.type, info.linkname, info.size = tarfile.LNKTYPE, seen[key], 0
                tar.addfile(info)
                continue
            seen[key] = info.name
            with path.open("rb") as contents:
                tar.addfile(info, contents)
