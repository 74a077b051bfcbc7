"""The latest request of a kind: a newer one replaces it, and the answer of an older one is ignored."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from app.errors import AppError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ui.common.bridge import BridgeCall


def ignore(_result: Any) -> None:
    """Do nothing with an answer or an error."""


class LatestCall:
    """Holds at most one request under way, and passes on only what that one says.

    Args:
        submit: sends a request to the agent; AppError where the host is gone.
    """

    def __init__(self, submit: Callable[[str, Any], BridgeCall]) -> None:
        self._submit = submit
        self._call: BridgeCall | None = None

    @property
    def is_pending(self) -> bool:
        """Whether an answer is waited for."""
        return self._call is not None

    def ask(
        self,
        verb: str,
        args: Any,
        answered: Callable[[Any], Any],
        failed: Callable[[AppError], Any] = ignore,
        progressed: Callable[[Any], Any] | None = None,
    ) -> bool:
        """Send a request; an older one is no longer waited for.

        Args:
            verb: of the protocol.
            args: its arguments.
            answered: called with the result.
            failed: called with the AppError, also where the request could not be sent.
            progressed: called with each event before.

        Returns:
            Whether it was sent.
        """
        self._call = None
        try:
            call = self._submit(verb, args)
        except AppError as error:
            failed(error)
            return False
        self.follow(call, answered, failed, progressed)
        return True

    def follow(
        self,
        call: BridgeCall,
        answered: Callable[[Any], Any],
        failed: Callable[[AppError], Any] = ignore,
        progressed: Callable[[Any], Any] | None = None,
    ) -> None:
        """Wait for work that was started elsewhere, as for a request."""
        self._call = call
        if progressed is not None:
            call.progressed.connect(partial(self._pass_on, call, progressed))
        call.succeeded.connect(partial(self._end, call, answered))
        call.failed.connect(partial(self._end, call, failed))

    def forget(self) -> None:
        """Ignore the answer of the request under way; the agent still carries it out."""
        self._call = None

    def cancel(self) -> None:
        """Have the agent end the request under way, and ignore its answer."""
        call, self._call = self._call, None
        if call is not None:
            call.cancel()

    def interrupt(self) -> None:
        """Have the agent end the request under way, and wait for what it says of that."""
        if self._call is not None:
            self._call.cancel()

    def _pass_on(self, call: BridgeCall, then: Callable[[Any], Any], event: Any) -> None:
        if call is self._call:
            then(event)

    def _end(self, call: BridgeCall, then: Callable[[Any], Any], result: Any) -> None:
        if call is self._call:
            self._call = None
            then(result)
