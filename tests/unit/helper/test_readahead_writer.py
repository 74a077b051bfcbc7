"""Writing of udev rules: after any error the old or the new rule; files of others are not changed."""

import errno
import hashlib
import os
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.helper import mountinfo, policy, readahead_rule, tune_verbs
from app.helper.callers import Caller
from app.helper.errors import Refusal
from app.helper.files import FileCalls
from app.helper.readahead import MAX_READ_AHEAD_KB
from app.helper.readahead_writer import MAX_RULES, ReadaheadWriter

CODES = {"", "fstab-failed", "fstab-refused", "fstab-changed"}
NAME = readahead_rule.name("/mnt/a")


class Quiet:
    """Waiter for calls that start no child."""

    cancelled = False


class Seam(FileCalls):
    """FileCalls that counts the calls, and runs an action of the test before one of them."""

    def __init__(self, instead=None, at=-1):
        self.calls, self.instead, self.at = [], instead, at

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name not in vars(FileCalls) or name.startswith("_"):
            return found

        def call(*args, **kwargs):
            number = len(self.calls)
            self.calls.append(name)
            if number == self.at:
                self.instead()
            return found(*args, **kwargs)

        return call


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch):
    """Mount table with an NFS mount of root at /home/nfs; /mnt/a is free."""
    rows = [
        mountinfo.MountRow(1, 0, "0:50", "/home/nfs", ("rw",), "nfs4", "nas:/x", "rw"),
        mountinfo.MountRow(2, 0, "0:51", "/home/local", ("rw",), "ext4", "/dev/x", "rw"),
    ]
    monkeypatch.setattr(mountinfo, "read", lambda: rows)
    monkeypatch.setattr(policy, "read_roots", tuple)


def make(folder, system=None, uid=1000):
    (folder / "rules.d").mkdir(parents=True, exist_ok=True)
    program = folder / "program"
    program.touch()
    program.chmod(0o755)
    return ReadaheadWriter(
        Caller(uid, uid, home="/home/ann"),
        str(folder / "rules.d"),
        str(folder / "state"),
        system,
        str(program),
    )


def save(writer, target="/mnt/a", kb=1024, sha256=""):
    args = {"target": target, "read_ahead_kb": kb, "sha256": sha256}
    return tune_verbs.handlers(Caller(1000, 1000), writer)["readahead-save"](args, Quiet())


def remove(writer, target="/mnt/a", sha256=""):
    args = {"target": target, "sha256": sha256}
    return tune_verbs.handlers(Caller(1000, 1000), writer)["readahead-remove"](args, Quiet())


def rules(folder):
    return {path.name: path.read_bytes() for path in (folder / "rules.d").iterdir()}


def code_of(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except Refusal as refusal:
        return refusal.code
    return ""


def test_it_is_written_changed_and_removed(tmp_path):
    writer = make(tmp_path)
    first = save(writer)
    assert rules(tmp_path) == {NAME: readahead_rule.text("/mnt/a", 1024)}
    assert first["file"] == str(tmp_path / "rules.d" / NAME)
    assert first["sha256"] == hashlib.sha256(rules(tmp_path)[NAME]).hexdigest()
    assert (tmp_path / "rules.d" / NAME).stat().st_mode & 0o777 == 0o644
    second = save(writer, kb=0, sha256=first["sha256"])
    save(writer, "/mnt/b")
    assert readahead_rule.read(rules(tmp_path)[NAME]) == ("/mnt/a", 0)
    assert remove(writer, sha256=second["sha256"])["sha256"] == ""
    assert set(rules(tmp_path)) == {readahead_rule.name("/mnt/b")}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"target": "mnt/a"}, "mount-point-invalid"),
        ({"target": "/mnt/../etc"}, "mount-point-invalid"),
        ({"target": '/mnt/a"\nRUN+="/bin/sh'}, "mount-point-invalid"),
        ({"target": "/mnt/\u202e"}, "mount-point-invalid"),
        ({"target": "/"}, "mount-point-system"),
        ({"target": "/usr"}, "mount-point-system"),
        ({"target": "/home/ann/x"}, "mount-point-restricted"),
        ({"target": "/home/local"}, "mount-point-restricted"),
        ({"kb": -1}, "option-invalid"),
        ({"kb": MAX_READ_AHEAD_KB + 1}, "option-invalid"),
        ({"kb": True}, "option-invalid"),
        ({"kb": '1", RUN+="x'}, "option-invalid"),
        ({"sha256": "0" * 64}, "fstab-changed"),
    ],
)
def test_everything_else_is_refused_and_nothing_is_written(tmp_path, arguments, code):
    writer = make(tmp_path)
    assert code_of(save, writer, **arguments) == code
    assert rules(tmp_path) == {}


def test_what_is_mounted_may_be_anywhere_as_for_tuning_it(tmp_path):
    save(make(tmp_path), "/home/nfs")
    save(make(tmp_path, uid=0), "/home/later")
    assert set(rules(tmp_path)) == {readahead_rule.name("/home/nfs"), readahead_rule.name("/home/later")}


def test_a_file_that_somebody_changed_is_left_alone(tmp_path):
    writer = make(tmp_path)
    for text in (readahead_rule.text("/mnt/a", 7) + b'RUN+="/bin/x"\n', b"", b"# mine\n"):
        (tmp_path / "rules.d" / NAME).write_bytes(text)
        for sha256 in ("", hashlib.sha256(text).hexdigest()):
            assert code_of(save, writer, sha256=sha256) == "fstab-refused"
            assert code_of(remove, writer, sha256=sha256) == "fstab-refused"
            assert rules(tmp_path) == {NAME: text}


