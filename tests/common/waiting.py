"""Waits of tests for an event, with one deadline that is far longer than any expected event takes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

#: Deadline of each wait, s. In tests of the window the longest wait takes 2 s on an idle machine.
DEADLINE_S = 100.0
DEADLINE_MS = int(DEADLINE_S * 1000)


def wait_for(event: threading.Event, what: str, saw: Callable[[], object] | None = None) -> None:
    """Wait until an event is set.

    Args:
        event: event that the test's listener sets.
        what: description of the event, for the message.
        saw: function that returns the observed state for the message.

    Raises:
        AssertionError: if the event is not set within the deadline.
    """
    if not event.wait(DEADLINE_S):
        seen = f"; seen: {saw()!r}" if saw is not None else ""
        raise AssertionError(f"waited {DEADLINE_S:.0f} s for {what}{seen}")


def source_of(fact: Callable[[], object]) -> str:
    """Return the source code of a condition, as its description in a message."""
    try:
        text = " ".join(inspect.getsource(fact).split())
    except (OSError, TypeError):  # a method of Qt has none
        return repr(fact)
    return text.partition("lambda: ")[2] or text
