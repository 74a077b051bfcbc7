"""What measures on a host, one at a time."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from app.errors import AppError, ErrorKind
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Generator

#: The beginning of the sentence that refuses the next one.
What = Literal[
    "A test is running",
    "A test is being planned",
    "An experiment is running",
    "The option sets of an experiment are being tried",
]


#: How often who waits looks whether it was cancelled itself.
_LOOK_S = 0.1


class Alone:
    """Lets one verb of a host measure at a time: two at once would measure each other."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._what: What | None = None
        self._token = CancelToken()

    @contextmanager
    def while_it(self, what: What, token: CancelToken) -> Generator[None]:
        """Be the one that measures; wait for another one that is about to end.

        Args:
            what: is done.
            token: of the request.

        Raises:
            AppError: BUSY if another one measures; CANCELLED while it waits.
        """
        with self._changed:
            while self._what is not None:
                if not self._token.cancelled and self._what != "A test is being planned":
                    raise AppError(
                        ErrorKind.BUSY,
                        f"{self._what} here already.",
                        hint="Two at once would measure each other. Wait for it, or cancel it.",
                    )
                token.check()
                self._changed.wait(_LOOK_S)
            self._what, self._token = what, token
        try:
            yield
        finally:
            with self._changed:
                self._what = None
                self._changed.notify()

    def wait(self, timeout: float) -> bool:
        """Wait until nothing measures; return whether that is so after so many seconds at most."""
        with self._changed:
            return self._changed.wait_for(lambda: self._what is None, timeout)
