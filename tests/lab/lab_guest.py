"""Shared guest of the lab's tests, as one test uses it: requests, and waits whose errors report the state.

Every wait of a test uses this module. All waits have one deadline, which is far longer than any expected
event
takes on a busy machine. The message of a failed wait has the expected event, the last events of the test,
whether the guest still answers, and the guest's report.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import time
from collections import deque
from concurrent.futures import wait as wait_for_futures
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lab_verbs import FaultArgs

from app.errors import AppError, ErrorKind
from app.lab import guest
from app.lab.guest import Guest
from app.links import parse_link
from app.service.protocol import LinkArgs, UnmountArgs

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from advisor.facts import LinkFacts
    from app.service.client import Call
    from app.service.protocol import HelloResult

T = TypeVar("T")

# Guests that tests boot, also through the window, answer the verbs of lab_verbs.
guest.INIT = (str(Path(__file__).with_name("guest_init.py")),)

LINK = "fast-ethernet"
#: Deadline of every wait, s: a request that takes 20 s on an idle machine takes 100 s under load.
DEADLINE_S = 240.0
#: Time within which a living guest answers ``hello``, s.
HELLO_S = 30.0
#: Longer than any wait within a test, whose own message says more, s.
TEST_TIMEOUT_S = 900
_POLL_S = 0.05
_LAST_EVENTS = 12
_EVENT_CHARACTERS = 300
#: Arguments that undo each fault.
_UNDO = {
    "link-down": "link-up",
    "server-stop": "server-start",
    "export-ro": "export-rw",
    "export-squash": "export-rw",
    "export-secure": "export-rw",
    "export-none": "export-rw",
    "export-replaced": "export-rw",
    "fill": "unfill",
    "disk-slow": "disk-quick",
}


class NoAnswerError(AssertionError):
    """An expected event did not occur in time; the message has the event and the observed state."""


class Pending:
    """Running request of a test.

    Attributes:
        id: id of the request on the connection.
        future: future of the result.
    """

    def __init__(self, lab: LabGuest, call: Call, what: str) -> None:
        self._lab = lab
        self._call = call
        self.what = what
        self.id = call.id
        self.future = call.future

    def cancel(self) -> None:
        """Ask the agent to cancel the request."""
        self._call.cancel()

    def result(self, deadline_s: float = DEADLINE_S) -> Any:
        """Wait for the result of the request.

        Raises:
            AppError: the error that the agent answered.
            NoAnswerError: if no answer arrives before the deadline.
        """
        if self._lab.given_up:
            deadline_s = min(deadline_s, _POLL_S)
        try:
            return self._call.result(deadline_s)
        except TimeoutError:
            raise NoAnswerError(self._lab.tell(f"the answer to {self.what}", deadline_s)) from None

    def still_runs_after(self, seconds: float) -> bool:
        """Whether the request is still running after this time, s."""
        return not wait_for_futures([self.future], seconds).done


class LabGuest:
    """Guest as one test uses it.

    Attributes:
        guest: the running guest.
        given_up: whether the guest no longer answers; later waits fail at once then.
    """

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self.given_up = False
        self._began = time.monotonic()
        self._events: deque[str] = deque(maxlen=_LAST_EVENTS)
        self._undo: list[str] = []
        self._link = LINK

    @property
    def share(self) -> str:
        """Export of the guest's server, server:/export."""
        return self.guest.share

    @property
    def hello(self) -> HelloResult:
        """Greeting of the agent: its version and facts of the host."""
        return self.guest.hello

    def submit(self, verb: str, args: Any = None, on_event: Callable[[Any], None] | None = None) -> Pending:
        """Start a request; its events are recorded for the message of a failed wait."""
        what = f"{verb} {args!r}"[:_EVENT_CHARACTERS]
        self._note(f"asked {what}")

        def take(event: Any) -> None:
            self._note(f"{verb}: {event!r}")
            if on_event is not None:
                on_event(event)

        call = self.guest.client.submit(verb, args, take)
        call.future.add_done_callback(lambda future: self._note(f"{verb} ended: {_outcome(future)}"))
        return Pending(self, call, what)

    def ask(
        self, verb: str, args: Any = None, on_event: Callable[[Any], None] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> Any:  # fmt: skip
        """Send a request and return its result; errors are those of :meth:`Pending.result`."""
        return self.submit(verb, args, on_event).result(deadline_s)

    def wait(self, event: threading.Event, what: str, call: Pending | None = None) -> None:
        """Wait until an event is set.

        Args:
            event: event that the test's listener sets.
            what: description of the event, for the message.
            call: request that produces the event; its end ends the wait.

        Raises:
            NoAnswerError: if the event is not set before the deadline or the end of the request.
        """
        end = time.monotonic() + DEADLINE_S
        while not event.wait(_POLL_S):
            if call is not None and call.future.done() and not event.is_set():
                raise NoAnswerError(self.tell(f"{what}, but {call.what} ended before", 0))
            if time.monotonic() > end:
                raise NoAnswerError(self.tell(what, DEADLINE_S))

    def next(self, arrivals: queue.Queue[T], what: str) -> T:
        """Return the next item of a queue.

        Args:
            arrivals: queue that the test's listener fills.
            what: description of the items, for the message.

        Raises:
            NoAnswerError: if no item arrives before the deadline.
        """
        try:
            return arrivals.get(timeout=DEADLINE_S)
        except queue.Empty:
            raise NoAnswerError(self.tell(what, DEADLINE_S)) from None

    def until(self, look: Callable[[], T], what: str) -> T:
        """Poll a condition until it is true, and return its value.

        It is for states without an event. Each poll is a request, or takes about as long as one.

        Raises:
            NoAnswerError: if it stays false; the message has its last value.
        """
        end = time.monotonic() + DEADLINE_S
        while not (seen := look()):
            if time.monotonic() > end:
                raise NoAnswerError(self.tell(f"{what}; last seen: {seen!r}", DEADLINE_S))
            time.sleep(_POLL_S)
        return seen

    def unmount_when_free(self, mount_point: str) -> None:
        """Unmount as soon as no process uses the mount.

        A cancelled copy answers at once, but its killed process keeps its file open until the kernel has sent
        the
        pending data.
        """

        def unmounted() -> bool:
            try:
                self.ask("mounts.unmount", UnmountArgs(mount_point=mount_point))
            except AppError as error:
                if error.kind is not ErrorKind.BUSY:
                    raise
                return False
            return True

        self.until(unmounted, f"{mount_point} to be free")

    def link(self, name: str) -> LinkFacts:
        """Switch the link; :meth:`set_back` restores it."""
        self._link = name
        facts: LinkFacts = self.ask("lab.link", LinkArgs(link=name))
        return facts

    def fault(self, name: str, free_bytes: int = 0) -> None:
        """Make a fault, or undo one; :meth:`set_back` undoes the remaining ones."""
        undo = _UNDO.get(name)
        if undo is not None:
            self._undo.append(undo)
        self.ask("lab.fault", FaultArgs(fault=name, bytes=free_bytes))
        if undo is None:
            self._undo = [each for each in self._undo if each != name]

    def set_back(self) -> None:
        """Undo the remaining faults, last one first, and restore the link."""
        for undo in dict.fromkeys(reversed(self._undo)):
            self.fault(undo)
        if self._link != LINK:
            self.link(LINK)

    def answers(self) -> bool:
        """Whether the guest answers ``hello`` in time; if not, later waits fail at once."""
        if self.given_up:
            return False
        try:
            self.guest.client.submit("hello").result(HELLO_S)
        except (AppError, TimeoutError):
            self.given_up = True
        return not self.given_up

    def tell(self, what: str, seconds: float) -> str:
        """Return the report for the message of a failed wait."""
        words = "answers" if self.answers() else f"does not say hello within {HELLO_S:.0f} s"
        return f"Waited {seconds:.0f} s for {what}. The guest {words}.\n{self.remains()}"

    def remains(self) -> str:
        """Return the last events of this test and the guest's report."""
        events = "\n".join(list(self._events)) or "none"
        try:
            report = self.guest.write_report("A test failed.").read_text()
        except (AppError, OSError, ValueError):  # it was closed, or there is no home to write in
            report = self.guest.log
        return f"Last events of the test:\n{events}\nThe guest ({self.guest.state}):\n{report}"

    def _note(self, text: str) -> None:
        self._events.append(f"{time.monotonic() - self._began:7.2f} s  {text}"[:_EVENT_CHARACTERS])


class SharedGuest:
    """Guest that the tests share: it is checked before each test, and replaced if it does not answer."""

    def __init__(self) -> None:
        self._guest: Guest | None = None

    def live(self) -> Guest:
        """Return a guest that answers: the current one or a new one."""
        if self._guest is not None and not LabGuest(self._guest).answers():
            self.discard()
        if self._guest is None:
            self._guest = Guest.boot(parse_link(LINK), timeout_s=DEADLINE_S)
        return self._guest

    def discard(self) -> None:
        """End the guest, by a kill if it does not answer; the next test gets a new one."""
        guest, self._guest = self._guest, None
        if guest is None:
            return
        if not LabGuest(guest).answers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(guest.pid, signal.SIGTERM)
        guest.close()


def _outcome(future: Any) -> str:
    error = future.exception()
    return repr(error) if error is not None else repr(future.result())
