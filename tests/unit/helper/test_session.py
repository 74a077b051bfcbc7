"""Session of the helper without a process: bytes in and out; every malformed line gets an answer."""

import contextlib
import itertools
import json
import math
import os
import socket
import threading
import tomllib
from pathlib import Path

import pytest
from fake_clock import FakeClock
from hypothesis import given, settings
from hypothesis import strategies as st
from peer_line import PeerLine

from app.helper import audit, verbs
from app.helper import session as protocol
from app.helper.errors import CODES, Refusal
from app.helper.peer_socket import PeerSocket
from app.helper.session import MAX_LINE, Session, parse
from app.helper.verbs import ACTIONS, COMMON, ROLES, SCHEMAS, SYSTEM_ACTIONS

HERE = Path(__file__).parents[3]
ID = "0123456789abcdef"


def line(verb, args, request_id=ID):
    return json.dumps({"id": request_id, "verb": verb, "args": args}).encode() + b"\n"


def serve(data, handlers=None, role="mount", **options):
    """Run a session over these bytes until the end of the input; return the answers and the exit status."""
    ours, theirs = socket.socketpair()
    answers = []
    with ours, theirs:
        feeder = threading.Thread(target=lambda: _write_all(ours, data))
        gatherer = threading.Thread(target=lambda: answers.append(_read_all(ours)))
        feeder.start()
        gatherer.start()
        try:
            hello = {"hello": lambda args, _session: dict(args)}
            status = Session(theirs, role, handlers or hello, **options).run()
        finally:
            theirs.close()
            gatherer.join()
            feeder.join()
    return [json.loads(answer) for answer in answers[0].splitlines()], status


def _write_all(line, data):
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)


def _read_all(line):
    chunks = []
    with contextlib.suppress(ConnectionResetError):
        while chunk := line.recv(65536):
            chunks.append(chunk)
    return b"".join(chunks)


def test_hello_and_the_end_of_input():
    answers, status = serve(line("hello", {}))
    assert answers == [{"id": ID, "ok": {}}]
    assert status == 0


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"x",
        b"[]",
        b"1",
        b"null",
        b"{}",
        b'{"id":"a","verb":"hello"}',
        b'{"id":"a","verb":"hello","args":{},"x":1}',
        b'{"id":"a","id":"a","verb":"hello","args":{}}',
        b'{"id":"a","verb":"hello","args":{"a":true,"a":true}}',
        b'{"id":"a","verb":"hello","args":{"a":NaN}}',
        b'{"id":"a","verb":"hello","args":{"a":1.0}}',
        b'{"id":"a","verb":"hello","args":{"a":-Infinity}}',
        b'{"id":1,"verb":"hello","args":{}}',
        b'{"id":"","verb":"hello","args":{}}',
        b'{"id":"XYZ","verb":"hello","args":{}}',
        b'{"id":"a\\n","verb":"hello","args":{}}',
        b'{"id":"a","verb":1,"args":{}}',
        b'{"id":"a","verb":"hello","args":[]}',
        b'{"id":"a","verb":"hello","args":{"a":[[[[[1]]]]]}}',
        b"[" * 60000,
        b'{"a":' * 10000,
        b"\xff\xfe",
        b'{"id":"a","verb":"hello","args":{"a":' + b"9" * 5000 + b"}}",
        b"\x00" * 100,
    ],
)
def test_a_malformed_line_is_answered_and_the_next_one_served(bad):
    answers, status = serve(bad + b"\n" + line("hello", {}))
    assert answers[0]["id"] is None
    assert answers[0]["error"]["code"] == "protocol"
    assert answers[1]["ok"] == {}
    assert status == 0


@pytest.mark.parametrize("extra", [1, MAX_LINE, 5 * MAX_LINE])
def test_a_line_that_is_too_long_is_refused_once(extra):
    answers, _status = serve(b" " * (MAX_LINE + extra) + b"\n" + line("hello", {}))
    assert [answer.get("error", {}).get("code") for answer in answers] == ["protocol", None]


