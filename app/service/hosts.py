"""Hosts: a local agent in a child process, or the verbs inside this process for the command line."""

from __future__ import annotations

import io
import itertools
import sys
from typing import TYPE_CHECKING, Any, cast

from app.errors import AppError, ErrorKind, internal_error
from app.process import kill_group, start_connected, wait
from app.service.client import AgentClient, Call
from app.service.protocol import VERBS, Empty
from app.service.server import Context
from app.service.transport import PipeTransport
from app.tasks import CancelToken, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from app.service.verbs import HostVerbs

#: Time an agent gets to clean up after its input ended, s; it may roll back an unconfirmed change.
_EXIT_WAIT_S = 60.0


class LocalAgent:
    """An agent of this computer in a child process.

    Attributes:
        client: connection to the agent.
    """

    def __init__(self) -> None:
        self._child = start_connected([sys.executable, "-P", "-m", "app.service"])
        # The socket is unbuffered, and a raw stream would read lines byte by byte.
        self._out = io.BufferedReader(cast("io.RawIOBase", self._child.stdout))
        self.client = AgentClient(PipeTransport(self._out, cast("BinaryIO", self._child.stdin)))

    def close(self) -> None:
        """Close the agent's input, wait until it has cleaned up, and kill it after a timeout."""
        self.client.close()
        if wait(self._child, _EXIT_WAIT_S) is None:
            kill_group(self._child)
            wait(self._child, 1)
        self.client.join(1)
        self._out.close()


class InProcessHost:
    """The verbs run inside this process, with the interface :class:`app.service.client.Host`."""

    def __init__(self, services: HostVerbs) -> None:
        self._services = services
        self._handlers = services.handlers()
        self._ids = itertools.count(1)
        #: Cancel tokens of the running requests.
        self._tokens: set[CancelToken] = set()

    def submit(self, verb: str, args: Any = None, on_event: Callable[[Any], None] | None = None) -> Call:
        """Start a request on its own thread."""
        call = Call(next(self._ids), verb, on_event)
        handler = self._handlers.get(verb)
        if handler is None:
            known = verb in VERBS
            kind = ErrorKind.UNAVAILABLE if known else ErrorKind.USAGE
            call.fail(AppError(kind, f"“{verb}” is not available on this host."))
            return call
        token = CancelToken()
        self._tokens.add(token)
        call.bind(token.cancel)
        context = Context(token, call.tell, call.id)

        def work() -> None:
            try:
                call.succeed(handler(Empty() if args is None else args, context))
            except AppError as error:
                call.fail(error)
            except Exception as error:  # noqa: BLE001 - reported as a bug, with its traceback
                call.fail(internal_error(error))
            finally:
                self._tokens.discard(token)

        run_in_thread(f"host-{verb}", work)
        return call

    def close(self) -> None:
        """Cancel the running requests and close the verbs."""
        for token in list(self._tokens):
            token.cancel()
        self._services.close()
