"""Servers that misbehave, as threads of this process: each question ends in time, with an AppError."""

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import DEADLINE_S, wait_for

from app.discovery import exports, nfs4, rpcbind
from app.discovery.client import ask_exports, ask_versions, idna_name, parse_server_name
from app.discovery.model import ExportedPath, Query
from app.discovery.rpc import Deadline, RpcConnection, opaque, u32, u64
from app.errors import AppError, ErrorKind
from app.tasks import CancelToken, run_in_thread

LAST = 0x8000_0000
Behaviour = Callable[[socket.socket, threading.Event], None]


@contextmanager
def server(behave: Behaviour) -> Generator[int]:
    """A TCP server that treats every connection so; all its threads have ended afterwards."""
    stop = threading.Event()
    threads: list[threading.Thread] = []

    def talk(link: socket.socket) -> None:
        with link:
            link.settimeout(0.05)
            try:
                behave(link, stop)
            except OSError:
                return

    def accept() -> None:
        while not stop.is_set():
            try:
                link, _ = listener.accept()
            except TimeoutError:
                continue
            threads.append(threading.Thread(target=talk, args=(link,)))
            threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        threads.append(threading.Thread(target=accept))
        threads[0].start()
        try:
            yield listener.getsockname()[1]
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def asked(link: socket.socket, stop: threading.Event) -> bytes:
    """Return the record that the client sent, without its mark; b"" if it went away."""
    found = b""
    while not stop.is_set():
        try:
            piece = link.recv(65536)
        except TimeoutError:
            continue
        found += piece
        if not piece:
            return b""
        if len(found) >= 4 and len(found) >= 4 + (int.from_bytes(found[:4], "big") & ~LAST):
            return found[4:]
    return b""


def record(data: bytes) -> bytes:
    return u32(LAST | len(data)) + data


def accepted(question: bytes, state: int, body: bytes = b"") -> bytes:
    return record(question[:4] + u32(1, 0, 0, 0, state) + body)


def silent(link: socket.socket, stop: threading.Event) -> None:
    stop.wait()


def trickle(link: socket.socket, stop: threading.Event) -> None:
    asked(link, stop)
    link.sendall(u32(LAST | 4000))
    while not stop.wait(0.02):
        link.sendall(b"x")


def empty_fragments(link: socket.socket, stop: threading.Event) -> None:
    asked(link, stop)
    while not stop.is_set():
        link.sendall(bytes(4096))


def garbage(link: socket.socket, stop: threading.Event) -> None:
    asked(link, stop)
    link.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 10)


def half(link: socket.socket, stop: threading.Event) -> None:
    link.sendall(record(asked(link, stop)[:4] + bytes(40))[:20])


def huge(link: socket.socket, stop: threading.Event) -> None:
    asked(link, stop)
    link.sendall(u32(0x7FFF_FFFF) + bytes(4096))
    stop.wait()


def other_call(link: socket.socket, stop: threading.Event) -> None:
    asked(link, stop)
    link.sendall(record(u32(1, 1, 0, 0, 0, 0)))


def echo(link: socket.socket, stop: threading.Event) -> None:
    link.sendall(record(asked(link, stop)))


def hang_up(link: socket.socket, stop: threading.Event) -> None:
    del link, stop


@pytest.mark.parametrize(
    ("behave", "kinds"),
    [
        (silent, {ErrorKind.SERVER_SILENT}),
        (trickle, {ErrorKind.SERVER_SILENT}),
        (empty_fragments, {ErrorKind.SERVER_GARBLED}),
        (garbage, {ErrorKind.SERVER_GARBLED}),
        (half, {ErrorKind.SERVER_REFUSED}),
        (huge, {ErrorKind.SERVER_GARBLED}),
        (other_call, {ErrorKind.SERVER_GARBLED}),
        (echo, {ErrorKind.SERVER_GARBLED}),
        (hang_up, {ErrorKind.SERVER_REFUSED}),
    ],
)
def test_whatever_a_server_does_a_call_ends(behave: Behaviour, kinds: set[ErrorKind]) -> None:
    deadline = Deadline(0.4 if ErrorKind.SERVER_SILENT in kinds else 30)
    with (
        server(behave) as port,
        RpcConnection("127.0.0.1", port, "tcp", deadline) as connection,
        pytest.raises(AppError) as caught,
    ):
        connection.call(100003, 3, 0)
    assert caught.value.kind in kinds


