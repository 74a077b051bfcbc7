"""Agent protocol: server and client over real pipes."""

import json
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import DEADLINE_S, wait_for

from app.errors import AppError, ErrorKind
from app.mounts.model import MountTable
from app.service.client import AgentClient
from app.service.hosts import InProcessHost
from app.service.protocol import (
    MAX_LINE,
    Empty,
    HelloResult,
    ListArgs,
    MountArgs,
    UnmountArgs,
)
from app.service.server import AgentServer, Context
from app.service.transport import PipeTransport
from app.stats.model import StatsSample, WatchArgs
from app.tasks import run_in_thread
from app.text.errors import ErrorCode

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


def fail_with_undecodable_text(_args: object, _context: Context) -> None:
    raise AppError(
        ErrorKind.IO, "/mnt/caf\udce9 failed.", hint="Look at caf\udce9.", detail="caf\udce9: busy"
    )


def fail_with_lone_surrogate(_args: object, _context: Context) -> None:
    raise AppError(ErrorKind.IO, "\ud800")


HANDLERS: dict[str, Callable[[Any, Context], Any]] = {
    "hello": hello,
    "stats.watch": watch,
    "mounts.unmount": refuse,
    "mounts.list": crash,
    "tunables.get": fail_with_undecodable_text,
    "discover.forget": fail_with_lone_surrogate,
}


class Wire:
    """Agent server on a thread, with raw access to its request and answer lines."""

    def __init__(self) -> None:
        request_read, request_write = os.pipe()
        answer_read, answer_write = os.pipe()
        self.requests: BinaryIO = os.fdopen(request_write, "wb", buffering=0)
        self.answers: BinaryIO = os.fdopen(answer_read, "rb")
        server_in, server_out = os.fdopen(request_read, "rb"), os.fdopen(answer_write, "wb", buffering=0)

        def serve() -> None:
            AgentServer(PipeTransport(server_in, server_out), HANDLERS).serve()
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
        self.thread.join(DEADLINE_S)
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
    connected = AgentClient(PipeTransport(opened.answers, opened.requests))
    yield connected
    connected.close()
    assert connected.join(DEADLINE_S)
    opened.thread.join(DEADLINE_S)
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


def test_a_line_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch, wire: Wire) -> None:
    monkeypatch.setattr("app.service.server.MAX_LINE", 100)
    assert wire.ask(b"x" * 1000)["error"]["code"] == ErrorCode.REQUEST_TOO_LONG
    assert wire.ask(b'{"id":2,"verb":"hello"}')["id"] == 2
    assert MAX_LINE > 2**20


@pytest.mark.parametrize(
    ("head", "number"),
    [
        (b'{"id":7,"verb":"experiment.run","args":{', 7),
        (b' { "id" : 8 , "verb":"', 8),
        (b'{"verb":"hello","id":9,"args":{', None),
        (b'{"id":1.5,"verb":"', None),
        (b'{"id":' + b"9" * 40 + b',"verb":"', None),
    ],
)
def test_a_request_that_is_too_long_is_answered_with_its_id(
    monkeypatch: pytest.MonkeyPatch, wire: Wire, head: bytes, number: int | None
) -> None:
    monkeypatch.setattr("app.service.server.MAX_LINE", 100)
    answer = wire.ask(head + b"x" * 1000)
    assert (answer["id"], answer["error"]["kind"]) == (number, "protocol")


def test_a_request_that_is_too_long_fails_its_call(
    monkeypatch: pytest.MonkeyPatch, client: AgentClient
) -> None:
    monkeypatch.setattr("app.service.server.MAX_LINE", 1000)
    with pytest.raises(AppError, match="too long"):
        client.submit("mounts.unmount", UnmountArgs(mount_point="/" + "x" * 2000)).result(DEADLINE_S)
    assert client.submit("hello").result(DEADLINE_S) == HELLO


