"""The package for Fedora and the tarball: built, checked, and installed as far as a Debian machine can.

The long tests take about five minutes. Fedora itself was not available: the rpm is installed below a
directory, with its dependencies listed, and not run with Fedora's Python.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from clean_roots import WINDOW, Root, why_not

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import build_rpm  # noqa: E402
import changes  # noqa: E402
import system_packages  # noqa: E402
from changes import Release  # noqa: E402

INSTALLER = ROOT / "packaging" / "tarball" / "install"
PYTHON = subprocess.run(
    ["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
    capture_output=True, text=True, check=False,
).stdout.strip()  # fmt: skip
TOOLS = ("python3", "passwd", "ca-certificates", "xvfb", "xdotool", "imagemagick")
needs_roots = pytest.mark.skipif(
    bool(why_not()), reason=f"THE TARBALL IS NOT TRIED IN CLEAN ROOTS: {why_not()}"
)


def test_changelog_of_the_rpm_has_the_date_of_the_build_for_a_version_in_development() -> None:
    found = [Release("0.2.0", "", ("Save 10 % of it.",)), Release("0.1.0", "2026-03-01", ("First.",))]
    text = changes.for_rpm(found, 1_790_000_000)
    assert text.startswith(f"* Mon Sep 21 2026 {changes.MAINTAINER} - 0.2.0-1\n- Save 10 %% of it.\n\n")
    assert text.endswith(f"* Sun Mar 01 2026 {changes.MAINTAINER} - 0.1.0-1\n- First.\n")


def test_rpm_lists_its_own_directories_documents_and_licenses(tmp_path: Path) -> None:
    for name in (
        "usr/bin/mountwright",
        "usr/lib/mountwright/app/a b.py",
        "usr/share/man/man1/mountwright.1",
        "usr/share/doc/mountwright/README.md",
        "usr/share/licenses/mountwright/copyright",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert build_rpm.file_list(tmp_path) == [
        '"/usr/bin/mountwright"',
        '%dir "/usr/lib/mountwright"',
        '%dir "/usr/lib/mountwright/app"',
        '"/usr/lib/mountwright/app/a b.py"',
        '%dir "/usr/share/doc/mountwright"',
        '%doc "/usr/share/doc/mountwright/README.md"',
        '%dir "/usr/share/licenses/mountwright"',
        '%license "/usr/share/licenses/mountwright/copyright"',
        "/usr/share/man/man1/mountwright.1*",
    ]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An unpacked archive for the system's Python, with a program of three files and one library."""
    folder = tmp_path / "archive"
    for name, text in {
        "tree/usr/bin/mountwright": "#!/bin/sh\n",
        "tree/usr/lib/mountwright/app/version.py": "VERSION = '1'\n",
        "tree/usr/share/doc/mountwright/README.md": "Read me.\n",
        f"libraries/python{PYTHON}/msgspec/__init__.py": "",
        f"copyright-python{PYTHON}": "GPL-3+\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    shutil.copy(INSTALLER, folder / "install")
    return folder


def _install(archive: Path, prefix: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [str(archive / "install"), "--prefix", str(prefix), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _names(prefix: Path) -> set[str]:
    return {path.relative_to(prefix).as_posix() for path in prefix.rglob("*")}


def test_installer_removes_what_it_installed_and_nothing_else(archive: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "system"
    (prefix / "usr/bin").mkdir(parents=True)
    (prefix / "usr/bin/other").touch()
    before = _names(prefix)
    assert _install(archive, prefix).returncode == 0
    site = prefix / f"usr/lib/mountwright/lib/python{PYTHON}/site-packages"
    assert (site / "msgspec/__init__.py").exists()
    assert (prefix / "usr/lib/mountwright/bin/python3").readlink() == Path("/usr/bin/python3")
    assert (prefix / "usr/lib/mountwright/app/__pycache__").is_dir()  # compiled
    mine = prefix / "usr/share/doc/mountwright/notes-of-somebody.txt"
    mine.touch()

    # An installation of a later archive takes the place of this one.
    (archive / "tree/usr/lib/mountwright/app/version.py").rename(
        archive / "tree/usr/lib/mountwright/app/new.py"
    )
    assert _install(archive, prefix).returncode == 0
    assert not (prefix / "usr/lib/mountwright/app/version.py").exists()
    assert (prefix / "usr/lib/mountwright/app/new.py").exists()

    told = _install(archive, prefix, "--remove")
    assert told.returncode == 0
    kept = {"usr/share", "usr/share/doc", "usr/share/doc/mountwright",
            "usr/share/doc/mountwright/notes-of-somebody.txt"}  # fmt: skip
    assert _names(prefix) == before | kept
    again = _install(archive, prefix, "--remove")
    assert (again.returncode, again.stderr) == (1, "install: This installer has not installed the program.\n")


def test_installer_names_the_pythons_that_it_has_libraries_for(archive: Path, tmp_path: Path) -> None:
    (archive / f"libraries/python{PYTHON}").rename(archive / "libraries/python3.99")
    told = _install(archive, tmp_path / "system")
    assert told.returncode == 1
    assert told.stderr == f"install: /usr/bin/python3 is Python {PYTHON}. This archive is for 3.99.\n"
    assert not (tmp_path / "system").exists()


def _build(kind: str, out: Path, **more: str) -> Path:
    subprocess.run(
        [str(ROOT / "packaging/build"), kind, "--out", str(out)],
        check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": "1790000000"} | more,
    )  # fmt: skip
    (made,) = out.iterdir()
    return made


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.skipif(
    not (shutil.which("rpmbuild") and shutil.which("rpmlint")),
    reason="THE PACKAGE FOR FEDORA IS NOT TRIED: rpm or rpmlint is missing",
)
def test_rpm_is_reproducible_clean_and_installs(tmp_path: Path) -> None:
    first = _build("rpm", tmp_path / "first")
    second = _build("rpm", tmp_path / "second", TZ="Asia/Tokyo", LC_ALL="C")
    assert first.read_bytes() == second.read_bytes()

    checked = subprocess.run(
        ["rpmlint", "--rpmlintrc", str(ROOT / "packaging/rpm/mountwright.rpmlintrc"), str(first)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "0 errors, 0 warnings" in checked.stdout, checked.stdout

    needs = subprocess.run(
        ["rpm", "--query", "--package", "--requires", str(first)], capture_output=True, text=True, check=True
    ).stdout
    assert "python(abi) = 3.14\n" in needs
    assert "libxcb-cursor.so.0()(64bit)\n" in needs
    assert not re.search("libQt6|libpyside|libshiboken|libgtk|libicu", needs)

    system = tmp_path / "system"
    system.mkdir()
    rpm = ["rpm", "--root", str(system), "--nodeps", "--noscripts"]
    subprocess.run([*rpm, "--install", str(first)], check=True, stderr=subprocess.DEVNULL)
    shown = subprocess.run([*rpm, "--verify", "mountwright"], check=False, capture_output=True, text=True)
    assert shown.stdout == ""
    helper = system / "usr/libexec/mountwright/mountwright-helper"
    assert (helper.stat().st_uid, helper.stat().st_mode & 0o7777) == (0, 0o755)
    subprocess.run([*rpm, "--erase", "mountwright"], check=True, stderr=subprocess.DEVNULL)
    assert [path for path in system.rglob("*mountwright*") if "var/lib" not in str(path)] == []


@pytest.fixture
def roots() -> Iterator[Path]:
    folder = Path("/var/tmp") / f"mountwright-tarball-{os.getpid()}"  # not in memory
    folder.mkdir(mode=0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@needs_roots
@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("release", ["trixie", "bookworm"])
def test_tarball_is_installed_used_and_removed(release: str, roots: Path, tmp_path: Path) -> None:
    archive = _build("tarball", tmp_path / "first")
    root = Root.make(roots / release, release, TOOLS)
    root.sh("useradd --create-home ann")
    shutil.copy(archive, root.folder / "root/program.tar.gz")
    root.sh("mkdir /root/program && tar -xzf /root/program.tar.gz -C /root/program --strip-components 1")

    told = root.sh("/root/program/install")
    assert "libxcb-cursor.so.0" in told  # what the window lacks is named
    assert "nfs-utils" in told
    root.sh("/root/program/install --remove")
    newest = -1 if release == "trixie" else 0
    libraries = " ".join(name.split("|")[newest] for name in system_packages.WINDOW.packages)
    root.sh(f"apt-get -q --yes install nfs-common {libraries}")
    before = root.names("mountwright")

    told = root.sh("/root/program/install")
    assert told.splitlines() == [
        "Mountwright is installed. Start it with “mountwright”, or from the desktop's programs."
    ]
    assert root.sh("mountwright --version", user="ann").startswith("mountwright ")
    assert json.loads(root.sh("mountwright list --json", user="ann"))["mounts"] == []
    assert root.sh(WINDOW, user="ann") == ""
    root.sh("/root/program/install --remove")
    left = {path for path in root.names("mountwright") - before if not path.startswith("/home/ann/")}
    assert left == set()
