"""Waits of tests: for an event, with one deadline far beyond what any takes on a busy machine."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

#: A test that meets it has found something that does not come at all. In a window's test the longest wait
#: for what the window does takes 2 s on a quiet machine.
DEADLINE_S = 100.0
DEADLINE_MS = int(DEADLINE_S * 1000)


def wait_for(event: threading.Event, what: str, saw: Callable[[], object] | None = None) -> None:
    """Wait until an event is set.

    Args:
        event: set by what the test listens to.
        what: the event in words.
        saw: what there is to see if it does not come.

    Raises:
        AssertionError: if it is not set within the deadline.
    """
    if not event.wait(DEADLINE_S):
        seen = f"; seen: {saw()!r}" if saw is not None else ""
        raise AssertionError(f"waited {DEADLINE_S:.0f} s for {what}{seen}")


def source_of(fact: Callable[[], object]) -> str:
    """Return the code of a fact that is waited for, which names it best."""
    try:
        text = " ".join(inspect.getsource(fact).split())
    except (OSError, TypeError):  # a method of Qt has none
        return repr(fact)
    return text.partition("lambda: ")[2] or text
