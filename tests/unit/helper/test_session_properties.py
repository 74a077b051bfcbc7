"""Session of the helper against an independent oracle: forbidden requests never reach a handler.

Random lines, most of them nearly correct, are sent to sessions with a fake clock. The oracle is the text and
the
code below. It shares neither tables nor functions with the helper.
"""

import contextlib
import json
import random
import re

import pytest
from fake_clock import FakeClock
from peer_line import PeerLine

from app.helper.errors import Refusal
from app.helper.session import Session

#: Verbs of each role with their arguments; "=" begins the default of an optional one.
ORACLE = r"""
mount    hello
mount    mount        share:text target:text options:words create:flag hide:flag=false timeout_ms:number
mount    unmount      target:text force:flag=false lazy:flag=false timeout_ms:number
mount    holders      target:text
try      try          share:text options:words timeout_ms:number names:flag=false
mount    remount      target:text options:words timeout_ms:number
mount    cancel       id:text
try      hello
try      cancel       id:text
persist  hello
persist  add          share:text target:text fstype:text options:words sha256:text
persist  change       old_share:text old_target:text share:text target:text fstype:text options:words \
                      sha256:text
persist  remove       share:text target:text sha256:text
persist  restore      backup:text sha256:text
units    unit-write   share:text target:text options:words automount:flag sha256:text idle_s:number=-1
units    unit-remove  target:text sha256:text
persist  cancel       id:text
units    hello
units    cancel       id:text
bench    hello
bench    open         share:text options:words timeout_ms:number read_ahead_kb:number=-1
bench    run          argv:words socket:text
bench    abort
bench    close        timeout_ms:number
bench    cancel       id:text
tune     hello
tune     tune         target:text read_ahead_kb:number
tune     readahead-save   target:text read_ahead_kb:number sha256:text
tune     readahead-remove target:text sha256:text
tune     cancel       id:text
"""
ROLES = ("mount", "try", "persist", "units", "bench", "tune")
#: Lines of one session: fewer than MAX_FAULTS, and fewer than its limit of requests.
BATCH = 150
LINE_BYTES = 65536


class Verb:
    def __init__(self, words):
        self.kinds, self.defaults = {}, {}
        for word in words:
            name, kind = word.split(":")
            kind, default, value = kind.partition("=")
            self.kinds[name] = kind
            if default:
                self.defaults[name] = json.loads(value)


VERBS = {role: {} for role in ROLES}
for row in ORACLE.replace("\\\n", "").split("\n")[1:-1]:
    of_role, of_verb, *of_words = row.split()
    VERBS[of_role][of_verb] = Verb(of_words)
EVERY_VERB = sorted({name for verbs in VERBS.values() for name in verbs})


# The oracle.


def verdict(role, line):
    """Return the expected result: ("protocol",), ("usage", id), or ("ok", id, verb, complete arguments)."""
    request = request_of(line)
    if request is None:
        return ("protocol",)
    known = VERBS[role].get(request["verb"])
    if known is None or not fits(known, dict(request["args"][1])):
        return ("usage", request["id"])
    return ("ok", request["id"], request["verb"], {**known.defaults, **json.loads(line)["args"]})


def request_of(line):
    """Parse a line; return the request, None if it is malformed."""
    try:
        # Objects are parsed to marked lists of pairs, because a dict would hide a repeated key.
        value = json.loads(line.decode("utf-8"), object_pairs_hook=lambda pairs: ("object", pairs))
    except (ValueError, RecursionError):
        return None
    if len(line) > LINE_BYTES or kind_of(value) != "object" or not is_plain(value) or deep(value) > 6:
        return None
    request = dict(value[1])
    kinds = {name: kind_of(item) for name, item in request.items()}
    if kinds != {"id": "text", "verb": "text", "args": "object"}:
        return None
    return request if re.fullmatch("[0-9a-f]{1,32}", request["id"]) else None


def fits(known, args):
    if not set(known.kinds) - set(known.defaults) <= set(args):
        return False
    for name, value in args.items():
        texts = value if isinstance(value, list) else [value]
        if kind_of(value) != known.kinds.get(name) or any(map(is_odd, texts)):
            return False
    return True


def is_odd(value):
    return isinstance(value, str) and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)


def kind_of(value):
    if isinstance(value, tuple):
        return "object"
    if isinstance(value, list):
        return "words" if all(isinstance(item, str) for item in value) else "list"
    return {bool: "flag", int: "number", str: "text"}.get(type(value), "none")


def inner(value):
    return (
        [item for _name, item in value[1]]
        if isinstance(value, tuple)
        else value
        if isinstance(value, list)
        else []
    )


def is_plain(value):
    """Whether a JSON value has no fractional number and no repeated key."""
    if isinstance(value, float):
        return False
    names = [name for name, _item in value[1]] if isinstance(value, tuple) else []
    return len(names) == len(set(names)) and all(map(is_plain, inner(value)))


