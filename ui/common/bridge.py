"""Requests of the window: answers of other threads become signals on the main thread.

Other threads only put a closure into a queue and ring an eventfd(2), which the main thread's event loop
watches. They touch no Qt object, which may be deleted while they do; every signal of a :class:`BridgeCall`
is emitted on the main thread. :class:`LatestCall` ignores the answer of a request that a newer one has
replaced.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import shiboken6
from PySide6.QtCore import QObject, QSocketNotifier, QTimer, Signal, Slot

from app.errors import AppError, ErrorKind, internal_error
from app.tasks import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from app.service.client import Call, Host

if TYPE_CHECKING:
    #: Runs blocking work on a thread: its name and the work; as Bridge.run does.
    RunInThread = Callable[[str, Callable[[], Any]], "BridgeCall"]


#: From a request's cancellation until it is called overdue, milliseconds.
OVERDUE_MS = 5000


class BridgeCall(QObject):
    """A request under way, seen from the window.

    Signals:
        progressed: an event of the request (its verb's event type).
        succeeded: the result.
        failed: the AppError.
        finished: exactly once, after one of the two above.
        overdue: it was cancelled some seconds ago and has not ended; it may be abandoned.
    """

    progressed = Signal(object)
    succeeded = Signal(object)
    failed = Signal(object)
    finished = Signal()
    overdue = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._call: Call | None = None
        self._done = False
        self._cancelled = False
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(self.overdue)

    @property
    def id(self) -> int | None:
        """The number of the request with its agent, None for other work."""
        return self._call.id if self._call is not None else None

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._done

    def bind(self, call: Call) -> None:
        """Say which request :meth:`cancel` ends."""
        self._call = call

    def cancel(self) -> None:
        """Ask the agent to end it; it then fails with the kind "cancelled". Does not wait."""
        if self._call is None or self._done:
            return
        self._call.cancel()
        if not self._cancelled:
            self._cancelled = True
            self._patience.start(OVERDUE_MS)

    def abandon(self) -> None:
        """Wait for it no longer: it fails with the kind "cancelled" now, whatever the agent still does."""
        self._fail(AppError(ErrorKind.CANCELLED, "Abandoned: it may still be ending in the background."))

    def deliver(self, event: Any) -> None:
        """Emit an event; for the bridge."""
        if not self._done:
            self.progressed.emit(event)

    def complete(self, future: Future[Any]) -> None:
        """Emit the end; for the bridge."""
        error = future.exception()
        if error is not None:
            self._fail(error if isinstance(error, AppError) else internal_error(error))
        elif not self._done:
            self._done = True
            self.succeeded.emit(future.result())
            self._finish()

    def _fail(self, error: AppError) -> None:
        if not self._done:
            self._done = True
            self.failed.emit(error)
            self._finish()

    def _finish(self) -> None:
        self._patience.stop()
        self.finished.emit()
        self.deleteLater()


class Bridge(QObject):
    """Makes :class:`BridgeCall` objects and delivers to them. One a window, living on the main thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        #: Held to ring, and to close what is rung: its number may be another file's afterwards.
        self._lock = threading.Lock()
        self._closed = False
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._forget_bell = weakref.finalize(self, os.close, self._bell)
        self._listener = QSocketNotifier(self._bell, QSocketNotifier.Type.Read, self)
        self._listener.activated.connect(self._drain)

    def submit(self, host: Host, verb: str, args: Any = None) -> BridgeCall:
        """Send a request to a host."""
        bridged = BridgeCall(self)
        call = host.submit(verb, args, lambda event: self.post(lambda: _event(bridged, event)))
        bridged.bind(call)
        self._follow(call.future, bridged)
        return bridged

    def run(self, name: str, work: Callable[[], Any]) -> BridgeCall:
        """Run blocking work on a daemon thread of its own."""
        return self.follow(run_in_thread(name, work))

    def follow(self, future: Future[Any]) -> BridgeCall:
        """Bring the end of work that was started elsewhere to the main thread."""
        bridged = BridgeCall(self)
        self._follow(future, bridged)
        return bridged

    def close(self) -> None:
        """Deliver nothing any more."""
        with self._lock:
            self._closed = True
            if shiboken6.isValid(self._listener):
                self._listener.setEnabled(False)
            self._forget_bell()

    def _follow(self, future: Future[Any], bridged: BridgeCall) -> None:
        future.add_done_callback(lambda done: self.post(lambda: _complete(bridged, done)))

    def post(self, closure: Callable[[], None]) -> None:
        """Run a closure on the main thread; may be called from any thread."""
        with self._lock:
            if not self._closed:
                self._queue.put(closure)
                os.eventfd_write(self._bell, 1)

    @Slot()
    def _drain(self) -> None:
        if not self._closed:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._bell)
        while not self._closed:
            try:
                closure = self._queue.get_nowait()
            except queue.Empty:
                return
            closure()


def _event(bridged: BridgeCall, event: Any) -> None:
    if shiboken6.isValid(bridged):
        bridged.deliver(event)


def _complete(bridged: BridgeCall, future: Future[Any]) -> None:
    if shiboken6.isValid(bridged):
        bridged.complete(future)


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

    def reset(self) -> None:
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