def test_a_line_of_just_the_limit_is_served():
    data = line("hello", {})[:-1]
    answers, _status = serve(data + b" " * (MAX_LINE - len(data)) + b"\n")
    assert answers[0]["ok"] == {}


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_parse_or_are_refused(data):
    try:
        outcome = parse(data).args
    except Refusal as refusal:
        outcome = refusal.code
    assert outcome == "protocol" or isinstance(outcome, dict)


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    )
)
def test_any_value_as_arguments_is_checked(value):
    for verb in SCHEMAS:
        role = next((role for role, verbs in ROLES.items() if verb in verbs), "mount")
        action = "mount-system" if verb == "plan" else ""
        handlers = {name: lambda args, _s: {} for name in SCHEMAS}
        answers, _status = serve(line(verb, value), handlers, role, action=action)
        assert ("ok" in answers[0]) == _fits(verb, value)


def _fits(verb, value):
    if not isinstance(value, dict):
        return False
    schema = SCHEMAS[verb]
    given_types = {name: type(item) for name, item in value.items()}
    required = {name for name, wanted in schema.items() if wanted.default is verbs.REQUIRED}
    return (
        required <= set(value)
        and all(name in schema and schema[name].type is kind for name, kind in given_types.items())
        and all(isinstance(word, str) for item in value.values() if type(item) is list for word in item)
    )