def deep(value):
    return 1 + max(map(deep, inner(value)), default=0) if isinstance(value, tuple | list) else 0


# Correct and nearly correct lines.

TEXTS = [
    "nas:/x", "/mnt/x", "", "a" * 300, "\ud800", "a\udfff", "\0", "x\0y", "\n", "\x1b]0;x\x07", "\x9b2J",
    "\u202e", "\U0001f600", "\\u0000", "\\\\u0000", "\\ud800", "nas:/x,/y", "../..", '" result=ok', "%s%n",
    "-o", "é",
]  # fmt: skip
VALUES = [
    None, True, False, 0, 1, -1, 2**63, 10**30, 1.5, 1e3, [], ["ro"], ["ro", "\0"], ["ro", 1], [[]], [["ro"]],
    {}, {"a": 1}, {"a": {"b": [1]}}, {"a": {"b": {"c": []}}}, float("nan"), float("inf"), *TEXTS,
]  # fmt: skip
RIGHT = {
    "text": ["nas:/x", "/mnt/x", "é", "\\u0000"], "words": [[], ["ro"], ["vers=4.2", "hard"]],
    "object": [{}], "flag": [True, False], "number": [0, 500, 1500, 150_000],
}  # fmt: skip
#: Malformed lines: no JSON, JSON of another form, and lines that are too long.
JUNK = [
    b"", b"x", b"[]", b"1", b'"a"', b"null", b"{}", b"[" * 3000, b'{"a":' * 3000, b"\xff\xfe", b"\x00" * 40,
    b"\xef\xbb\xbf{}",
    b'{"id":"a","verb":"hello","args":{}',
    b'{"id":"a","verb":"hello","args":{}}}',
    b'{"id":"a","id":"b","verb":"hello","args":{}}',
    b'{"id":"a","verb":"hello","args":{"a":1,"a":1}}',
    b'{"id":"a","verb":"hello","args":{"a":NaN}}',
    b'{"id":"a","verb":"hello","args":{"a":-Infinity}}',
    b'{"id":"a","verb":"hello","args":{"a":' + b"9" * 5000 + b"}}",
    b'{"id":"a","verb":"hell\x00o","args":{}}',
    b'{"id":"a","verb":"hello","args":{"\xff":1}}',
    b'{"id":"A","verb":"hello","args":{}}',
    b'{"id":"a\\u000a","verb":"hello","args":{}}',
    b" " * 300 + b'{"id":"a","verb":"hello","args":{}}',
    b"{'id':'a','verb':'hello','args':{}}",
]  # fmt: skip
#: Names of unknown arguments.
UNKNOWN = ("uid", "user", "command", "environment", "\ud800", "Share")
LONG = [b"x" * (LINE_BYTES + 1), b" " * LINE_BYTES + b'{"id":"a","verb":"hello","args":{}}']


class Lines:
    """Generator of random lines for a role."""

    def __init__(self, role, chance):
        self.role, self.chance = role, chance
        self.verbs = list(VERBS[role].items())

    def one(self):
        chance = self.chance
        kind = chance.random()
        if kind < 0.08:
            return chance.choice(JUNK)
        verb, known = chance.choice(self.verbs)
        args = {name: chance.choice(RIGHT[kind]) for name, kind in known.kinds.items()
                if name not in known.defaults or chance.random() < 0.5}  # fmt: skip
        request = {"id": f"{chance.getrandbits(64):x}", "verb": verb, "args": args}
        if kind > 0.4:
            for _ in range(chance.choice((1, 1, 1, 2, 3))):
                self.spoil(request)
        if kind > 0.95:
            self.spoil_envelope(request)
        return json.dumps(request, ensure_ascii=chance.random() < 0.7).encode("utf-8", "surrogatepass")

    def spoil(self, request):
        chance, args = self.chance, request["args"]
        what = chance.random()
        if what < 0.6 and args:
            args[chance.choice(list(args))] = chance.choice(VALUES)
        elif what < 0.75 and args:
            del args[chance.choice(list(args))]
        elif what < 0.85:
            args[chance.choice(UNKNOWN)] = chance.choice(VALUES)
        else:
            request["verb"] = chance.choice((*EVERY_VERB, *TEXTS, "__class__", "HELLO", "hello "))

    def spoil_envelope(self, request):
        chance = self.chance
        name = chance.choice(("id", "verb", "args"))
        if chance.random() < 0.3:
            del request[name]
        elif chance.random() < 0.3:
            request[chance.choice(("uid", "role", "Id"))] = 1
        else:
            request[name] = chance.choice(VALUES)


# The session.


FIELD = r'"[ -~]*"(\+\d+)?'
LOGGED = re.compile(
    rf"action=\w+ verb=[a-z?-]+ share={FIELD} target={FIELD} result=[a-z-]+ ms=\d+"
    rf"( \w+={FIELD})*( unknown=\d+)?"
)


