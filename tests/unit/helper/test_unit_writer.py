"""Writing of systemd units: after any error and any kill each unit is the old or the new one."""

import errno
import os
import signal
import stat
from pathlib import Path

import pytest

from app.helper import files, policy, unit_text, unit_writer
from app.helper.errors import Refusal
from app.helper.files import FileCalls
from app.helper.options import load
from app.helper.unit_writer import UnitWriter

CATALOGUE = load()
NAMES = unit_text.unit_paths("/mnt/a")
CODES = {"", "fstab-failed", "fstab-refused", "fstab-changed"}


class Quiet:
    """Waiter for calls that start no child."""

    cancelled = False


class Seam(FileCalls):
    """FileCalls that counts the calls, and runs an action before one of them, or before all from one on."""

    def __init__(self, instead=None, at=-1, *, forever=False):
        self.calls, self.instead, self.at, self.forever = [], instead, at, forever

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name not in vars(FileCalls) or name.startswith("_"):
            return found

        def call(*args, **kwargs):
            number = len(self.calls)
            self.calls.append(name)
            if number == self.at or (self.forever and number > self.at >= 0):
                self.instead()
            return found(*args, **kwargs)

        return call


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(unit_writer, "OTHERS", (str(tmp_path / "others"),))
    monkeypatch.setattr(policy, "read_fstab", lambda: {("nas:/a", "/mnt/fstab")})


def make(folder, system=None):
    (folder / "units").mkdir(parents=True, exist_ok=True)
    return UnitWriter(str(folder / "units"), str(folder / "state"), system, CATALOGUE)


def request(sha256="", **changes):
    plain = {"share": "nas:/a", "target": "/mnt/a", "options": ["nofail"], "automount": False, "idle_s": -1}
    return {**plain, "sha256": sha256, **changes}


ON_DEMAND = {"automount": True, "idle_s": 60, "options": ["vers=4.2"]}


def state(folder):
    """Return contents of each file and target of each link in the directory."""
    found = {}
    for path in sorted((folder / "units").rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(folder / "units"))] = str(path.readlink())
        elif path.is_file():
            found[str(path.relative_to(folder / "units"))] = path.read_bytes()
    return found


def sha(folder):
    now = state(folder)
    return unit_text.pair_sha256(now.get(NAMES[0]), now.get(NAMES[1]))


def steps(folder):
    """Requests in the life of a mount's units: new, changed to automount, changed back, removed."""
    return [
        lambda writer: writer.write(request(), Quiet()),
        lambda writer: writer.write(request(sha(folder), **ON_DEMAND), Quiet()),
        lambda writer: writer.write(request(sha(folder), options=[]), Quiet()),
        lambda writer: writer.remove({"target": "/mnt/a", "sha256": sha(folder)}, Quiet()),
    ]


def test_units_come_change_and_go(tmp_path):
    previous = os.umask(0o077)
    try:
        answer = make(tmp_path).write(request(), Quiet())
        assert state(tmp_path) == {
            "mnt-a.mount": answer["mount"].encode(),
            "remote-fs.target.wants/mnt-a.mount": f"{tmp_path}/units/mnt-a.mount",
        }
        assert (answer["automount"], answer["backup"], answer["warnings"]) == ("", "", [])
        assert answer["sha256"] == sha(tmp_path)
        assert stat.S_IMODE((tmp_path / "units" / "mnt-a.mount").stat().st_mode) == 0o644
        assert stat.S_IMODE((tmp_path / "units" / "remote-fs.target.wants").stat().st_mode) == 0o755
        first = answer["mount"]
        answer = make(tmp_path).write(request(answer["sha256"], **ON_DEMAND), Quiet())
        assert state(tmp_path) == {
            "mnt-a.mount": answer["mount"].encode(),
            "mnt-a.automount": answer["automount"].encode(),
            "remote-fs.target.wants/mnt-a.automount": f"{tmp_path}/units/mnt-a.automount",
        }
        assert Path(answer["backup"]).read_text() == f"# {tmp_path}/units/mnt-a.mount\n{first}"
        answer = make(tmp_path).remove({"target": "/mnt/a", "sha256": answer["sha256"]}, Quiet())
        assert (state(tmp_path), answer["sha256"]) == ({}, "")
    finally:
        os.umask(previous)


