"""Bridge to the agent and to worker threads: their results become Qt signals on the main thread.

Other threads only put a closure into a queue and write to an eventfd(2), which the event loop of the main
thread watches. They never touch Qt objects, which the main thread may delete at any time. Every signal of
a :class:`BridgeCall` is emitted on the main thread. :class:`LatestCall` ignores the answer of a request
that a newer one has replaced.
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
    #: Function that runs blocking work on a thread, such as `Bridge.run`; takes a name and the work.
    RunInThread = Callable[[str, Callable[[], Any]], "BridgeCall"]


#: Time from the cancellation of a request until it is overdue, ms.
OVERDUE_MS = 5000


class BridgeCall(QObject):
    """A pending request to the agent, or pending work of a thread.

    Signals:
        progressed: the agent sent an event (the event type of the verb).
        succeeded: the request ended with this result.
        failed: the request ended with this AppError.
        finished: the request ended; emitted exactly once, after ``succeeded`` or ``failed``.
        overdue: the request has not ended within `OVERDUE_MS` of its cancellation, and may be abandoned.
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
        self._overdue_timer = QTimer(self)
        self._overdue_timer.setSingleShot(True)
        self._overdue_timer.timeout.connect(self.overdue)

    @property
    def id(self) -> int | None:
        """Number of the request in the agent's protocol, None for work of a thread."""
        return self._call.id if self._call is not None else None

    @property
    def done(self) -> bool:
        """Whether the request has ended."""
        return self._done

    def bind(self, call: Call) -> None:
        """Set the request that :meth:`cancel` cancels."""
        self._call = call

    def cancel(self) -> None:
        """Ask the agent to end the request, without waiting; it then fails with ErrorKind.CANCELLED."""
        if self._call is None or self._done:
            return
        self._call.cancel()
        if not self._cancelled:
            self._cancelled = True
            self._overdue_timer.start(OVERDUE_MS)

    def abandon(self) -> None:
        """Fail now with ErrorKind.CANCELLED, even if the agent still works on the request."""
        self._fail(AppError(ErrorKind.CANCELLED, "Abandoned: it may still be ending in the background."))

    def deliver(self, event: Any) -> None:
        """Emit an event of the request; called by the bridge."""
        if not self._done:
            self.progressed.emit(event)

    def complete(self, future: Future[Any]) -> None:
        """Emit the result or the error of a finished future; called by the bridge."""
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
        self._overdue_timer.stop()
        self.finished.emit()
        self.deleteLater()


class Bridge(QObject):
    """Creates :class:`BridgeCall` objects and delivers results to them; one per window."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        #: Guards the eventfd: after its close, another file may get its descriptor number.
        self._lock = threading.Lock()
        self._closed = False
        self._eventfd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._close_eventfd = weakref.finalize(self, os.close, self._eventfd)
        self._notifier = QSocketNotifier(self._eventfd, QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._drain)

    def submit(self, host: Host, verb: str, args: Any = None) -> BridgeCall:
        """Send a request to the agent of a host.

        Args:
            host: client of the agent.
            verb: name of the request in the protocol.
            args: arguments of the verb, None for a verb without arguments.
        """
        bridge_call = BridgeCall(self)
        call = host.submit(verb, args, lambda event: self.post(lambda: _deliver(bridge_call, event)))
        bridge_call.bind(call)
        self._follow(call.future, bridge_call)
        return bridge_call

    def run(self, name: str, work: Callable[[], Any]) -> BridgeCall:
        """Run blocking work on a new daemon thread with this name."""
        return self.follow(run_in_thread(name, work))

    def follow(self, future: Future[Any]) -> BridgeCall:
        """Return a call that ends, on the main thread, with the result of a future."""
        bridge_call = BridgeCall(self)
        self._follow(future, bridge_call)
        return bridge_call

    def close(self) -> None:
        """Stop delivering results."""
        with self._lock:
            self._closed = True
            if shiboken6.isValid(self._notifier):
                self._notifier.setEnabled(False)
            self._close_eventfd()

    def _follow(self, future: Future[Any], bridge_call: BridgeCall) -> None:
        future.add_done_callback(lambda done: self.post(lambda: _complete(bridge_call, done)))

    def post(self, closure: Callable[[], None]) -> None:
        """Run a closure on the main thread; may be called from any thread."""
        with self._lock:
            if not self._closed:
                self._queue.put(closure)
                os.eventfd_write(self._eventfd, 1)

    @Slot()
    def _drain(self) -> None:
        if not self._closed:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(self._eventfd)
        while not self._closed:
            try:
                closure = self._queue.get_nowait()
            except queue.Empty:
                return
            closure()


def _deliver(bridge_call: BridgeCall, event: Any) -> None:
    if shiboken6.isValid(bridge_call):
        bridge_call.deliver(event)


def _complete(bridge_call: BridgeCall, future: Future[Any]) -> None:
    if shiboken6.isValid(bridge_call):
        bridge_call.complete(future)


def ignore(_result: Any) -> None:
    """Ignore a result or an error; the default callback."""


class LatestCall:
    """The latest request of a kind; results of older requests are ignored.

    Args:
        submit: sends a request to the agent; raises AppError without a host.
    """

    def __init__(self, submit: Callable[[str, Any], BridgeCall]) -> None:
        self._submit = submit
        self._call: BridgeCall | None = None

    @property
    def is_pending(self) -> bool:
        """Whether the latest request has not ended."""
        return self._call is not None

    def ask(
        self,
        verb: str,
        args: Any,
        answered: Callable[[Any], Any],
        failed: Callable[[AppError], Any] = ignore,
        progressed: Callable[[Any], Any] | None = None,
    ) -> bool:
        """Send a request, and ignore the result of an older one.

        Args:
            verb: name of the request in the protocol.
            args: arguments of the verb.
            answered: called with the result.
            failed: called with the AppError, also if the request could not be sent.
            progressed: called with each event before the end.

        Returns:
            Whether the request was sent.
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
        """Make a call that already runs the latest one; the callbacks are those of :meth:`ask`."""
        self._call = call
        if progressed is not None:
            call.progressed.connect(partial(self._forward, call, progressed))
        call.succeeded.connect(partial(self._end, call, answered))
        call.failed.connect(partial(self._end, call, failed))

    def reset(self) -> None:
        """Ignore the result of the pending request, which the agent still carries out."""
        self._call = None

    def cancel(self) -> None:
        """Cancel the pending request and ignore its result."""
        call, self._call = self._call, None
        if call is not None:
            call.cancel()

    def interrupt(self) -> None:
        """Cancel the pending request, and still report its end to the callbacks."""
        if self._call is not None:
            self._call.cancel()

    def _forward(self, call: BridgeCall, callback: Callable[[Any], Any], event: Any) -> None:
        if call is self._call:
            callback(event)

    def _end(self, call: BridgeCall, callback: Callable[[Any], Any], result: Any) -> None:
        if call is self._call:
            self._call = None
            callback(result)
