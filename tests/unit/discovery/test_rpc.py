"""RPC client against misbehaving servers: each call ends by its deadline with an AppError."""

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
    """Run a TCP server that calls ``behave`` for each connection; yield its port and join its threads."""
    stop = threading.Event()
    threads: list[threading.Thread] = []

    def handle(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(0.05)
            try:
                behave(connection, stop)
            except OSError:
                return

    def accept() -> None:
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            threads.append(threading.Thread(target=handle, args=(connection,)))
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


def receive_record(connection: socket.socket, stop: threading.Event) -> bytes:
    """Return the next record from the client without its record mark, b"" if it disconnected."""
    found = b""
    while not stop.is_set():
        try:
            data = connection.recv(65536)
        except TimeoutError:
            continue
        found += data
        if not data:
            return b""
        if len(found) >= 4 and len(found) >= 4 + (int.from_bytes(found[:4], "big") & ~LAST):
            return found[4:]
    return b""


def record(data: bytes) -> bytes:
    return u32(LAST | len(data)) + data


def accepted(request: bytes, state: int, body: bytes = b"") -> bytes:
    return record(request[:4] + u32(1, 0, 0, 0, state) + body)


def silent(connection: socket.socket, stop: threading.Event) -> None:
    stop.wait()


def trickle(connection: socket.socket, stop: threading.Event) -> None:
    receive_record(connection, stop)
    connection.sendall(u32(LAST | 4000))
    while not stop.wait(0.02):
        connection.sendall(b"x")


def empty_fragments(connection: socket.socket, stop: threading.Event) -> None:
    receive_record(connection, stop)
    while not stop.is_set():
        connection.sendall(bytes(4096))


def garbage(connection: socket.socket, stop: threading.Event) -> None:
    receive_record(connection, stop)
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 10)


def half(connection: socket.socket, stop: threading.Event) -> None:
    connection.sendall(record(receive_record(connection, stop)[:4] + bytes(40))[:20])


def huge(connection: socket.socket, stop: threading.Event) -> None:
    receive_record(connection, stop)
    connection.sendall(u32(0x7FFF_FFFF) + bytes(4096))
    stop.wait()


def other_call(connection: socket.socket, stop: threading.Event) -> None:
    receive_record(connection, stop)
    connection.sendall(record(u32(1, 1, 0, 0, 0, 0)))


def echo(connection: socket.socket, stop: threading.Event) -> None:
    connection.sendall(record(receive_record(connection, stop)))


def disconnects(connection: socket.socket, stop: threading.Event) -> None:
    del connection, stop


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
        (disconnects, {ErrorKind.SERVER_REFUSED}),
    ],
)
def test_a_call_to_a_misbehaving_server_ends_with_an_error(behave: Behaviour, kinds: set[ErrorKind]) -> None:
    deadline = Deadline(0.4 if ErrorKind.SERVER_SILENT in kinds else 30)
    with (
        server(behave) as port,
        RpcConnection("127.0.0.1", port, "tcp", deadline) as connection,
        pytest.raises(AppError) as caught,
    ):
        connection.call(100003, 3, 0)
    assert caught.value.kind in kinds


def test_unrelated_datagrams_do_not_extend_the_deadline() -> None:
    stop = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
        flood.bind(("127.0.0.1", 0))
        flood.settimeout(5)

        def send_datagrams() -> None:
            client_address = flood.recvfrom(65536)[1]
            while not stop.wait(0.001):
                flood.sendto(b"not what you asked", client_address)

        sender = threading.Thread(target=send_datagrams)
        sender.start()
        try:
            deadline = Deadline(0.4)
            with (
                pytest.raises(AppError) as caught,
                RpcConnection("127.0.0.1", flood.getsockname()[1], "udp", deadline) as connection,
            ):
                connection.call(100003, 3, 0)
        finally:
            stop.set()
            sender.join()
    assert caught.value.kind is ErrorKind.SERVER_SILENT


EXPORTS = (
    u32(1) + opaque(b"/srv/my files") + u32(1) + opaque(b"10.0.0.0/8") + u32(0)
    + u32(1) + opaque(b"/home") + u32(1) + opaque(b"*") + u32(0) + u32(0)
)  # fmt: skip


def old_mountd(connection: socket.socket, stop: threading.Event) -> None:
    """Serve MOUNT version 1 only: answer other versions with PROG_MISMATCH 1 1."""
    while request := receive_record(connection, stop):
        old = int.from_bytes(request[16:20], "big") == 1
        connection.sendall(accepted(request, 0, EXPORTS) if old else accepted(request, 2, u32(1, 1)))