@pytest.mark.parametrize("forever", [False, True])
@pytest.mark.parametrize("name", ["EIO", "ENOSPC", "EPERM", "EROFS"])
@pytest.mark.parametrize("step", range(4))
def test_any_call_may_fail(tmp_path, name, step, forever):
    number = getattr(errno, name)

    def fail():
        raise OSError(number, os.strerror(number))

    at = 0
    while True:
        folder = tmp_path / str(at)
        folder.mkdir()
        for do in steps(folder)[:step]:
            do(make(folder))
        before = state(folder)
        seam = Seam(fail, at, forever=forever)
        code = ""
        try:
            steps(folder)[step](make(folder, seam))
        except Refusal as refusal:
            code = refusal.code
        assert code in CODES
        after = state(folder)
        if code and not forever:
            assert after == before
        check_whole(after)
        if len(seam.calls) <= at:
            break
        at += 1
    assert at > 4


def check_whole(now):
    """Check that each file was written completely, and that only a temporary file may be left over."""
    whole = {
        text.encode()
        for args in (request(), request(**ON_DEMAND), request(options=[]))
        for text in unit_text.build(
            unit_text.NewUnits("nas:/a", "/mnt/a", tuple(args["options"]), args["automount"], args["idle_s"]),
            CATALOGUE,
        )[:2]
        if text
    }
    for name, content in now.items():
        if not name.endswith(unit_writer.TEMPORARY):
            assert name in NAMES
            assert isinstance(content, str) or content in whole


@pytest.mark.parametrize("step", range(4))
def test_it_may_be_killed_before_any_call(tmp_path, step):
    at = 0
    while True:
        folder = tmp_path / str(at)
        folder.mkdir()
        for do in steps(folder)[:step]:
            do(make(folder))
        child = os.fork()
        if child == 0:
            try:
                seam = Seam(lambda: os.kill(os.getpid(), signal.SIGKILL), at)
                steps(folder)[step](make(folder, seam))
            finally:
                os._exit(0)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        check_whole(state(folder))
        # Leftover temporary files do not prevent the next request.
        make(folder).write(request(sha(folder)), Quiet())
        assert set(state(folder)) == {NAMES[0], NAMES[2]}
        if not killed:
            break
        at += 1
    assert at > 4


def test_a_change_since_they_were_read_is_refused(tmp_path):
    answer = make(tmp_path).write(request(), Quiet())
    path = tmp_path / "units" / "mnt-a.mount"
    path.write_text(path.read_text() + "# theirs\n")
    before = state(tmp_path)
    for wrong in (answer["sha256"], "", "x"):
        with pytest.raises(Refusal) as caught:
            make(tmp_path).write(request(wrong), Quiet())
        assert caught.value.code == "fstab-changed"
    assert state(tmp_path) == before


def test_another_editor_at_any_moment_loses_nothing(tmp_path):
    at = 0
    while True:
        folder = tmp_path / str(at)
        folder.mkdir()
        make(folder).write(request(), Quiet())
        path = folder / "units" / "mnt-a.mount"

        def edit(path=path):
            path.write_text(path.read_text() + "# theirs\n")

        seam = Seam(edit, at)
        code = ""
        known = sha(folder)
        try:
            make(folder, seam).write(request(known, options=[]), Quiet())
        except Refusal as refusal:
            code = refusal.code
        if len(seam.calls) <= at:
            break
        if code:
            assert path.read_text().endswith("# theirs\n")
        at += 1