def test_datagrams_of_other_calls_do_not_hold_it_up() -> None:
    stop = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
        flood.bind(("127.0.0.1", 0))
        flood.settimeout(5)

        def pour() -> None:
            where = flood.recvfrom(65536)[1]
            while not stop.wait(0.001):
                flood.sendto(b"not what you asked", where)

        pouring = threading.Thread(target=pour)
        pouring.start()
        try:
            deadline = Deadline(0.4)
            with (
                pytest.raises(AppError) as caught,
                RpcConnection("127.0.0.1", flood.getsockname()[1], "udp", deadline) as connection,
            ):
                connection.call(100003, 3, 0)
        finally:
            stop.set()
            pouring.join()
    assert caught.value.kind is ErrorKind.SERVER_SILENT


EXPORTS = (
    u32(1) + opaque(b"/srv/my files") + u32(1) + opaque(b"10.0.0.0/8") + u32(0)
    + u32(1) + opaque(b"/home") + u32(1) + opaque(b"*") + u32(0) + u32(0)
)  # fmt: skip


def old_mountd(link: socket.socket, stop: threading.Event) -> None:
    """It has version 1 only (PROG_MISMATCH 1 1)."""
    while question := asked(link, stop):
        old = int.from_bytes(question[16:20], "big") == 1
        link.sendall(accepted(question, 0, EXPORTS) if old else accepted(question, 2, u32(1, 1)))


def test_an_old_mountd_lists_its_exports_in_version_1() -> None:
    with server(old_mountd) as port, server(hang_up) as other:
        found = ask_exports("127.0.0.1:/srv", CancelToken(), port=other, mount_port=port, rpcbind_port=other)
    assert found.exports == [
        ExportedPath(path="/srv/my files", clients=["10.0.0.0/8"]),
        ExportedPath(path="/home", clients=[]),
    ]
    assert found.root is None
    assert found.root_problem is not None


def test_a_silent_server_is_given_up_at_the_deadline_and_says_so() -> None:
    with server(silent) as port:
        found = ask_exports("127.0.0.1", CancelToken(), port=port, rpcbind_port=port, seconds=0.5)
        table = ask_versions("127.0.0.1", CancelToken(), port=port, rpcbind_port=port, seconds=0.5)
    assert found.exports_problem is not None
    assert found.exports_problem.kind == ErrorKind.SERVER_SILENT
    assert all(not row.offered for row in table.versions)
    assert table.services is None


def refuses_ports(link: socket.socket, stop: threading.Event) -> None:
    """It answers COMPOUND with NFS4ERR_PERM, as Linux does to ordinary ports of an export with “secure”."""
    while question := asked(link, stop):
        link.sendall(accepted(question, 0, u32(1) + opaque(b"") + u32(1, 24, 1)))


def wants_more(link: socket.socket, stop: threading.Event) -> None:
    """It denies the call with AUTH_ERROR and AUTH_TOOWEAK (RFC 5531)."""
    while question := asked(link, stop):
        reply = question[:4] + u32(1, 1, 1, 5)
        link.sendall(u32(LAST | len(reply)) + reply)


@pytest.mark.parametrize("behave", [refuses_ports, wants_more])
def test_a_server_that_wants_a_privileged_port_says_what_works(behave: Behaviour) -> None:
    with server(behave) as port, server(hang_up) as other:
        found = ask_exports("127.0.0.1", CancelToken(), port=port, rpcbind_port=other)
    assert found.root_problem is not None
    assert found.root_problem.kind == ErrorKind.ACCESS_DENIED
    assert "privileged port" in found.root_problem.hint
    assert "A mount is made from one" in found.root_problem.hint


def test_version_4_is_not_missed_over_udp() -> None:
    with server(hang_up) as port:
        found = ask_versions("127.0.0.1", CancelToken(), port=port, rpcbind_port=port)
    notes = {row.version: row.note for row in found.versions if row.transport == "udp"}
    assert "RFC 7530 §3.1" not in notes.pop("3")
    assert len(notes) == 3
    assert all("RFC 7530 §3.1" in note for note in notes.values())


