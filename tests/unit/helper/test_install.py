"""Installer and launcher of the helper: both refuse files that other users could have changed."""

import errno
import importlib.util
import os
import shutil
import signal
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
        "usr/libexec/mountwright/mountwright-readahead",
        "usr/libexec/mountwright/options.toml",
        "usr/libexec/mountwright/app/__init__.py",
        "usr/share/polkit-1/actions/org.mountwright.policy",
    }
    assert all(name in said for name in tree(tmp_path))
    assert not any(path.stat().st_mode & 0o022 for path in tmp_path.rglob("*"))
    for name in ("mountwright-helper", "mountwright-readahead"):
        assert os.access(tmp_path / "usr/libexec/mountwright" / name, os.X_OK)


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
    # pytest's directory is in /tmp, which is writable by all users.
    assert b"users other than root can change" in done.stderr


# A small checkout, whose files a test may manipulate.


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return the installer of a small checkout, and the checkout."""
    root = tmp_path / "checkout"
    for name in ("packaging/mountwright-helper", "packaging/mountwright-readahead",
                 "packaging/mountwright.policy", "resources/options.toml",
                 "app/__init__.py", "app/helper/__init__.py", "app/helper/main.py"):  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}, version 1\n")
    program = root / "packaging" / "install_helper.py"
    shutil.copy(INSTALLER, program)
    spec = importlib.util.spec_from_file_location("install_helper_of_a_test", program)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, root


def publish(root, version):
    for path in root.rglob("*"):
        if path.is_file() and path.name != "install_helper.py":
            path.write_text(f"# {path.relative_to(root)}, version {version}\n")
    extra = root / "app" / "helper" / f"only_in_{version}.py"
    extra.write_text(f"# version {version}\n")
    for other in extra.parent.glob("only_in_*.py"):
        if other != extra:
            other.unlink()


def contents(folder):
    if not folder.is_dir():
        return None
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def placed(prefix):
    return contents(prefix / "usr" / "libexec" / "mountwright")


def names_in_libexec(prefix):
    return [path.name for path in (prefix / "usr" / "libexec").iterdir()]


def in_child_killed_at(number, work):
    """Run a function in a fork that is killed at the n-th audit event; return whether it was killed."""
    child = os.fork()
    if child == 0:
        left = [number]

        def hook(event, _args):
            steps = ("open", "os.", "shutil.", "ctypes.dlsym", "tempfile.")
            if event.startswith(steps) and event != "os.kill":
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.addaudithook(hook)
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("earlier", [True, False])
@pytest.mark.usefixtures("capsys")
def test_killed_at_any_step_there_is_the_old_helper_or_the_new_one(
    checkout, tmp_path, monkeypatch, earlier, exchange
):
    module, root = checkout
    (tmp_path / "whole").mkdir()
    if not exchange:
        monkeypatch.setattr(module, "renameat2", lambda *_: errno.EINVAL)
    publish(root, 2)
    module.install(tmp_path / "whole")
    new = placed(tmp_path / "whole")
    old = None
    for number in range(10_000):
        prefix = tmp_path / str(number)
        prefix.mkdir()
        if earlier:
            publish(root, 1)
            module.install(prefix)
            old = placed(prefix)
            publish(root, 2)
        killed = in_child_killed_at(number, lambda prefix=prefix: module.install(prefix))
        # Without RENAME_EXCHANGE there may be no helper for a moment.
        assert placed(prefix) in [old, new, *([] if exchange else [None])]
        if not killed:
            break
        module.install(prefix)
        assert placed(prefix) == new
        assert names_in_libexec(prefix) == ["mountwright"]
        shutil.rmtree(prefix)
    assert number > 50
    assert placed(prefix) == new


def test_killed_at_any_step_of_its_removal_there_is_the_whole_helper_or_none(checkout, tmp_path, capsys):
    module, _root = checkout
    for number in range(10_000):
        prefix = tmp_path / str(number)
        prefix.mkdir()
        module.install(prefix)
        whole = placed(prefix)
        killed = in_child_killed_at(number, lambda prefix=prefix: module.remove(prefix))
        assert placed(prefix) in [whole, None]
        if not killed:
            break
        module.remove(prefix)
        assert not tree(prefix)
        assert names_in_libexec(prefix) == []
    assert number > 5


SPOILED = {
    "link": lambda path: (path.rename(path.with_name("real")), path.symlink_to(path.with_name("real"))),
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "fifo": lambda path: (path.unlink(), os.mkfifo(path)),
    "others": lambda path: path.chmod(0o646),
    "linked folder": lambda path: (
        path.parent.rename(path.parents[2] / "elsewhere"),
        path.parent.symlink_to(path.parents[2] / "elsewhere"),
    ),
    "folder of others": lambda path: path.parent.chmod(0o777),
}
SPOILED_BY_OTHERS = {
    "owner": lambda path: os.chown(path, 4242, 0),
    "folder's owner": lambda path: os.chown(path.parent, 4242, 0),
    "group": lambda path: (os.chown(path, 0, 4242), path.chmod(0o664)),
}


@pytest.mark.parametrize(
    "how", [*SPOILED, *(pytest.param(name, marks=as_root) for name in SPOILED_BY_OTHERS)]
)
def test_what_others_could_have_made_is_not_installed(checkout, tmp_path, how, capsys):
    module, root = checkout
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    assert module.main(["--prefix", str(prefix)]) == 0
    before = placed(prefix)
    publish(root, 2)
    {**SPOILED, **SPOILED_BY_OTHERS}[how](root / "app" / "helper" / "main.py")
    assert module.main(["--prefix", str(prefix)]) == 1
    said = capsys.readouterr().err
    assert "Nothing was installed." in said
    assert "app/helper" in said
    assert placed(prefix) == before
    assert names_in_libexec(prefix) == ["mountwright"]


@as_root
def test_a_checkout_of_the_user_who_owns_the_installer_is_fine_but_not_another_name_of_a_file_of_root(
    checkout, tmp_path, monkeypatch, capsys
):
    module, root = checkout
    for path in (root, *root.rglob("*")):
        os.chown(path, 4242, 4242)
        path.chmod(path.stat().st_mode | 0o020)  # as with umask 002, where each user has a group of that name
    (tmp_path / "prefix").mkdir()
    monkeypatch.setattr(module, "is_private_group", lambda uid, gid: (uid, gid) == (4242, 4242))
    assert module.main(["--prefix", str(tmp_path / "prefix")]) == 0
    secret = tmp_path / "shadow"
    secret.write_text("root:secret")
    os.link(secret, root / "app" / "helper" / "more.py")
    assert module.main(["--prefix", str(tmp_path / "prefix")]) == 1
    assert "another name" in capsys.readouterr().err


def test_only_a_group_of_its_user_is_private(checkout):
    module, _root = checkout
    assert module.is_private_group(0, 0)
    assert not module.is_private_group(0, 1)
    assert not module.is_private_group(1, 0)
    assert not module.is_private_group(4242, 4242)


@pytest.mark.skipif(os.geteuid() == 0, reason="for ordinary users")
def test_an_ordinary_user_is_told():
    done = subprocess.run([sys.executable, str(INSTALLER)], capture_output=True, text=True, check=False)
    assert done.returncode == 77
    assert "root" in done.stderr