ARGS = {
    "plan": {"requests": [{"verb": "hello", "args": {}}]},
    "hello": {},
    "mount": {"share": "a:/b", "target": "/mnt/x", "options": [], "create": False, "timeout_ms": 1000},
    "unmount": {"target": "/mnt/x", "timeout_ms": 1000},
    "holders": {"target": "/mnt/x"},
    "try": {"share": "a:/b", "options": [], "timeout_ms": 1000},
    "open": {"share": "a:/b", "options": [], "timeout_ms": 1000},
    "run": {"argv": [], "socket": "/x"},
    "abort": {},
    "close": {"timeout_ms": 1000},
    "remount": {"target": "/mnt/x", "options": [], "timeout_ms": 1000},
    "tune": {"target": "/mnt/x", "read_ahead_kb": 128},
    "readahead-save": {"target": "/mnt/x", "read_ahead_kb": 128, "sha256": ""},
    "readahead-remove": {"target": "/mnt/x", "sha256": ""},
    "unit-write": {"share": "a:/b", "target": "/mnt/x", "options": [], "automount": True, "sha256": ""},
    "unit-remove": {"target": "/mnt/x", "sha256": ""},
    "add": {"share": "a:/b", "target": "/mnt/x", "fstype": "nfs", "options": [], "sha256": ""},
    "change": {"old_share": "a:/b", "old_target": "/mnt/x", "share": "a:/b", "target": "/mnt/x",
               "fstype": "nfs", "options": [], "sha256": ""},
    "remove": {"share": "a:/b", "target": "/mnt/x", "sha256": ""},
    "restore": {"backup": "", "sha256": ""},
    "cancel": {"id": "a"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("action", "role"), [(name, role) for name in sorted(ACTIONS) for role in ACTIONS[name]]
)
@pytest.mark.parametrize("verb", [*sorted(ARGS), "persist", "move", "__class__", ""])
def test_a_role_has_its_own_verbs_and_no_others(action, role, verb):
    assert set(ARGS) == set(SCHEMAS)
    called = []
    handlers = {name: lambda args, _s: called.append(args) or {} for name in ARGS}
    answers, _status = serve(line(verb, ARGS.get(verb, {})), handlers, role, action=action)
    if verb in ROLES[role] | COMMON or (verb == "plan" and action in SYSTEM_ACTIONS):
        assert "ok" in answers[0]
    else:
        assert answers[0]["error"]["code"] == "usage"
        assert not called


def test_every_verb_belongs_to_one_role():
    for verb in set(SCHEMAS) - {"hello", "cancel", "plan"}:
        assert sum(verb in verbs for verbs in ROLES.values()) == 1


def test_one_request_at_a_time_and_cancel():
    seen = []

    def slow(_args, session):
        while not session.cancelled:
            seen.append(session.wait((), 0.05))
        raise Refusal("cancelled", "Cancelled.")

    data = (
        line("unmount", ARGS["unmount"], "aa")
        + line("hello", {}, "bb")
        + b"junk\n"
        + line("cancel", {"id": "cc"}, "dd")
        + line("cancel", {"id": "aa"}, "ee")
    )
    answers, _status = serve(data, {"unmount": slow, "hello": lambda a, _s: {}})
    by_id = {answer["id"]: answer for answer in answers}
    assert by_id["bb"]["error"]["code"] == "busy-helper"
    assert by_id[None]["error"]["code"] == "protocol"
    assert by_id["dd"]["ok"] == {"found": False}
    assert by_id["ee"]["ok"] == {"found": True}
    assert by_id["aa"]["error"]["code"] == "cancelled"


def test_the_end_of_input_stops_what_is_under_way():
    ended = []

    def slow(_args, session):
        while not session.cancelled:
            session.wait((), 5)
        ended.append(True)
        return {}

    _answers, status = serve(line("unmount", ARGS["unmount"]), {"unmount": slow})
    assert ended == [True]
    assert status == 0


def test_a_bug_is_answered_without_its_text():
    def broken(_args, _session):
        raise RuntimeError("/secret/path")

    lines = []
    answers, _status = serve(line("hello", {}), {"hello": broken}, log=lines.append)
    assert answers[0]["error"]["code"] == "internal"
    assert "secret" not in json.dumps(answers)
    assert "internal" in lines[0]


class Peer:
    """Both ends of a session with a fake clock."""

    def __init__(self, role="mount", handlers=None, **options):
        self.line = PeerLine(ends=False)
        self.wakeup, self.wake = os.pipe()
        self.clock = FakeClock()
        self.lines = []
        plain = {"hello": lambda _args, _session: {}}
        options |= {"now": self.clock.now, "poll": self.clock.poll, "log": self.lines.append}
        self.session = Session(self.line.theirs, role, handlers or plain, wakeup=self.wakeup, **options)
        self.began = self.clock.time

    @property
    def age(self):
        return self.clock.time - self.began

    def send(self, data):
        self.line.send(data)

    def take(self):
        """Return the answers since the last call."""
        return self.line.take()

    def close(self):
        self.line.close()
        os.close(self.wakeup)
        os.close(self.wake)


@pytest.fixture
def peer():
    made = []

    def make(*args, **options):
        made.append(Peer(*args, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def nothing(_args, _session):
    return {}


@pytest.mark.parametrize(("role", "idle_s"), [("mount", 30), ("persist", 30), ("bench", 600)])
def test_it_ends_when_idle_and_says_so(peer, role, idle_s):
    found = peer(role)
    found.send(line("hello", {}))
    assert found.session.run() == 0
    assert found.take() == [{"id": ID, "ok": {}}, {"event": "session-end", "reason": "idle"}]
    assert idle_s < found.age < idle_s + 2
    assert found.lines[-1] == f"action={role} role={role} session-end=idle requests=1"


@pytest.mark.parametrize("role", sorted(ROLES))
def test_it_ends_by_its_age_however_busy_it_is(peer, role):
    found = peer(role)
    codes = []

    def ask():
        codes.extend(answer.get("reason", "ok") for answer in found.take())
        found.clock.time += 20.0
        found.send(line("hello", {}))

    found.clock.when_idle = ask
    assert found.session.run() == 0
    codes.extend(answer.get("reason", "ok") for answer in found.take())
    assert codes[-1] == "age"
    limit = 12 * 3600 if role == "bench" else 600
    assert limit < found.age <= limit + 20
    assert codes.count("ok") == limit // 20


def test_what_is_open_may_be_finished_for_an_hour(peer):
    """The age limit of a bench session applies between test mounts; an open one has an hour more."""

    def hold(_args, session):
        session.holds = True
        return {}

    def let_go(_args, session):
        session.holds = False
        return {}

    handlers = {"open": hold, "close": let_go}
    for closed_after in (12 * 3600 + 600, None):
        found = peer("bench", handlers)
        found.send(line("open", ARGS["open"]))

        def close(found=found, closed_after=closed_after):
            if closed_after is not None and found.age > closed_after:
                found.send(line("close", ARGS["close"]))

        found.clock.when_idle = close
        assert found.session.run() == 0
        answers = found.take()
        assert answers[-1] == {"event": "session-end", "reason": "age"}
        assert len(answers) == (2 if closed_after is None else 3)
        assert found.age == pytest.approx(13 * 3600 if closed_after is None else closed_after, abs=3)


@pytest.mark.parametrize("role", ["mount", "persist", "tune"])
def test_it_serves_a_thousand_requests(peer, role):
    found = peer(role)
    data = line("hello", {}) * 400
    answers = []

    def ask():
        answers.extend(found.take())
        found.send(data)

    found.clock.when_idle = ask
    assert found.session.run() == 0
    answers += found.take()
    assert [answer for answer in answers if "event" in answer] == [
        {"event": "session-end", "reason": "requests"}
    ]
    assert len(answers) == 1001


def recipe():
    """Return all combinations of the recipe, without settings that Linux does not have."""
    found = tomllib.loads((HERE / "resources" / "recipes" / "3-full-factorial.toml").read_text())
    levels = [factor["levels"] for factor in found["factor"] if factor["name"] != "client_threads"]
    sizes = [2**28, 2**30]
    assert [work["size"] for work in found["workload"]] == ["256M", "1G"]
    trials = [size for size in sizes for _ in itertools.product(*levels)] * found["full"]["repeats"]
    assert len(trials) == 2304
    return trials


class Experiment:
    """Client that opens a mount, copies in both directions and closes it, once for each trial."""

    def __init__(self, found, trials, copy_s):
        self.found, self.copy_s = found, copy_s
        self.steps = iter([(verb, size) for size in trials for verb in ("open", "run", "close")])
        self.done = 0
        self.events = []

    def __call__(self):
        for answer in self.found.take():
            self.events += [answer["reason"]] if "event" in answer else []
            assert "error" not in answer
        verb, size = next(self.steps, ("", 0))
        if verb == "close":
            self.found.clock.time += self.copy_s(size)
        if verb:
            self.found.send(line(verb, ARGS[verb]))
            self.done += verb == "close"
        else:
            self.found.line.end()


def bench_peer(peer):
    """Return a peer of a bench session whose mounts and unmounts take a second each."""

    def hold(_args, session):
        found.clock.time += 1.0
        session.holds = True
        return {}

    def let_go(_args, session):
        found.clock.time += 1.0
        session.holds = False
        return {}

    found = peer("bench", {"open": hold, "run": nothing, "close": let_go})
    return found


def test_the_full_factorial_runs_under_one_authorization(peer):
    """On a gigabit link, 118 MB/s: 2,304 test mounts in 8.6 hours, in one session."""
    found = bench_peer(peer)
    client = found.clock.when_idle = Experiment(found, recipe(), lambda size: 2 * size / 118e6)
    assert found.session.run() == 0
    assert found.take() == []
    assert client.done == 2304
    assert client.events == []
    assert 8.5 * 3600 < found.age < 8.7 * 3600


def test_a_longer_one_loses_no_trial_to_the_end_of_a_session(peer):
    """With 20 s and more per trial it takes longer than 12 hours; the session ends between two mounts."""
    found = bench_peer(peer)
    client = found.clock.when_idle = Experiment(found, recipe(), lambda _size: 20.0)
    assert found.session.run() == 0
    answers = found.take()
    assert answers[-1] == {"event": "session-end", "reason": "age"}
    assert answers[-2]["ok"] == {}  # the answer to the last close
    assert not found.session.holds
    assert client.done == math.ceil(12 * 3600 / 22)


def test_a_flood_of_requests_waits_its_turn(peer):
    found = peer("bench", {"abort": nothing})
    left = 1000
    answers = []

    def ask():
        nonlocal left
        answers.extend(found.take())
        count = min(left, 100)
        left -= count
        found.send(line("abort", {}) * count)

    found.clock.when_idle = ask
    assert found.session.run() == 0
    answers += found.take()
    assert sum("ok" in answer for answer in answers) == 1000
    # 200 at once, then 20 per second; idle at the end.
    assert (1000 - 200) / 20 <= found.age <= (1000 - 200) / 20 + 603


def test_lines_that_break_the_rules_end_the_session(peer):
    found = peer()
    found.send(b"\n" * 500)
    assert found.session.run() == 65
    answers = found.take()
    assert len(answers) == protocol.MAX_FAULTS == 100
    assert {answer["error"]["code"] for answer in answers} == {"protocol"}
    assert found.lines == ["action=mount role=mount session-end=protocol requests=0"]


@pytest.mark.parametrize("flood", [b"\n", line("hello", {})])
def test_a_flood_ends_what_is_under_way(peer, flood):
    stopped = []

    def slow(_args, session):
        while not session.cancelled:
            session.wait((), 5.0)
        stopped.append(True)
        return {}

    found = peer(handlers={"unmount": slow})
    found.send(line("unmount", ARGS["unmount"]) + flood * 200)
    assert found.session.run() == 65
    assert stopped == [True]


def test_a_line_without_an_end_ends_the_session(peer):
    for begin in (b'{"id"', b"x" * (MAX_LINE + 5)):
        found = peer()
        parts = iter([begin[:60_000], begin[60_000:]])
        found.clock.when_idle = lambda found=found, parts=parts: found.send(next(parts, b""))
        assert found.session.run() == 65
        assert "no end" in found.take()[-1]["error"]["message"]
        assert found.age <= 8


# Peers that do not read.


def full(found):
    """Fill the buffer of the session's output, without reading it."""
    found.line.reads = False
    found.line.fill()


def test_a_peer_that_does_not_read_is_given_up(peer):
    served = []
    found = peer(handlers={"hello": lambda _args, _session: served.append(found.age) or {}})
    full(found)
    found.send(line("hello", {}) * 3)
    assert found.session.run() == 0
    # The first answer is buffered, and no request is started before it is sent.
    assert served == [0.0]
    assert 5 <= found.age < 8


def test_a_peer_that_does_not_read_delays_no_deadline(peer):
    ended = []

    def slow(_args, session):
        end = found.clock.now() + 3.0
        while found.clock.now() < end and not session.cancelled:
            session.wait((), end - found.clock.now())
        ended.append((found.age, session.cancelled))
        return {}

    found = peer(handlers={"unmount": slow})
    full(found)
    # The answer to each of these cannot be sent.
    found.send(line("unmount", ARGS["unmount"]) + line("cancel", {"id": "cc"}, "dd") * 50)
    assert found.session.run() == 0
    assert ended == [(pytest.approx(3.0), False)]


def test_a_cancel_is_heeded_while_an_answer_waits(peer):
    ended = []

    def slow(_args, session):
        while not session.cancelled:
            session.wait((), 60.0)
        ended.append(found.age)
        return {}

    found = peer(handlers={"unmount": slow})
    full(found)
    found.send(line("unmount", ARGS["unmount"], "aa") + b"junk\n" + line("cancel", {"id": "aa"}, "bb"))
    assert found.session.run() == 0
    assert ended == [0.0]


@pytest.mark.parametrize("how", ["input", "signal"])
def test_the_end_is_heeded_while_an_answer_waits(peer, how):
    found = peer()
    full(found)
    found.send(line("hello", {}))

    def end():
        if how == "signal":
            os.write(found.wake, b"x")
        else:
            found.line.end()

    found.clock.when_idle = end
    assert found.session.run() == 0
    assert found.age <= protocol.LAST_STALL_S


def test_a_peer_that_reads_slowly_gets_every_answer(peer):
    found = peer(handlers={"hello": lambda _args, _session: {"text": "x" * 300_000}})
    parts = []

    def read_some():
        found.clock.time += 1.0
        with contextlib.suppress(BlockingIOError):
            # A socket becomes writable again after three quarters of its buffer have been read (unix(7)).
            parts.append(found.line.ours.recv(100_000))

    found.clock.when_idle = read_some
    found.send(line("hello", {}))
    assert found.session.run() == 0
    while len(b"".join(parts)) < 300_000:
        parts.append(found.line.ours.recv(65536))
    assert json.loads(b"".join(parts).splitlines()[0])["ok"] == {"text": "x" * 300_000}


def test_a_peer_that_shares_the_open_file_cannot_make_it_block():
    """O_NONBLOCK belongs to the open file description, so a holder of a duplicate descriptor can clear it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = PeerSocket(theirs, FakeClock().now)
        channel.send(b"x" * (1 << 22))
        assert channel.unsent
        assert os.get_blocking(theirs.fileno())
        assert channel.receive() is None
        ours.send(b"hello")
        assert channel.receive() == b"hello"
        ours.shutdown(socket.SHUT_WR)
        assert channel.receive() == b""
        while channel.unsent:
            ours.recv(1 << 16)
            channel.send()
        ours.close()
        channel.send(b"x")
        assert (channel.lost, channel.unsent) == (True, b"")


# Characters that no name can have, and the audit line.

ODD = ["\ud800", "\0", "a\udfffb", "/mnt/\0"]


@pytest.mark.parametrize("role", sorted(ROLES))
@pytest.mark.parametrize("odd", ODD)
def test_what_no_name_can_have_is_refused_wherever_it_is(role, odd):
    called, lines = [], []
    data = line(odd, {})
    for verb in sorted(ROLES[role]):
        data += line(verb, {**ARGS[verb], odd: 1})
        for name, value in ARGS[verb].items():
            if isinstance(value, str):
                data += line(verb, {**ARGS[verb], name: odd})
            if isinstance(value, list):
                data += line(verb, {**ARGS[verb], name: ["rw", odd]})
    handlers = {name: lambda args, _s: called.append(args) or {} for name in ARGS}
    answers, status = serve(data + line("hello", {}), handlers, role, log=lines.append)
    assert (status, called) == (0, [{}])
    assert {answer["error"]["code"] for answer in answers[:-1]} == {"usage"}
    assert answers[-1] == {"id": ID, "ok": {}}
    assert len(lines) == len(answers)
    assert all(text.isascii() and text.isprintable() for text in lines)


def test_a_log_that_fails_ends_nothing():
    def fail(_line):
        raise OSError(28, "No space left on device")

    answers, status = serve(line("hello", {}) * 3, log=fail)
    assert ([answer["ok"] for answer in answers], status) == ([{}] * 3, 0)


HOSTILE = 'nas:/x" result=ok\n<86>Nov 22 sshd[1]: Accepted password\x1b]0;x\x07\x9b2J\u202e\u2028\U0001f600\\'


def test_a_line_of_the_log_cannot_be_forged():
    text = audit.line(
        "persist", "add", {**ARGS["add"], "share": HOSTILE, "b": 1, "a\n": 2}, "share-invalid", 7
    )
    assert text == (
        'action=persist verb=add share="nas:/x\\" result=ok\\x0a<86>Nov 22 sshd[1]: Accepted password\\x1b]0;'
        'x\\x07\\x9b2J\\u202e\\u2028\\U0001f600\\\\" target="/mnt/x" result=share-invalid ms=7 '
        'fstype="nfs" options="" sha256="" unknown=2'
    )


@pytest.mark.parametrize("verb", ["\ud800", "a\nb", "x" * 60_000, "", "mount mount", "__class__"])
def test_a_verb_that_no_role_has_is_not_repeated(verb):
    assert (
        audit.line("mount", verb, {}, "usage", 0)
        == 'action=mount verb=? share="" target="" result=usage ms=0'
    )


def test_nothing_pushes_share_and_target_out_of_the_line():
    padding = "comment=" + "A" * 60_000
    args = {**ARGS["mount"], "options": [padding, "exec"], "create": padding}
    text = audit.line("mount", "mount", args, "ok", 1)
    assert text.startswith(
        'action=mount verb=mount share="a:/b" target="/mnt/x" result=ok ms=1 options="comment=AAA'
    )
    assert 'A"+59' in text
    assert len(text) < 1500
    longest = {**ARGS["mount"], "share": "s" * 1277, "target": "/" * 511}
    assert f'share="{"s" * 1277}" target="{"/" * 511}" ' in audit.line("mount", "mount", longest, "ok", 1)


VALUES = st.text() | st.integers() | st.none() | st.lists(st.text() | st.integers())


@given(st.dictionaries(st.sampled_from(["share", "target", "options", "x"]), VALUES), st.text())
def test_any_request_makes_one_line_of_plain_text(args, verb):
    text = audit.line("mount", verb, args, "ok", 1)
    assert text.isascii()
    assert text.isprintable()
    assert text.count(" result=ok ms=1") == 1 or "result" in str(args)


def test_codes_are_the_applications_kinds():
    from app.errors import ErrorKind

    assert CODES - set(ErrorKind) == {"busy-helper"}
