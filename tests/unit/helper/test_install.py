"""Installing and removing the helper, and the launcher that runs only what root alone can change."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
INSTALLER = ROOT / "packaging" / "install_helper.py"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs files of root")


def install(prefix, *more):
    done = subprocess.run(
        [sys.executable, str(INSTALLER), "--prefix", str(prefix), *more],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def tree(prefix):
    return {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}


def test_it_installs_all_of_the_helper_and_nothing_else(tmp_path):
    said = install(tmp_path)
    helper = {
        f"usr/libexec/mountwright/app/helper/{path.name}" for path in (ROOT / "app" / "helper").glob("*.py")
    }
    assert tree(tmp_path) == helper | {
        "usr/libexec/mountwright/mountwright-helper",
        "usr/libexec/mountwright/options.toml",
        "usr/libexec/mountwright/app/__init__.py",
        "usr/share/polkit-1/actions/org.mountwright.policy",
    }
    assert all(name in said for name in tree(tmp_path))
    assert not any(path.stat().st_mode & 0o022 for path in tmp_path.rglob("*"))
    assert os.access(tmp_path / "usr/libexec/mountwright/mountwright-helper", os.X_OK)


def test_it_replaces_and_removes(tmp_path):
    install(tmp_path)
    stray = tmp_path / "usr/libexec/mountwright/app/helper/old.py"
    stray.touch()
    install(tmp_path)
    assert not stray.exists()
    install(tmp_path, "--remove")
    assert tree(tmp_path) == set()
    install(tmp_path, "--remove")


def test_a_bad_umask_does_not_matter(tmp_path):
    previous = os.umask(0)
    try:
        install(tmp_path)
    finally:
        os.umask(previous)
    assert not any(path.stat().st_mode & 0o022 for path in tmp_path.rglob("*"))


@as_root
def test_the_launcher_refuses_a_place_that_others_can_change(tmp_path):
    install(tmp_path)
    launcher = tmp_path / "usr/libexec/mountwright/mountwright-helper"
    done = subprocess.run([str(launcher), "mount"], input=b"", capture_output=True, check=False)
    assert done.returncode == 71
    # pytest's folder lies in /tmp, which is everybody's.
    assert b"users other than root can change" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="for ordinary users")
def test_an_ordinary_user_is_told():
    done = subprocess.run([sys.executable, str(INSTALLER)], capture_output=True, text=True, check=False)
    assert done.returncode == 77
    assert "root" in done.stderr