def serve(role, lines, handler, clock):
    """Return the answers of a session, and its calls of handlers and log."""
    called, logged = [], []

    def carry_out(verb):
        return lambda args, session: called.append((verb, args)) or handler(verb, args, session)

    handlers = {verb: carry_out(verb) for verb in EVERY_VERB if verb != "cancel"}

    with contextlib.closing(PeerLine()) as line:
        clock.when_idle = line.pump
        line.send(b"".join(text + b"\n" for text in lines))
        session = Session(line.theirs, role, handlers, now=clock.now, poll=clock.poll, log=logged.append)
        status, answers = session.run(), line.take()
    assert all(text.isascii() and text.isprintable() and LOGGED.fullmatch(text) for text in logged), logged
    return status, answers, called, logged


def expected(role, line, *, running=""):
    """Return the answer that the oracle expects."""
    kind, *rest = verdict(role, line)
    if kind == "protocol":
        return (None, "protocol")
    if running:
        is_cancel = json.loads(line)["verb"] == "cancel"
        if kind == "usage":
            return (rest[0], "usage" if is_cancel else "busy-helper")
        return (rest[0], {"found": rest[2]["id"] == running}) if is_cancel else (rest[0], "busy-helper")
    if kind == "usage":
        return (rest[0], "usage")
    return (rest[0], {"found": False} if rest[1] == "cancel" else {"verb": rest[1]})


def told(answer):
    return (answer["id"], answer["ok"] if "ok" in answer else answer["error"]["code"])


def reply(verb, _args, _session):
    return {"verb": verb}


@pytest.fixture
def count(request):
    return 1_000_000 if request.config.getoption("--long") else 20_000


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("role", ROLES)
def test_nothing_outside_the_oracle_is_accepted(role, count):
    seed = random.randrange(2**32)
    lines = Lines(role, random.Random(seed))
    accepted = 0
    for number in range(0, count, BATCH):
        batch = [lines.one() for _ in range(BATCH)]
        if number % 20 == 0:
            batch[-1] = lines.chance.choice(LONG)
        wanted = [expected(role, line) for line in batch]
        faults = sum(name is None for name, _what in wanted)
        assert faults < 100, seed
        status, answers, called, logged = serve(role, batch, reply, FakeClock())
        assert [told(answer) for answer in answers] == wanted, seed
        asked = [each for line in batch if (each := verdict(role, line))[0] == "ok"]
        assert called == [(verb, args) for _, _, verb, args in asked if verb != "cancel"], seed
        assert (status, len(logged)) == (0, len(batch) - faults), seed
        accepted += len(called)
    # Enough of the lines are correct.
    assert count / 20 < accepted < count * 3 / 4


@pytest.mark.timeout(900)
@pytest.mark.parametrize("reads", [True, False], ids=["a peer that reads", "a peer that does not read"])
@pytest.mark.parametrize("role", ROLES)
def test_every_request_ends_by_its_deadline(role, reads, count):
    """Other lines that arrive meanwhile are refused or cancel the request, and never delay it."""
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    lines = Lines(role, chance)
    for _ in range(count // 200):
        clock = FakeClock()
        limit_s = chance.choice((0.5, 3.0, 15.0, 150.0))
        spent = []

        def wait(verb, _args, session, clock=clock, limit_s=limit_s, spent=spent):
            began = clock.now()
            while clock.now() < began + limit_s and not session.cancelled:
                session.wait((), began + limit_s - clock.now())
            spent.append(clock.now() - began)
            if session.cancelled:
                raise Refusal("cancelled", "Cancelled.")
            return {"verb": verb}

        first = json.dumps({"id": "abc", "verb": "hello", "args": {}}).encode()
        meanwhile = [lines.one() for _ in range(40)]
        if chance.random() < 0.3:
            meanwhile[20] = json.dumps({"id": "d", "verb": "cancel", "args": {"id": "abc"}}).encode()
        wanted = [expected(role, line, running="abc") for line in meanwhile]
        cancelled = any(what == {"found": True} for _name, what in wanted)
        answers, called = serve_open(role, [first, *meanwhile], wait, clock, reads=reads)
        assert called == [("hello", {})], seed
        assert spent[0] <= (0 if cancelled else limit_s), seed
        if reads:
            code = "cancelled" if cancelled else {"verb": "hello"}
            assert [told(answer) for answer in answers if "event" not in answer] == [
                *wanted,
                ("abc", code),
            ], seed
        else:
            assert spent[0] <= 6, seed
            assert clock.now() - 1000.0 <= 12, seed


def serve_open(role, lines, handler, clock, *, reads):
    """Like :func:`serve`, but the input stays open until the session ends by itself."""
    called = []

    def carry_out(args, session):
        called.append(("hello", args))
        return handler("hello", args, session)

    with contextlib.closing(PeerLine(reads=reads, ends=False)) as line:
        clock.when_idle = line.pump
        if not reads:
            line.fill()
        line.send(b"".join(text + b"\n" for text in lines))
        Session(line.theirs, role, {"hello": carry_out}, now=clock.now, poll=clock.poll).run()
        return line.take(), called