def test_one_that_changed_since_it_was_read_is_left_alone(tmp_path):
    writer = make(tmp_path)
    old = save(writer)
    save(writer, kb=2048, sha256=old["sha256"])
    before = rules(tmp_path)
    for sha256 in ("", old["sha256"]):
        assert code_of(save, writer, sha256=sha256) == "fstab-changed"
        assert code_of(remove, writer, sha256=sha256) == "fstab-changed"
    assert rules(tmp_path) == before


def test_a_link_and_a_second_name_are_left_alone(tmp_path):
    writer = make(tmp_path)
    other = tmp_path / "other"
    other.write_bytes(readahead_rule.text("/mnt/a", 7))
    sha256 = hashlib.sha256(other.read_bytes()).hexdigest()
    place = tmp_path / "rules.d" / NAME
    place.symlink_to(other)
    assert code_of(save, writer, sha256=sha256) == "fstab-failed"
    place.unlink()
    place.hardlink_to(other)
    assert code_of(save, writer, sha256=sha256) == "fstab-refused"
    assert readahead_rule.read(other.read_bytes()) == ("/mnt/a", 7)


def test_without_a_rule_there_is_nothing_to_remove(tmp_path):
    assert code_of(remove, make(tmp_path)) == "not-mounted"


def test_without_udev_or_the_program_it_says_so(tmp_path):
    writer = make(tmp_path)
    (tmp_path / "program").unlink()
    assert code_of(save, writer) == "helper-missing"
    writer = make(tmp_path)
    (tmp_path / "rules.d").rmdir()
    assert code_of(save, writer) == "unavailable"


def test_a_folder_that_others_can_change_is_not_written_to(tmp_path):
    writer = make(tmp_path)
    (tmp_path / "rules.d").chmod(0o777)
    assert code_of(save, writer) == "fstab-refused"
    assert rules(tmp_path) == {}


def test_there_is_an_end_of_rules(tmp_path):
    writer = make(tmp_path)
    for number in range(MAX_RULES):
        name = readahead_rule.name(f"/mnt/{number}")
        (tmp_path / "rules.d" / name).write_bytes(readahead_rule.text(f"/mnt/{number}", 1))
    assert code_of(save, writer) == "fstab-refused"
    sha256 = hashlib.sha256(readahead_rule.text("/mnt/3", 1)).hexdigest()
    remove(writer, "/mnt/3", sha256)
    save(writer)


def test_another_helper_at_work_is_waited_for_by_asking_again(tmp_path):
    from app.helper import files

    with files.locked(str(tmp_path / "state")):
        assert code_of(save, make(tmp_path)) == "fstab-changed"
    save(make(tmp_path))


def calls_of(folder, work):
    seam = Seam()
    work(make(folder, seam))
    return range(len(seam.calls))


def fail():
    raise OSError(errno.EIO, "Input/output error")


OLD, NEW = readahead_rule.text("/mnt/a", 1), readahead_rule.text("/mnt/a", 1024)
SHA256 = hashlib.sha256(OLD).hexdigest()
WORKS = {
    "new": (None, NEW, save),
    "changed": (OLD, NEW, lambda writer: save(writer, sha256=SHA256)),
    "removed": (OLD, None, lambda writer: remove(writer, sha256=SHA256)),
}


@pytest.mark.parametrize("name", WORKS)
def test_any_call_may_fail(tmp_path, name):
    old, new, work = WORKS[name]

    def begin(folder):
        make(folder)
        if old is not None:
            (folder / "rules.d" / NAME).write_bytes(old)

    begin(tmp_path / "count")
    for number in calls_of(tmp_path / "count", work):
        folder = tmp_path / str(number)
        begin(folder)
        code = code_of(work, make(folder, Seam(fail, number)))
        assert code in CODES
        expected = {NAME: old} if code else {NAME: new}
        assert rules(folder) == {key: data for key, data in expected.items() if data is not None}


@pytest.mark.parametrize("name", WORKS)
def test_it_may_be_killed_before_any_call(tmp_path, name):
    old, new, work = WORKS[name]
    begun = tmp_path / "count"
    make(begun)
    if old is not None:
        (begun / "rules.d" / NAME).write_bytes(old)
    for number in calls_of(begun, work):
        folder = tmp_path / str(number)
        make(folder)
        if old is not None:
            (folder / "rules.d" / NAME).write_bytes(old)
        if not (child := os.fork()):
            try:
                work(make(folder, Seam(lambda: os.kill(os.getpid(), signal.SIGKILL), number)))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        found = rules(folder)
        found.pop(".mountwright.tmp", None)
        assert found in [{NAME: data} if data is not None else {} for data in (old, new)]
        # The next writer removes the leftovers, and succeeds.
        sha256 = hashlib.sha256(found[NAME]).hexdigest() if found else ""
        save(make(folder), kb=5, sha256=sha256)
        assert set(rules(folder)) == {NAME}


@given(st.text(max_size=20).map(lambda text: f"/mnt/{text}"), st.integers(-5, MAX_READ_AHEAD_KB + 5))
def test_no_request_writes_anything_else_than_the_template(tmp_path_factory, target, number):
    folder = tmp_path_factory.mktemp("rules")
    code = code_of(save, make(folder), target, number)
    found = rules(folder)
    assert found == ({} if code else {readahead_rule.name(target): readahead_rule.text(target, number)})
    if not code:
        assert 0 <= number <= MAX_READ_AHEAD_KB
        assert target.isprintable()
