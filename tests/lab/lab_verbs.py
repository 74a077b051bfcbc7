"""Verbs of the lab that only tests use, and the agent that answers them in the guest."""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from lab_faults import apply_fault

from advisor.facts import LinkFacts
from app.errors import AppError, ErrorKind
from app.helper_client.client import HelperClient
from app.lab.agent import LabAgent
from app.lab.network import NFS_PORT, SERVER_ADDRESS
from app.service.protocol import VERBS, Empty, Verb

if TYPE_CHECKING:
    from app.service.server import Context, Handler
    from app.tasks import CancelToken

_ATTEMPTS = 9
#: Connection timeout, s; it allows for two retransmissions of a SYN, after 1 s and 3 s.
_CONNECT_S = 5.0


class FaultArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.fault``: inject a fault into the lab's server or link, or undo one.

    Attributes:
        fault: link-down, link-up, server-stop, server-start, export-ro, export-rw, export-squash,
            export-secure (export as NFSv4 root, privileged ports only), export-none (withdraw the export),
            export-replaced (export with another fsid, which makes mounts stale),
            fill (leave ``bytes`` free on the export), unfill, disk-slow (export an empty, slow disk,
            which needs a new mount), disk-quick (export memory again).
        bytes: free bytes that ``fill`` leaves.
    """

    fault: str
    bytes: int = 0


class EchoArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.echo``: return the text unchanged, to test the serial line to the guest."""

    text: str


class HelperArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.helper``: call a verb of the privileged helper inside the guest, without approval."""

    action: str
    verb: str
    args: dict[str, Any]
    timeout_s: float = 60.0


VERBS.update({
    "lab.fault": Verb(FaultArgs, Empty),
    "lab.ping": Verb(Empty, LinkFacts),  # the link with its measured round-trip time
    "lab.echo": Verb(EchoArgs, EchoArgs),
    "lab.helper": Verb(HelperArgs, dict[str, Any]),
})  # fmt: skip


class TestedLabAgent(LabAgent):
    """Agent of a guest with the verbs of the tests."""

    __test__ = False

    def _handlers(self) -> dict[str, Handler]:
        return {
            **super()._handlers(),
            "lab.fault": self._set_fault,
            "lab.ping": self._ping,
            "lab.echo": self._echo,
            "lab.helper": self._call_helper,
        }

    def _set_fault(self, args: FaultArgs, _context: Context) -> Empty:
        with self._change_lock:
            apply_fault(self._server, args.fault, args.bytes)
        return Empty()

    def _ping(self, _args: Empty, context: Context) -> LinkFacts:
        try:
            times = sorted(connect_times(context.token))
        except ConnectionRefusedError as error:
            raise AppError(ErrorKind.SERVER_REFUSED, "The server of the lab refuses.") from error
        except OSError as error:  # no answer, or no route
            raise AppError(ErrorKind.SERVER_SILENT, "The server of the lab does not answer.") from error
        facts = self._link.facts()
        measured = f"measured: {len(times)} TCP connections"
        few = f"{len(times)} TCP connections are too few for it"
        sources = facts.sources | {"rtt_s": f"{measured}, median", "rtt_p95_s": few}
        return replace(facts, rtt_s=times[len(times) // 2], sources=sources)

    def _echo(self, args: EchoArgs, _context: Context) -> EchoArgs:
        return args

    def _call_helper(self, args: HelperArgs, context: Context) -> dict[str, Any]:
        helper = HelperClient(args.action)
        try:
            return helper.call(args.verb, args.args, context.token, args.timeout_s)
        finally:
            helper.close()


def connect_times(token: CancelToken) -> list[float]:
    """Measure the duration of nine TCP connections to the server, s; omit those without an answer.

    Raises:
        OSError: if the server is stopped, or none was answered.
    """
    times: list[float] = []
    for _attempt in range(_ATTEMPTS):
        token.check()
        started = time.monotonic()
        with (
            contextlib.suppress(TimeoutError),
            socket.create_connection((SERVER_ADDRESS, NFS_PORT), timeout=_CONNECT_S),
        ):
            times.append(time.monotonic() - started)
    if not times:
        raise TimeoutError
    return times