@pytest.mark.parametrize("kind", ["foreign", "masked", "folder", "hard", "link", "elsewhere", "large"])
def test_what_is_not_ours_is_left_alone(tmp_path, kind):
    writer = make(tmp_path)
    path = tmp_path / "units" / "mnt-a.mount"
    (tmp_path / "others").mkdir()
    if kind == "foreign":
        path.write_text("[Mount]\nWhat=nas:/a\n")
    elif kind == "masked":
        path.symlink_to("/dev/null")
    elif kind == "folder":
        path.mkdir()
    elif kind == "hard":
        path.write_text(unit_text.MARKER + "\n")
        os.link(path, tmp_path / "other")
    elif kind == "link":
        (tmp_path / "units" / "remote-fs.target.wants").mkdir()
        (tmp_path / "units" / "remote-fs.target.wants" / "mnt-a.mount").write_text("a file")
    elif kind == "elsewhere":
        (tmp_path / "others" / "mnt-a.mount").write_text("[Mount]\n")
    else:
        path.write_bytes(b"#" * (files.MAX_BYTES + 1))
    before = state(tmp_path)
    with pytest.raises(Refusal) as caught:
        writer.write(request(sha(tmp_path) if path.is_file() else ""), Quiet())
    assert caught.value.code == "fstab-refused"
    assert state(tmp_path) == before
    if kind != "elsewhere":
        with pytest.raises(Refusal):
            writer.remove({"target": "/mnt/a", "sha256": ""}, Quiet())
        assert state(tmp_path) == before


def test_what_is_not_there_is_not_removed_and_without_systemd_nothing_is_written(tmp_path):
    with pytest.raises(Refusal) as caught:
        make(tmp_path).remove({"target": "/mnt/a", "sha256": ""}, Quiet())
    assert caught.value.code == "not-mounted"
    with pytest.raises(Refusal) as caught:
        UnitWriter(str(tmp_path / "none"), str(tmp_path), None, CATALOGUE).write(request(), Quiet())
    assert caught.value.code == "unavailable"


def test_an_entry_of_fstab_for_the_same_place_is_told(tmp_path):
    answer = make(tmp_path).write(request(target="/mnt/fstab"), Quiet())
    assert "fstab has an entry" in answer["warnings"][0]


def test_cancelled_nothing_is_written(tmp_path):
    waiter = Quiet()
    waiter.cancelled = True
    with pytest.raises(Refusal) as caught:
        make(tmp_path).write(request(), waiter)
    assert caught.value.code == "cancelled"
    assert state(tmp_path) == {}


def test_words_of_root_s_stay_and_come_back(tmp_path):
    (tmp_path / "units").mkdir()
    root_s = UnitWriter(str(tmp_path / "units"), str(tmp_path / "state"), None, CATALOGUE, free=True)
    root_s.write(request(options=["futureopt=7", "hard"]), Quiet())
    known = {"options": ["futureopt=7", "soft"]}
    with pytest.raises(Refusal, match="futureopt") as caught:
        make(tmp_path).write(request(sha(tmp_path), share="evil:/a", **known), Quiet())
    assert caught.value.code == "option-reserved"
    with pytest.raises(Refusal, match="context"):
        make(tmp_path).write(request(sha(tmp_path), options=["context=a"]), Quiet())
    writer = make(tmp_path)
    writer.write(request(sha(tmp_path), **known), Quiet())
    assert b"Options=futureopt=7,soft,nosuid,nodev\n" in state(tmp_path)["mnt-a.mount"]
    # The process may write words again that it has removed; another process may not.
    writer.write(request(sha(tmp_path), options=["soft"]), Quiet())
    writer.write(request(sha(tmp_path), **known), Quiet())
    writer.remove({"target": "/mnt/a", "sha256": sha(tmp_path)}, Quiet())
    with pytest.raises(Refusal, match="futureopt"):
        make(tmp_path).write(request(**known), Quiet())
    writer.write(request(**known), Quiet())
    assert b"futureopt=7" in state(tmp_path)["mnt-a.mount"]