@pytest.mark.parametrize(("usable", "notes"), [(False, 1), (True, 0), (None, 0)])
def test_a_kernel_without_udp_is_told_beside_the_offer(
    usable: bool | None, notes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def support(_release: str) -> tuple[bool | None, str]:
        return usable, "its configuration"

    monkeypatch.setattr("app.discovery.client.udp_support", support)
    with server(hang_up) as port:
        found = ask_versions("127.0.0.1", CancelToken(), port=port, rpcbind_port=port)
    assert len(found.notes) == notes


def test_a_cancelled_question_ends_its_child() -> None:
    reached = threading.Event()

    def behave(_link: socket.socket, stop: threading.Event) -> None:
        reached.set()
        stop.wait()

    token = CancelToken()
    with server(behave) as port:
        answer = run_in_thread(
            "ask", lambda: ask_exports("127.0.0.1", token, port=port, rpcbind_port=port, seconds=60)
        )
        wait_for(reached, "the server to be asked")
        token.cancel()
        with pytest.raises(AppError) as caught:
            answer.result(DEADLINE_S)
    assert caught.value.kind is ErrorKind.CANCELLED


def test_a_deadline_is_checked() -> None:
    with pytest.raises(AppError) as caught:
        ask_exports("127.0.0.1", CancelToken(), seconds=0)
    assert caught.value.kind is ErrorKind.USAGE


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("nas01", "nas01"),
        (" nas01:/srv/my files ", "nas01"),
        ("2001:db8::7", "2001:db8::7"),
        ("[fe80::1%eth0]:/srv", "fe80::1%eth0"),
        ("[::1]", "::1"),
    ],
)
def test_a_server_is_written_in_many_ways(text: str, host: str) -> None:
    assert parse_server_name(text) == host


def test_an_international_name_is_looked_up_in_its_ascii_form() -> None:
    assert idna_name("bücher.example") == "xn--bcher-kva.example"
    with pytest.raises(AppError):
        idna_name("ü" * 70)


class Answering:
    """Stands for a connection whose every call has this answer."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def __enter__(self) -> "Answering":
        return self

    def __exit__(self, *_exc: object) -> None: ...

    def call(self, *_arguments: object) -> bytes:
        return self.body


QUESTION = Query(kind="exports", server="s", addresses=[], mount_port=1)
FSID = u32(1, 1 << 8) + opaque(u64(7) + u64(1))
PAGE = (
    u32(0) + opaque(b"") + u32(3, 24, 0, 9, 0) + FSID + u32(26, 0) + bytes(8)
    + u32(1) + u64(3) + opaque(b"export") + u32(1, 1 << 1 | 1 << 8) + opaque(u32(2) + u64(8) + u64(1))
    + u32(0, 1)
)  # fmt: skip
ROWS = u32(1, 100003, 4, 6, 2049, 0)
NEW_ROWS = u32(1, 100003, 4) + opaque(b"tcp6") + opaque(b"::.8.1") + opaque(b"superuser") + u32(0)


def read_all(body: bytes) -> list[object]:
    """Give the answer to every reader; return what each makes of it, None for an AppError."""
    answering = Answering(body)
    deadline = Deadline(60)

    def connect(*_arguments: object) -> Answering:
        return answering

    with (
        patch.object(exports, "RpcConnection", connect),
        patch.object(rpcbind, "RpcConnection", connect),
    ):
        readers: list[Callable[[], object]] = [
            lambda: exports.mount_exports("127.0.0.1", QUESTION, deadline),
            lambda: rpcbind.registered("127.0.0.1", 111, deadline),
            lambda: rpcbind.registered("::1", 111, deadline),
            lambda: rpcbind.find_port("127.0.0.1", 111, 100005, 3, deadline),
            lambda: rpcbind.find_port("::1", 111, 100005, 3, deadline),
            lambda: nfs4.read_directory(answering, ()),  # type: ignore[arg-type]
            lambda: nfs4.minor_status(answering, 1),  # type: ignore[arg-type]
        ]
        return [outcome(reader) for reader in readers]


def outcome(reader: Callable[[], object]) -> object:
    try:
        return reader()
    except AppError:
        return None


@given(st.binary(max_size=400))
def test_arbitrary_answers_are_errors_at_worst(body: bytes) -> None:
    read_all(body)


@given(st.sampled_from([EXPORTS, PAGE, ROWS, NEW_ROWS]), st.integers(0, 400), st.binary(max_size=8))
def test_damaged_answers_are_errors_at_worst(body: bytes, at: int, damage: bytes) -> None:
    at %= len(body)
    read_all(body[:at] + damage + body[at + len(damage) :])
    read_all(body[:at])


def test_whole_answers_are_read() -> None:
    assert read_all(EXPORTS)[0] == [
        ExportedPath(path="/srv/my files", clients=["10.0.0.0/8"]),
        ExportedPath(path="/home"),
    ]
    assert read_all(ROWS)[1] == [rpcbind.Registration(100003, 4, "tcp", 2049)]
    assert read_all(NEW_ROWS)[2] == [rpcbind.Registration(100003, 4, "tcp", 2049, 6)]
    page = nfs4.read_directory(Answering(PAGE), ())  # type: ignore[arg-type]
    assert page.end
    assert page.entries == [nfs4.DirectoryEntry(b"export", 2, (8, 1))]
