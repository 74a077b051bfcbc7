"""Attacks through a saved readahead: root's udev reads rules that the helper writes for ordinary users.

In a udev rule, a word of the caller could run a program as root (udev(7), RUN and PROGRAM).
"""

import hashlib
import json
import re

import pytest
from rig import ANN

#: Lines of a rule file that udev evaluates, as patterns for digest and number.
LINES = re.compile(
    r'SUBSYSTEM=="bdi", ACTION=="add", KERNEL=="0:\*", ENV\{\.MOUNTWRIGHT_MOUNT\}=="", '
    r'PROGRAM=="/usr/libexec/mountwright/mountwright-readahead %k", ENV\{\.MOUNTWRIGHT_MOUNT\}="%c"\n'
    r'SUBSYSTEM=="bdi", ACTION=="add", KERNEL=="0:\*", ENV\{\.MOUNTWRIGHT_MOUNT\}=="[0-9a-f]{64}", '
    r'ATTR\{read_ahead_kb\}="[0-9]{1,6}"\n\Z'
)
NAME = re.compile(r"99-zz-mountwright-readahead-[0-9a-f]{32}\.rules\Z")
RUN = 'RUN+="/usr/bin/touch /run/owned"'
TARGETS = [
    "/mnt/a", f"/mnt/a\n{RUN}", f"/mnt/a\r{RUN}", f'/mnt/a", {RUN}, X="', f"/mnt/a\\\n{RUN}", f"/mnt/{RUN}",
    "/mnt/$env{PATH}%c%k$(id)`id`", "/mnt/a\\", '/mnt/"', "/mnt/#", f"/mnt/\u2028{RUN}", f"/mnt/\x85{RUN}",
    "/mnt/\x00", "/mnt/\udc80", "/mnt/*", "/mnt/[a]?", "/mnt/../../etc/udev/rules.d/00-x.rules",
    "../../../etc/passwd", "", "/", "/etc", "/etc/udev/rules.d", "/usr/libexec/mountwright", "/proc/1",
    "/home/ann/mine", "/opt/x", "/mnt/" + "x/" * 255 + "x", "/mnt/" + "\u5b57" * 80,
]  # fmt: skip
NUMBERS = [1024, 0, 262144, -1, 262145, 2**70, True, 1.5, "1024", f'1", {RUN}, X="', [1024], None]


def save(session, target="/mnt/a", kb=1024, sha256=""):
    return session.ask("readahead-save", target=target, read_ahead_kb=kb, sha256=sha256)


def remove(session, target="/mnt/a", sha256=""):
    return session.ask("readahead-remove", target=target, sha256=sha256)


def check(rig):
    """Check that udev would execute only the template; return the number of rules."""
    found = rig.udev_rules()
    for name, data in found.items():
        assert NAME.match(name), name
        assert data.isascii()
        text = data.decode()
        carried_out = "".join(f"{line}\n" for line in text.split("\n")[:-1] if not line.startswith("#"))
        assert LINES.match(carried_out), text
        assert not re.search(r"\\$|\r", text, re.MULTILINE)
        status = rig.path(f"/etc/udev/rules.d/{name}").stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (0, 0, 0o644)
    return len(found)


def test_no_word_of_the_caller_gets_into_what_udev_carries_out(rig):
    session = rig.session("tune").hello()
    for target in TARGETS:
        for kb in NUMBERS if target in TARGETS[:6] else (1024,):
            for sha256 in ("", RUN, "0" * 64):
                save(session, target, kb, sha256)
    assert check(rig) >= 5  # the printable paths below /mnt are valid mount points
    assert not rig.path("/run/owned").exists()


def test_no_readahead_is_saved_where_the_caller_may_not_have_mounts(rig):
    session = rig.session("tune").hello()
    for target in ("/", "/usr", "/etc", "/home/ann", "/home/nobody/x", "/opt/x", "/data", "/mnt", "/root/x"):
        save(session, target)
    assert check(rig) == 0
    # The role may tune an active mount, and so also save its readahead.
    rig.mount_as_root("nas:/x", "/opt/x")
    save(session, "/opt/x")
    assert check(rig) == 1


def test_files_of_root_s_are_neither_changed_nor_removed(rig):
    session = rig.session("tune").hello()
    place = save(session)["file"]
    ours = rig.read(place)
    for text in (ours + f"{RUN}\n", f"# Made by Mountwright\n{RUN}\n", "", ours.replace("1024", "2048")):
        rig.write(place, text)
        for sha256 in (
            "",
            hashlib.sha256(text.encode()).hexdigest(),
            hashlib.sha256(ours.encode()).hexdigest(),
        ):
            save(session, kb=4096, sha256=sha256)
            remove(session, sha256=sha256)
        assert rig.read(place) == text
    rig.write(place, ours)
    assert remove(session, sha256=hashlib.sha256(ours.encode()).hexdigest())["sha256"] == ""
    assert rig.udev_rules() == {}


def test_a_link_of_root_s_is_not_followed(rig):
    session = rig.session("tune").hello()
    place = save(session)["file"]
    text = rig.read(place)
    rig.write("/etc/elsewhere", text)
    rig.run("ln", "-sf", "/etc/elsewhere", place)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    for kb in (1, 2):
        save(session, kb=kb, sha256=sha256)
        remove(session, sha256=sha256)
    assert rig.read("/etc/elsewhere") == text
    assert rig.path(place).is_symlink()


def test_nobody_fills_the_disk_with_rules(rig):
    for number in range(3):
        session = rig.session("tune").hello()
        for more in range(120):
            save(session, f"/mnt/{number}-{more}")
        session.end()
    assert check(rig) == 256


def test_another_user_s_change_in_between_is_not_written_over(rig):
    mine, ann = rig.session("tune").hello(), rig.session("tune", uid=ANN).hello()
    first = save(mine)
    save(ann, kb=2048, sha256=first["sha256"])
    for sha256 in ("", first["sha256"]):
        save(mine, kb=1, sha256=sha256)
        remove(mine, sha256=sha256)
    assert 'ATTR{read_ahead_kb}="2048"' in rig.read(first["file"])


@pytest.mark.parametrize("change", [{"target": "/mnt/b"}, {"read_ahead_kb": 262144}, {"more": 1}])
def test_an_approval_is_for_its_mount_point_and_its_number(open_rig, change):
    args = {"target": "/opt/x", "read_ahead_kb": 1024, "sha256": ""}
    requests = [{"verb": "readahead-save", "args": args}]
    open_rig.mount_as_root("nas:/x", "/opt/x")
    text = json.dumps(requests, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    words = ("apply-system", "nas:/x", "/opt/x", hashlib.sha256(text.encode()).hexdigest())
    session = open_rig.session(*words).hello()
    session.send_plan(requests)
    session.ask("readahead-save", **{**args, **change})
    assert open_rig.udev_rules() == {}
    session.ask("readahead-save", **args)
    assert check(open_rig) == 1


def test_the_program_of_the_rules_is_root_s_alone_and_takes_nothing(rig):
    path = "/usr/libexec/mountwright/mountwright-readahead"
    status = rig.path(path).stat()
    assert (status.st_uid, status.st_mode & 0o777) == (0, 0o755)
    for words in ((), ("/etc/shadow",), ("0:45;id",), ("0:45", "x"), ("--help",)):
        done = rig.run(path, *words, check=False, env={"PYTHONPATH": "/tmp", "PYTHONSTARTUP": "/tmp/x"})
        assert (done.returncode, done.stdout) == (64, "")
    assert rig.run(path, "0:9999999").stdout == "none\n"