def test_an_old_mountd_lists_its_exports_in_version_1() -> None:
    with server(old_mountd) as port, server(disconnects) as other:
        found = ask_exports("127.0.0.1:/srv", CancelToken(), port=other, mount_port=port, rpcbind_port=other)
    assert found.exports == [
        ExportedPath(path="/srv/my files", clients=["10.0.0.0/8"]),
        ExportedPath(path="/home", clients=[]),
    ]
    assert found.root is None
    assert found.root_problem is not None


def test_a_silent_server_gives_a_timeout_problem() -> None:
    with server(silent) as port:
        found = ask_exports("127.0.0.1", CancelToken(), port=port, rpcbind_port=port, seconds=0.5)
        table = ask_versions("127.0.0.1", CancelToken(), port=port, rpcbind_port=port, seconds=0.5)
    assert found.exports_problem is not None
    assert found.exports_problem.kind == ErrorKind.SERVER_SILENT
    assert all(not row.offered for row in table.versions)
    assert table.services is None


def refuses_ports(connection: socket.socket, stop: threading.Event) -> None:
    """Answer COMPOUND with NFS4ERR_PERM, as Linux does for unprivileged ports and an export with “secure”."""
    while request := receive_record(connection, stop):
        connection.sendall(accepted(request, 0, u32(1) + opaque(b"") + u32(1, 24, 1)))


def denies_calls(connection: socket.socket, stop: threading.Event) -> None:
    """Deny every call with AUTH_ERROR and AUTH_TOOWEAK (RFC 5531)."""
    while request := receive_record(connection, stop):
        reply = request[:4] + u32(1, 1, 1, 5)
        connection.sendall(u32(LAST | len(reply)) + reply)


@pytest.mark.parametrize("behave", [refuses_ports, denies_calls])
def test_a_server_that_requires_a_privileged_port_gives_a_hint(behave: Behaviour) -> None:
    with server(behave) as port, server(disconnects) as other:
        found = ask_exports("127.0.0.1", CancelToken(), port=port, rpcbind_port=other)
    assert found.root_problem is not None
    assert found.root_problem.kind == ErrorKind.ACCESS_DENIED
    assert "privileged port" in found.root_problem.hint
    assert "A mount is made from one" in found.root_problem.hint


def test_a_missing_version_4_over_udp_is_explained() -> None:
    with server(disconnects) as port:
        found = ask_versions("127.0.0.1", CancelToken(), port=port, rpcbind_port=port)
    notes = {row.version: row.note for row in found.versions if row.transport == "udp"}
    assert "RFC 7530 §3.1" not in notes.pop("3")
    assert len(notes) == 3
    assert all("RFC 7530 §3.1" in note for note in notes.values())


@pytest.mark.parametrize(("usable", "notes"), [(False, 1), (True, 0), (None, 0)])
def test_a_kernel_without_nfs_over_udp_adds_a_note(
    usable: bool | None, notes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def support(_release: str) -> tuple[bool | None, str]:
        return usable, "its configuration"

    monkeypatch.setattr("app.discovery.client.udp_support", support)
    with server(disconnects) as port:
        found = ask_versions("127.0.0.1", CancelToken(), port=port, rpcbind_port=port)
    assert len(found.notes) == notes


def test_cancellation_ends_the_query_process() -> None:
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
def test_the_host_of_names_addresses_and_shares(text: str, host: str) -> None:
    assert parse_server_name(text) == host


def test_an_international_name_is_looked_up_in_its_ascii_form() -> None:
    assert idna_name("bücher.example") == "xn--bcher-kva.example"
    with pytest.raises(AppError):
        idna_name("ü" * 70)


class Answering:
    """Fake RPC connection that answers every call with the same body."""

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
    """Decode one reply body with every decoder; return each result, None for an AppError."""
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
def test_random_replies_raise_nothing_but_app_errors(body: bytes) -> None:
    read_all(body)


@given(st.sampled_from([EXPORTS, PAGE, ROWS, NEW_ROWS]), st.integers(0, 400), st.binary(max_size=8))
def test_damaged_replies_raise_nothing_but_app_errors(body: bytes, at: int, damage: bytes) -> None:
    at %= len(body)
    read_all(body[:at] + damage + body[at + len(damage) :])
    read_all(body[:at])


def test_complete_replies_are_decoded() -> None:
    assert read_all(EXPORTS)[0] == [
        ExportedPath(path="/srv/my files", clients=["10.0.0.0/8"]),
        ExportedPath(path="/home"),
    ]
    assert read_all(ROWS)[1] == [rpcbind.Registration(100003, 4, "tcp", 2049)]
    assert read_all(NEW_ROWS)[2] == [rpcbind.Registration(100003, 4, "tcp", 2049, 6)]
    page = nfs4.read_directory(Answering(PAGE), ())  # type: ignore[arg-type]
    assert page.end
    assert page.entries == [nfs4.DirectoryEntry(b"export", 2, (8, 1))]