def test_a_request_without_a_thread_does_not_end_the_agent(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse_thread(_name: str, _work: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr("app.service.server.run_in_thread", refuse_thread)
        assert "can't start new thread" in wire.ask(b'{"id":1,"verb":"hello"}')["error"]["params"]["problem"]
    assert wire.ask(b'{"id":1,"verb":"hello"}')["ok"]["host"] == "h"
    caplog.clear()


def test_an_id_in_use_is_refused(wire: Wire) -> None:
    request = b'{"id":7,"verb":"stats.watch","args":{"mount_point":"/m"}}'
    assert wire.ask(request)["event"]["read_bytes_per_s"] == 5e9
    assert wire.ask(request)["error"]["code"] == ErrorCode.REQUEST_ID_IN_USE
    assert wire.ask(b'{"id":8,"verb":"cancel","args":{"id":7}}')
    assert wire.next()["id"] in {7, 8}


def test_result_events_error_and_bug_reach_the_caller(client: AgentClient) -> None:
    assert client.submit("hello").result(DEADLINE_S) == HELLO

    events: list[StatsSample] = []
    seen = threading.Event()

    def on_event(event: StatsSample) -> None:
        events.append(event)
        seen.set()

    call = client.submit("stats.watch", WatchArgs(mount_point="/m"), on_event)
    wait_for(seen, "the event")
    call.cancel()
    with pytest.raises(AppError) as cancelled:
        call.result(DEADLINE_S)
    assert cancelled.value.kind is ErrorKind.CANCELLED
    assert events == [SAMPLE]

    with pytest.raises(AppError) as busy:
        client.submit("mounts.unmount", UnmountArgs(mount_point="/m")).result(DEADLINE_S)
    assert (busy.value.kind, busy.value.hint, busy.value.detail) == (ErrorKind.BUSY, "Close it.", "raw")


class InThisProcess:
    """Fake HostVerbs with the handlers of this file, for use without pipes."""

    def handlers(self) -> dict[str, Callable[[Any, Context], Any]]:
        return HANDLERS

    def close(self) -> None:
        """Do nothing, because there are no helpers to stop."""


@pytest.mark.parametrize("piped", [True, False])
def test_a_listener_that_fails_ends_its_request_alone(client: AgentClient, *, piped: bool) -> None:
    services: Any = InThisProcess()
    host = client if piped else InProcessHost(services)
    heard: list[StatsSample] = []

    def listen(sample: StatsSample) -> None:
        heard.append(sample)
        raise BrokenPipeError("head has gone")

    watched = host.submit("stats.watch", WatchArgs(mount_point="/m"), listen)
    with pytest.raises(BrokenPipeError, match="head has gone"):
        watched.result(DEADLINE_S)
    assert heard == [SAMPLE]
    assert host.submit("hello").result(DEADLINE_S) == HELLO
    if not piped:
        host.close()


def test_an_in_process_host_releases_finished_requests() -> None:
    """Tokens of finished requests are released; a command may send a thousand requests."""
    gone = threading.Event()

    def hello(_args: Empty, context: Context) -> HelloResult:
        weakref.finalize(context.token, gone.set)
        return HELLO

    services: Any = InThisProcess()
    services.handlers = lambda: {"hello": hello}
    host = InProcessHost(services)
    call = host.submit("hello")
    assert call.result(DEADLINE_S) == HELLO
    del call
    wait_for(gone, "the token of the request to be gone")
    host.close()


def test_a_bug_is_reported_with_its_traceback(client: AgentClient, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(AppError) as bug:
        client.submit("mounts.list", ListArgs()).result(DEADLINE_S)
    assert bug.value.kind is ErrorKind.INTERNAL
    assert "RuntimeError: seven" in bug.value.detail
    assert bug.value.exit_code == 70
    caplog.clear()


def test_an_error_with_undecodable_text_is_answered(client: AgentClient) -> None:
    with pytest.raises(AppError) as error:
        client.submit("tunables.get").result(DEADLINE_S)
    texts = (error.value.message, error.value.hint, error.value.detail)
    assert texts == ("/mnt/caf\\xe9 failed.", "Look at caf\\xe9.", "caf\\xe9: busy")
    with pytest.raises(AppError) as half:
        client.submit("discover.forget").result(DEADLINE_S)
    assert half.value.message == "\\ud800"


def test_closing_fails_running_and_later_requests(client: AgentClient) -> None:
    call = client.submit("stats.watch", WatchArgs(mount_point="/m"))
    client.close()
    for dead in (call, client.submit("hello")):
        with pytest.raises(AppError, match="agent ended"):
            dead.result(DEADLINE_S)


def test_noise_on_the_line_is_ignored() -> None:
    read, write = os.pipe()
    sink_read, sink_write = os.pipe()
    closed = threading.Event()
    reader = os.fdopen(read, "rb")
    client = AgentClient(PipeTransport(reader, os.fdopen(sink_write, "wb", buffering=0)), on_close=closed.set)
    call = client.submit("hello")
    ok = msgspec.json.encode(HELLO)
    os.write(write, b"[   0.1] kernel says\n\n" + b'{"id":99,"ok":{}}\n' + b'{"id":1,"ok":' + ok + b"}\n")
    assert call.result(DEADLINE_S) == HELLO
    broken = client.submit("hello")
    os.write(write, b'{"id":2,"ok":{"protocol":"x"}}\n')
    with pytest.raises(AppError, match="could not be read"):
        broken.result(DEADLINE_S)
    os.close(write)
    wait_for(closed, "the client to be told of the end")
    client.close()
    assert client.join(DEADLINE_S)
    reader.close()
    os.close(sink_read)


@pytest.mark.parametrize("event", [b'{"t_s":null}', b'"\xff"', b'{"t_s":"\xff"}', b"[" * 100_000])
def test_an_event_that_cannot_be_read_fails_its_request_alone(event: bytes) -> None:
    read, write = os.pipe()
    sink_read, sink_write = os.pipe()
    reader, sink = os.fdopen(read, "rb"), os.fdopen(sink_read, "rb")
    client = AgentClient(PipeTransport(reader, os.fdopen(sink_write, "wb", buffering=0)))
    watched = client.submit("stats.watch", WatchArgs(mount_point="/m"), lambda _event: None)
    if event.startswith(b"["):  # an invalid line is ignored, so an invalid event follows
        os.write(write, event + b"\n" + b'{"id":1,"event":{}}\n')
    else:
        os.write(write, b'{"id":1,"event":' + event + b"}\n")
    with pytest.raises(AppError, match="could not be read"):
        watched.result(DEADLINE_S)
    os.write(
        write, b'{"id":1,"event":{}}\n{"id":1,"error":{"code":"cancelled.cancelled","kind":"cancelled"}}\n'
    )
    other = client.submit("hello")
    requests = [json.loads(sink.readline()) for _ in range(3)]
    assert [one["verb"] for one in requests] == ["stats.watch", "cancel", "hello"]
    assert requests[1]["args"] == {"id": 1}
    os.write(write, b'{"id":%d,"ok":' % other.id + msgspec.json.encode(HELLO) + b"}\n")
    assert other.result(DEADLINE_S) == HELLO
    client.close()
    os.close(write)
    assert client.join(DEADLINE_S)
    reader.close()
    sink.close()


class SlowLine:
    """Agent input that accepts no bytes until ``open`` is set."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.taken = b""
        self.closed_after = b""

    def write(self, data: memoryview, /) -> int:
        wait_for(self.open, "the writer to be let go")
        self.taken += data[:1000]
        return min(len(data), 1000)

    def flush(self) -> None:
        """Do nothing, because writes are not buffered."""

    def close(self) -> None:
        self.closed_after = self.taken


def test_submit_does_not_wait_for_the_write() -> None:
    read, write = os.pipe()
    reader, line = os.fdopen(read, "rb"), SlowLine()
    client = AgentClient(PipeTransport(reader, cast("BinaryIO", line)))
    call = client.submit("mounts.mount", MountArgs(share="nas:/x", mount_point="/m", options="x" * 100_000))
    call.cancel()
    last = client.submit("hello")
    assert line.taken == b""
    assert not last.future.done()
    closing = run_in_thread("closing", client.close)
    line.open.set()
    closing.result(DEADLINE_S)
    requests = [json.loads(one)["verb"] for one in line.closed_after.splitlines()]
    assert requests == ["mounts.mount", "cancel", "hello"]
    for one in (call, last):
        with pytest.raises(AppError, match="agent ended"):
            one.result(DEADLINE_S)
    os.close(write)
    assert client.join(DEADLINE_S)
    reader.close()


def test_an_agent_that_stopped_reading_does_not_block_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.service.client._WRITE_TIMEOUT_S", 0.1)
    read, write = os.pipe()
    sink_read, sink_write = os.pipe()
    reader = os.fdopen(read, "rb")
    client = AgentClient(PipeTransport(reader, os.fdopen(sink_write, "wb", buffering=0)))
    stuck = client.submit("mounts.mount", MountArgs(share="nas:/x", mount_point="/m", options="x" * 10**6))
    client.close()
    with pytest.raises(AppError, match="agent ended"):
        stuck.result(DEADLINE_S)
    os.close(sink_read)
    os.close(write)
    assert client.join(DEADLINE_S)
    reader.close()


def test_a_name_that_is_not_utf8_fails_its_request_alone(client: AgentClient) -> None:
    with pytest.raises(AppError, match="not UTF-8"):
        client.submit("stats.watch", WatchArgs(mount_point="/mnt/caf\udce9")).result(DEADLINE_S)
    assert client.submit("hello").result(DEADLINE_S) == HELLO


def test_a_request_that_cannot_be_written_fails_with_all_others(client: AgentClient) -> None:
    watched = client.submit("stats.watch", WatchArgs(mount_point="/m"))
    client._transport.close()
    for dead in (client.submit("hello"), watched):
        with pytest.raises(AppError, match="agent ended"):
            dead.result(DEADLINE_S)


@given(st.sampled_from(ErrorKind), st.text(), st.text(), st.text())
def test_errors_survive_encoding(kind: ErrorKind, message: str, hint: str, detail: str) -> None:
    back = AppError(kind, message, hint=hint, detail=detail).data().error()
    assert (back.kind, back.message, back.hint, back.detail) == (kind, message, hint, detail)


def test_the_name_of_an_unknown_error_kind_is_in_the_detail() -> None:
    body = msgspec.structs.replace(AppError(ErrorKind.IO, "m", detail="d").data(), code="new-kind")
    assert body.error().kind is ErrorKind.INTERNAL
    assert "new-kind" in body.error().detail
