"""Attacks on the installation: files of a manipulated checkout, and incomplete installations."""

import shutil
import subprocess
import threading
import time

import pytest
from rig import NOBODY, ROOT

SECRET = "root:$y$j9T$secret"
#: Files of a checkout that the installation needs.
PARTS = ("app/__init__.py", "app/helper", "packaging", "resources/options.toml")
HELPER = "usr/libexec/mountwright/mountwright-helper"


@pytest.fixture
def checkout(can_attack, tmp_path):
    """Copy of the program that belongs to an ordinary user, and a file that only root can read."""
    home = tmp_path / "checkout"
    for part in PARTS:
        source, goal = ROOT / part, home / part
        goal.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, goal, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, goal)
    for path in (home, *home.rglob("*")):
        shutil.chown(path, NOBODY, NOBODY)
    (tmp_path / "shadow").write_text(SECRET)
    (tmp_path / "shadow").chmod(0o600)
    return home


#: Environment of a program that sudo(8) starts.
ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY),
}  # fmt: skip


def install(checkout, prefix):
    return subprocess.run(
        ["/usr/bin/python3", str(checkout / "packaging" / "install_helper.py"), "--prefix", str(prefix)],
        check=False, capture_output=True, timeout=60, text=True,
        env=ENVIRONMENT,
    )  # fmt: skip


def published(prefix):
    """Return the contents of all installed files."""
    return "".join(path.read_text() for path in prefix.rglob("*") if path.is_file() and not path.is_symlink())


@pytest.mark.parametrize("kind", ["symbolic link", "hard link", "link for a directory"])
@pytest.mark.parametrize("part", ["app/helper/extra.py", "app/helper/mountinfo.py", "resources/options.toml"])
def test_no_file_of_root_s_is_published_through_a_link(checkout, tmp_path, kind, part):
    path, secret = checkout / part, tmp_path / "shadow"
    if kind == "link for a directory":
        (tmp_path / "elsewhere").mkdir()
        secret = secret.rename(tmp_path / "elsewhere" / path.name)
        shutil.rmtree(path.parent)
        path.parent.symlink_to(tmp_path / "elsewhere")
    else:
        path.unlink(missing_ok=True)
        (path.symlink_to if kind == "symbolic link" else path.hardlink_to)(secret)
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    install(checkout, prefix)
    assert SECRET not in published(prefix)


def test_what_everybody_can_change_is_not_installed(checkout, tmp_path):
    (checkout / "app/helper/mountinfo.py").chmod(0o666)
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    install(checkout, prefix)
    assert not (prefix / "usr/libexec/mountwright/app/helper/mountinfo.py").exists()


def test_what_a_third_user_owns_is_not_installed(checkout, tmp_path):
    shutil.chown(checkout / "app/helper/mountinfo.py", 60011, 60011)
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    install(checkout, prefix)
    assert not (prefix / "usr/libexec/mountwright/app/helper/mountinfo.py").exists()


def test_there_is_a_whole_helper_at_every_moment(checkout, tmp_path):
    """A thread looks for all files of the helper while it is replaced."""
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    assert install(checkout, prefix).returncode == 0
    folder = prefix / "usr/libexec/mountwright"
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert len(names) > 20
    missing, looks, ended = [], [0], threading.Event()

    def look():
        while not ended.is_set():
            # In reverse order of the installation.
            missing.extend(name for name in reversed(names) if not (folder / name).exists())
            looks[0] += 1

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(5):
            assert install(checkout, prefix).returncode == 0
    finally:
        ended.set()
        thread.join()
    assert missing == []
    assert looks[0] > 50


def test_a_killed_installation_leaves_the_old_helper_or_the_new_one(checkout, tmp_path):
    """The installer is killed at different moments; the next installation succeeds."""
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    assert install(checkout, prefix).returncode == 0
    folder = prefix / "usr/libexec/mountwright"

    def whole():
        return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    old = whole()
    table = checkout / "app/helper/mountinfo.py"
    new_text = table.read_bytes() + b"\n# newer\n"
    new = {**old, "app/helper/mountinfo.py": new_text}
    table.write_bytes(new_text)
    command = ["/usr/bin/python3", str(checkout / "packaging/install_helper.py"), "--prefix", str(prefix)]
    began = time.monotonic()
    assert install(checkout, prefix).returncode == 0
    spent_s = time.monotonic() - began
    table.write_bytes(old["app/helper/mountinfo.py"])
    assert install(checkout, prefix).returncode == 0
    table.write_bytes(new_text)
    for number in range(16):
        child = subprocess.Popen(
            command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with child:
            try:
                child.wait(spent_s * (0.2 + 0.05 * number))
            except subprocess.TimeoutExpired:
                child.kill()
        found = whole()
        assert found in (old, new), sorted(set(old) ^ set(found))
    assert install(checkout, prefix).returncode == 0
    assert whole() == new
    assert [path.name for path in folder.parent.iterdir()] == ["mountwright"]
