"""The protocol, from both ends, over real pipes."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.agent.client import AgentClient
from app.agent.protocol import (
    MAX_LINE,
    RESERVED_VERBS,
    VERBS,
    Empty,
    HelloResult,
    ListArgs,
    StatsSample,
    UnmountArgs,
    WatchArgs,
    from_body,
    to_body,
)
from app.agent.server import AgentServer, Context
from app.errors import AppError, ErrorKind
from app.mounts.model import MountTable

SAMPLE = StatsSample(
    t_s=0.0,
    read_bytes_per_s=5e9,
    write_bytes_per_s=0.0,
    ops_per_s=1.0,
    rtt_s=None,
    queue_s=None,
    timeouts=0,
    retransmissions=0,
    connections=1,
)
HELLO = HelloResult(protocol=1, version="0", host="h", kernel="k", uid=0)


def hello(_args: Empty, _context: Context) -> HelloResult:
    return HELLO


def watch(_args: WatchArgs, context: Context) -> Empty:
    context.emit(SAMPLE)
    context.token.wait(60)
    return Empty()


def refuse(_args: UnmountArgs, _context: Context) -> None:
    raise AppError(ErrorKind.BUSY, "Busy.", hint="Close it.", detail="raw")


def crash(_args: ListArgs, _context: Context) -> MountTable:
    raise RuntimeError("seven")


HANDLERS: dict[str, Callable[[Any, Context], Any]] = {
    "hello": hello,
    "stats.watch": watch,
    "mounts.unmount": refuse,
    "mounts.list": crash,
}


class Wire:
    """A server on a thread, with raw access to its lines."""

    def __init__(self) -> None:
        request_read, request_write = os.pipe()
        answer_read, answer_write = os.pipe()
        self.requests: BinaryIO = os.fdopen(request_write, "wb", buffering=0)
        self.answers: BinaryIO = os.fdopen(answer_read, "rb")
        server_in, server_out = os.fdopen(request_read, "rb"), os.fdopen(answer_write, "wb", buffering=0)

        def serve() -> None:
            AgentServer(server_in, server_out, HANDLERS).serve()
            server_in.close()
            server_out.close()

        self.thread = threading.Thread(target=serve, name="test-server", daemon=True)
        self.thread.start()

    def ask(self, line: bytes) -> dict[str, Any]:
        self.requests.write(line + b"\n")
        return self.next()

    def next(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.answers.readline())
        return answer

    def close(self) -> None:
        self.requests.close()
        self.thread.join(10)
        assert not self.thread.is_alive()
        self.answers.close()


@pytest.fixture
def wire() -> Iterator[Wire]:
    opened = Wire()
    yield opened
    opened.close()


@pytest.fixture
def client() -> Iterator[AgentClient]:
    opened = Wire()
    connected = AgentClient(opened.answers, opened.requests)
    yield connected
    connected.close()
    assert connected.join(10)
    opened.thread.join(10)
    opened.answers.close()


BAD_LINES = [
    b"nonsense",
    b"{",
    b"[]",
    b"null",
    b'{"id":"x","verb":"hello"}',
    b'{"verb":"hello"}',
    b'{"id":1}',
    b'{"id":1,"verb":"hello","more":1}',
    b'{"id":1,"verb":"hello","args":[]}',
    b'{"id":1,"verb":"hello","args":{"unknown":1}}',
    b'{"id":1,"verb":"no.such.verb"}',
    b'{"id":1e400,"verb":"hello"}',
    b"\xff\xfe",
    b"[" * 100_000,
]


@pytest.mark.parametrize("line", BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_malformed_line_is_answered_and_does_not_end_the_agent(wire: Wire, line: bytes) -> None:
    assert wire.ask(line)["error"]["kind"] in {"protocol", "usage"}
    assert wire.ask(b'{"id":2,"verb":"hello"}')["ok"]["host"] == "h"


@settings(max_examples=200)
@given(st.binary(max_size=300).filter(lambda raw: b"\n" not in raw and raw.strip()))
def test_any_line_is_answered(line: bytes) -> None:
    opened = Wire()
    assert "error" in opened.ask(line)
    opened.close()


def test_an_endless_line_is_refused_whole(monkeypatch: pytest.MonkeyPatch, wire: Wire) -> None:
    monkeypatch.setattr("app.agent.server.MAX_LINE", 100)
    assert wire.ask(b"x" * 1000)["error"]["message"] == "A request line is too long."
    assert wire.ask(b'{"id":2,"verb":"hello"}')["id"] == 2
    assert MAX_LINE > 2**20


def test_reserved_verbs_have_their_place(wire: Wire) -> None:
    for verb in RESERVED_VERBS:
        answer = wire.ask(json.dumps({"id": 1, "verb": verb}).encode())
        assert answer["error"]["kind"] == "unavailable"
    assert not RESERVED_VERBS & set(VERBS)


def test_an_id_in_use_is_refused(wire: Wire) -> None:
    request = b'{"id":7,"verb":"stats.watch","args":{"mount_point":"/m"}}'
    assert wire.ask(request)["event"]["read_bytes_per_s"] == 5e9
    assert "still running" in wire.ask(request)["error"]["message"]
    assert wire.ask(b'{"id":8,"verb":"cancel","args":{"id":7}}')
    assert wire.next()["id"] in {7, 8}


def test_result_events_error_and_bug_reach_the_caller(client: AgentClient) -> None:
    assert client.submit("hello").result(10) == HELLO

    events: list[StatsSample] = []
    seen = threading.Event()

    def take(event: StatsSample) -> None:
        events.append(event)
        seen.set()

    call = client.submit("stats.watch", WatchArgs(mount_point="/m"), take)
    assert seen.wait(10)
    call.cancel()
    with pytest.raises(AppError) as cancelled:
        call.result(10)
    assert cancelled.value.kind is ErrorKind.CANCELLED
    assert events == [SAMPLE]

    with pytest.raises(AppError) as busy:
        client.submit("mounts.unmount", UnmountArgs(mount_point="/m")).result(10)
    assert (busy.value.kind, busy.value.hint, busy.value.detail) == (ErrorKind.BUSY, "Close it.", "raw")


def test_a_bug_is_told_with_its_traceback(client: AgentClient, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(AppError) as bug:
        client.submit("mounts.list", ListArgs()).result(10)
    assert bug.value.kind is ErrorKind.INTERNAL
    assert "RuntimeError: seven" in bug.value.detail
    assert bug.value.exit_code == 70
    caplog.clear()


def test_closing_fails_what_runs_and_later_requests(client: AgentClient) -> None:
    call = client.submit("stats.watch", WatchArgs(mount_point="/m"))
    client.close()
    for dead in (call, client.submit("hello")):
        with pytest.raises(AppError, match="agent ended"):
            dead.result(10)


def test_noise_on_the_line_is_passed_over() -> None:
    read, write = os.pipe()
    sink_read, sink_write = os.pipe()
    closed = threading.Event()
    reader = os.fdopen(read, "rb")
    client = AgentClient(reader, os.fdopen(sink_write, "wb", buffering=0), on_close=closed.set)
    call = client.submit("hello")
    ok = msgspec.json.encode(HELLO)
    os.write(write, b"[   0.1] kernel says\n\n" + b'{"id":99,"ok":{}}\n' + b'{"id":1,"ok":' + ok + b"}\n")
    assert call.result(10) == HELLO
    broken = client.submit("hello")
    os.write(write, b'{"id":2,"ok":{"protocol":"x"}}\n')
    with pytest.raises(AppError, match="could not be read"):
        broken.result(10)
    os.close(write)
    assert closed.wait(10)
    client.close()
    assert client.join(10)
    reader.close()
    os.close(sink_read)


@given(st.sampled_from(ErrorKind), st.text(), st.text(), st.text())
def test_errors_travel_whole(kind: ErrorKind, message: str, hint: str, detail: str) -> None:
    back = from_body(to_body(AppError(kind, message, hint=hint, detail=detail)))
    assert (back.kind, back.message, back.hint, back.detail) == (kind, message, hint, detail)


def test_an_unknown_kind_of_error_is_kept_in_the_detail() -> None:
    body = msgspec.structs.replace(to_body(AppError(ErrorKind.IO, "m", detail="d")), kind="new-kind")
    assert from_body(body).kind is ErrorKind.INTERNAL
    assert "new-kind" in from_body(body).detail
