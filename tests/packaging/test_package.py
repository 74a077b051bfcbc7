"""What a package installs: everything that the program needs, and nothing that it does not."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import build_package  # noqa: E402
import changes  # noqa: E402
import install_helper  # noqa: E402
import package_copyright  # noqa: E402
import package_tree  # noqa: E402
import wheel_files  # noqa: E402
from package_tree import Source  # noqa: E402

SITE = Path(sys.prefix) / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
needs_readelf = pytest.mark.skipif(
    shutil.which("readelf") is None, reason="THE PACKAGE'S TREE IS NOT TESTED: readelf (binutils) is missing"
)
#: The tree is made with links instead of copies, for the test to be quick.
_EPOCH = 1_700_000_000


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a package without the lab installs; the system's python3 has to be the tests'."""
    if not Path(f"/usr/bin/python{PYTHON}").exists():
        pytest.skip(f"THE PACKAGE'S TREE IS NOT TESTED: /usr/bin/python{PYTHON} is missing")
    folder = tmp_path_factory.mktemp("package") / "tree"
    package_tree.make(folder, Source(SITE, PYTHON, with_lab=False, epoch=_EPOCH))
    return folder


@needs_readelf
def test_the_command_starts_from_the_tree(tree: Path) -> None:
    home = package_tree.private(tree)
    environment = {
        "PYTHONPATH": f"{home}:{home}/lib/python{PYTHON}/site-packages",
        "QT_QPA_PLATFORM": "offscreen",
    }
    code = (
        "import sys, ui.main_window, ui.plots.live_plot, app.service.server, zeroconf;"
        "import PySide6.QtWidgets as w;"
        "w.QApplication([]); files = {getattr(m, '__file__', None) or '' for m in sys.modules.values()};"
        "print(*sorted(f for f in files if 'site-packages' in f or '/ui/' in f))"
    )
    # -S: without the environment of the tests.
    done = subprocess.run(
        [f"/usr/bin/python{PYTHON}", "-BPS", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [path for path in done.stdout.split() if not path.startswith(str(tree))] == []


@needs_readelf
def test_every_module_of_the_program_is_in(tree: Path) -> None:
    home = package_tree.private(tree)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *package_tree.FLOORS],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("not a git checkout")
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
    assert [name for name in names if not (home / name).exists()] == []


@needs_readelf
def test_the_helper_is_as_the_installer_installs_it(tree: Path) -> None:
    for _source, destination, mode in install_helper.files():
        path = install_helper.below(tree, destination)
        assert path.stat().st_mode & 0o777 == mode, path
    launcher = install_helper.below(tree, install_helper.LIBEXEC) / "mountwright-helper"
    assert launcher.read_text().startswith("#!/usr/bin/python3 -IBSXutf8\n")


@needs_readelf
def test_only_root_can_change_a_file_and_all_have_one_time(tree: Path) -> None:
    paths = list(tree.rglob("*"))
    assert [path for path in paths if not path.is_symlink() and path.lstat().st_mode & 0o022] == []
    assert {path.lstat().st_mtime for path in paths} == {_EPOCH}


@needs_readelf
def test_what_needs_no_package_is_not_in(tree: Path) -> None:
    names = [path.relative_to(tree).as_posix() for path in tree.rglob("*")]
    needless = r"Qml|Quick|Designer|\.pyi$|\.pyc$|/tests/|\.a$|examples|sqldrivers|__pycache__"
    assert [name for name in names if re.search(needless, name)] == []
    size = sum(
        path.stat().st_blocks * 512 for path in tree.rglob("*") if path.is_file() and not path.is_symlink()
    )
    assert size < 200 * 10**6


@needs_readelf
def test_every_library_that_one_is_linked_with_is_in_or_the_systems(tree: Path) -> None:
    """What is not in the tree the linker has to find: these are the libraries that no wheel has."""
    there = {path.name for path in tree.rglob("*.so*")}
    left = set()
    for path in sorted(tree.rglob("*.so*")):
        if path.name not in wheel_files.OPTIONAL_PLUGINS:
            left |= {name for name in wheel_files.linked_with(path) if name not in there}
    assert {
        name for name in left if name.startswith(("libQt", "libpyside", "libshiboken", "libicu"))
    } == set()


def test_the_licence_of_every_library_is_told() -> None:
    source = Source(SITE, PYTHON, with_lab=True, epoch=_EPOCH)
    found = package_tree.libraries(source)
    names = {wheel.name.lower() for wheel in found}
    assert {"pyside6_essentials", "shiboken6", "numpy", "msgspec", "psutil", "zeroconf"} <= names
    text = package_copyright.text(SITE, found, PYTHON, with_lab=True)
    for wheel in found:
        assert f"License: {wheel.name}-{wheel.version}" in text
        assert wheel.licence != "unknown" or wheel.licence_files, wheel.name
    assert "Permission is hereby granted" in text
    assert [line for line in text.splitlines() if line.startswith(".") or line == " "] == []


def test_what_is_imported_of_qt_is_what_a_package_has() -> None:
    imported: set[str] = set()
    for path in (ROOT / "ui").rglob("*.py"):
        imported |= set(re.findall(r"^\s*(?:from|import) PySide6\.(\w+)", path.read_text(), re.MULTILINE))
    assert imported <= set(wheel_files.QT_MODULES)


def complete(tree: Path, *words: str) -> list[str]:
    script = tree / "usr/share/bash-completion/completions/mountwright"
    line = " ".join(f"'{word}'" for word in words)
    code = f"source '{script}'; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _mountwright; "
    code += "echo ${COMPREPLY[@]}"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@needs_readelf
def test_bash_completes_commands_options_and_choices(tree: Path) -> None:
    assert "advise" in complete(tree, "mountwright", "")
    assert complete(tree, "mountwright", "umo") == ["umount"]
    assert complete(tree, "mountwright", "history", "comp") == ["compare"]
    assert complete(tree, "mountwright", "advise", "--workl") == ["--workload"]
    assert complete(tree, "mountwright", "advise", "--workload", "med") == ["media"]
    assert complete(tree, "mountwright", "--lab", "gigabit", "tes") == ["test"]


@needs_readelf
@pytest.mark.parametrize(
    ("shell", "name"),
    [("zsh", "zsh/vendor-completions/_mountwright"), ("fish", "fish/vendor_completions.d/mountwright.fish")],
)
def test_other_shells_read_theirs(tree: Path, shell: str, name: str) -> None:
    path = tree / "usr/share" / name
    assert "advise" in path.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert subprocess.run([shell, "-n", str(path)], check=False).returncode == 0


def test_a_later_release_of_the_system_has_a_later_version() -> None:
    twelve = build_package.suffix({"ID": "debian", "VERSION_ID": "12"})
    ubuntu = build_package.suffix({"ID": "ubuntu", "VERSION_ID": "24.04"})
    assert (twelve, ubuntu) == ("-1~deb12", "-1~ubuntu24.04")
    if shutil.which("dpkg") is None:
        pytest.skip("dpkg is not installed")
    thirteen = build_package.suffix({"ID": "debian", "VERSION_ID": "13"})
    for first, second in ((f"0.1.0{twelve}", f"0.1.0{thirteen}"), (f"0.1.0{thirteen}", "0.1.0-1")):
        assert (
            subprocess.run(["dpkg", "--compare-versions", first, "lt", second], check=False).returncode == 0
        )


def test_the_changelog_is_read() -> None:
    text = "# Changes\n\n## 0.2.0 - in development\n\n- One thing\n  in two lines.\n\n"
    text += "## 0.1.0 - 2026-11-24\n\n- A & B.\n"
    found = changes.releases(text)
    assert [(each.version, each.date) for each in found] == [("0.2.0", ""), ("0.1.0", "2026-11-24")]
    assert found[0].changes == ("One thing in two lines.",)
    debian = changes.for_debian(found, "-1~deb13", 0)
    assert debian.startswith(
        "mountwright (0.2.0-1~deb13) unstable; urgency=medium\n\n  * One thing in two lines.\n"
    )
    assert "  Tue, 24 Nov 2026 12:00:00 +0000\n" in debian
    assert "<li>A &amp; B.</li>" in changes.for_appstream(found, 0)
    with pytest.raises(ValueError, match="VERSION - YYYY-MM-DD"):
        changes.releases("## 0.2.0\n")


@pytest.mark.parametrize("name", ["rules", "preinst", "postinst", "prerm", "postrm"])
def test_the_package_s_scripts(name: str) -> None:
    path = ROOT / "packaging" / "debian" / name
    if name == "rules":
        assert os.access(path, os.X_OK)
    else:
        assert "#DEBHELPER#" in path.read_text()
        assert subprocess.run(["sh", "-n", str(path)], check=False).returncode == 0
