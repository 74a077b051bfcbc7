"""Background work without asyncio: daemon threads, futures and a cancel token.

Threads are daemons on purpose: a ``ThreadPoolExecutor`` joins its workers at exit, and one that is
stuck behind a dead server would hold the program.
"""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

from app.errors import AppError, ErrorKind

T = TypeVar("T")


class CancelledError(AppError):
    """Raised inside work whose CancelToken was set."""

    def __init__(self, message: str = "Cancelled.") -> None:
        super().__init__(ErrorKind.CANCELLED, message)


class CancelToken:
    """A flag that one thread sets and the working thread looks at.

    Callbacks added with :meth:`on_cancel` run once, in the thread that cancels; they must be quick
    (kill a child, close a pipe).
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """Whether the token was set."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Set the token and run its callbacks; later calls do nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    @contextlib.contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Generator[None]:
        """Run the callback at a cancellation within this context, at once if that is past."""
        with self._lock:
            past = self._event.is_set()
            if not past:
                self._callbacks.append(callback)
        if past:
            callback()
        try:
            yield
        finally:
            # One token serves thousands of trials: what each one held would stay to the end.
            with self._lock, contextlib.suppress(ValueError):
                self._callbacks.remove(callback)

    def check(self) -> None:
        """Raise CancelledError if the token is set."""
        if self._event.is_set():
            raise CancelledError

    def wait(self, seconds: float) -> None:
        """Sleep this long; raise CancelledError as soon as the token is set."""
        if self._event.wait(seconds):
            raise CancelledError


def run_in_thread(name: str, work: Callable[[], T]) -> Future[T]:
    """Run the work on a daemon thread of its own and return the future of its result."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def body() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it travels to whoever waits for the future
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=body, name=name, daemon=True).start()
    return future
