"""Background work without asyncio: daemon threads, futures and a cancel token.

Threads are daemons on purpose: a ``ThreadPoolExecutor`` joins its workers at exit, so a worker that is
blocked by a dead server would keep the program from exiting.
"""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

from app.errors import CancelledError

T = TypeVar("T")


class CancelToken:
    """Cancellation flag: one thread sets it, the working thread checks it.

    Callbacks added with :meth:`on_cancel` run once, in the thread that cancels. They must be quick (kill a
    child, close a pipe).
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
        """Set the token and run its callbacks; further calls do nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    @contextlib.contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Generator[None]:
        """Run the callback on a cancellation within this context; at once if the token is already set."""
        with self._lock:
            already_set = self._event.is_set()
            if not already_set:
                self._callbacks.append(callback)
        if already_set:
            callback()
        try:
            yield
        finally:
            # One token serves thousands of trials, so each callback is removed at the end of its context.
            with self._lock, contextlib.suppress(ValueError):
                self._callbacks.remove(callback)

    def check(self) -> None:
        """Raise CancelledError if the token is set."""
        if self._event.is_set():
            raise CancelledError

    def wait(self, seconds: float) -> None:
        """Sleep for ``seconds``; raise CancelledError as soon as the token is set."""
        if self._event.wait(seconds):
            raise CancelledError


def run_in_thread(name: str, work: Callable[[], T]) -> Future[T]:
    """Run the work in a new daemon thread with this name; return the future of its result."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - result() of the future raises it again
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
