"""Lock of fstab and units: only one helper at a time holds it, and other users cannot."""

import fcntl
import hashlib
import os
import stat

import pytest

from app.helper import files
from app.helper.errors import Refusal
from app.helper.fstab_writer import FstabWriter
from app.helper.options import load
from app.helper.unit_writer import UnitWriter

CATALOGUE = load()
EMPTY = hashlib.sha256(b"").hexdigest()
ENTRY = {"share": "nas:/b", "target": "/mnt/mountwright-lock", "options": []}


class Quiet:
    cancelled = False

    def wait(self, fds, timeout_s):
        import select

        return set(select.select(list(fds), [], [], timeout_s)[0])


def change(folder, what):
    """Add an entry to fstab; return the code of the refusal, "" for none."""
    (folder / "etc" / "system").mkdir(parents=True, exist_ok=True)
    try:
        if what == "fstab":
            (folder / "etc" / "fstab").write_bytes(b"")
            writer = FstabWriter(str(folder / "etc"), str(folder / "state" / "fstab"), None, CATALOGUE)
            writer.add({**ENTRY, "fstype": "nfs", "sha256": EMPTY}, Quiet())
        else:
            units = UnitWriter(
                str(folder / "etc" / "system"), str(folder / "state" / "units"), None, CATALOGUE
            )
            units.write({**ENTRY, "automount": False, "idle_s": -1, "sha256": ""}, Quiet())
    except Refusal as refusal:
        return refusal.code
    return ""


def written(folder):
    return (folder / "etc" / "fstab").read_bytes() if (folder / "etc" / "fstab").exists() else b"", sorted(
        path.name for path in (folder / "etc" / "system").iterdir()
    )


@pytest.mark.parametrize("what", ["fstab", "units"])
def test_a_lock_that_any_user_can_take_stops_nothing(tmp_path, what):
    """Every user can open and lock /etc and /etc/systemd/system."""
    (tmp_path / "etc" / "system").mkdir(parents=True)
    held = [os.open(tmp_path / name, os.O_RDONLY) for name in ("etc", "etc/system")]
    try:
        for fd in held:
            fcntl.flock(fd, fcntl.LOCK_EX)
        assert change(tmp_path, what) == ""
    finally:
        for fd in held:
            os.close(fd)


@pytest.mark.parametrize("what", ["fstab", "units"])
def test_one_helper_writes_at_a_time(tmp_path, what):
    state = str(tmp_path / "state")
    with files.locked(state):
        assert change(tmp_path, what) == "fstab-changed"
        assert written(tmp_path) == (b"", [])
        with pytest.raises(Refusal, match="under way"), files.locked(state):
            pytest.fail("locked twice")
    assert change(tmp_path, what) == ""
    with files.locked(state):
        pass


def test_only_root_can_reach_it(tmp_path):
    state = tmp_path / "var" / "state"
    with files.locked(str(state)):
        assert stat.S_IMODE(state.stat().st_mode) == 0o711
        assert stat.S_IMODE((state / "lock").stat().st_mode) == 0o600
    state.chmod(0o755)
    with files.locked(str(state)):
        assert stat.S_IMODE(state.stat().st_mode) == 0o711


@pytest.mark.parametrize("fault", ["group", "others", "owner", "link", "file", "lock-link", "lock-folder"])
@pytest.mark.parametrize("what", ["fstab", "units"])
def test_a_state_directory_that_others_made_is_refused(tmp_path, fault, what):
    state = tmp_path / "state"
    state.mkdir(0o700)
    if fault == "owner":
        if os.geteuid() != 0:
            pytest.skip("only root can give a directory away")
        os.chown(state, 65534, 65534)
    elif fault in {"group", "others"}:
        state.chmod(0o770 if fault == "group" else 0o707)
    elif fault in {"link", "file"}:
        state.rmdir()
        (tmp_path / "elsewhere").mkdir()
        state.symlink_to(tmp_path / "elsewhere") if fault == "link" else state.touch()
    elif fault == "lock-link":
        (state / "lock").symlink_to(tmp_path / "elsewhere")
    else:
        (state / "lock").mkdir()
    assert change(tmp_path, what) in {"fstab-refused", "fstab-failed"}
    assert written(tmp_path) == (b"", [])
    assert not (tmp_path / "elsewhere").is_file()


def test_what_fails_while_it_is_held_lets_it_go(tmp_path):
    state = str(tmp_path / "state")
    for error in (Refusal("cancelled", "Cancelled."), BlockingIOError(11, "again"), KeyboardInterrupt()):
        with pytest.raises(type(error)), files.locked(state):
            raise error
    with files.locked(state):
        pass
