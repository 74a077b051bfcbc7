"""Several questions to a server at once, each with its own answer or error."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, overload

from app.discovery.rpc import Deadline, silent
from app.errors import AppError
from app.tasks import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

A = TypeVar("A")
B = TypeVar("B")

#: The parts keep to the deadline themselves; this is for a thread that the system does not let run.
_GRACE_S = 0.2


@overload
def run_parts(
    deadline: Deadline, first: Callable[[], A], second: Callable[[], B], /
) -> tuple[A | AppError, B | AppError]: ...


@overload
def run_parts(deadline: Deadline, /, *parts: Callable[[], A]) -> tuple[A | AppError, ...]: ...


def run_parts(deadline: Deadline, /, *parts: Callable[[], object]) -> tuple[object, ...]:
    """Run each on a thread of its own; return its result, or the AppError that it raised or that is due."""
    futures = [run_in_thread(f"discover-{number}", part) for number, part in enumerate(parts)]
    return tuple(_outcome(future, deadline) for future in futures)


def run_all(deadline: Deadline, parts: Sequence[Callable[[], A]]) -> list[A | AppError]:
    """Do the same for any number of parts."""
    return list(run_parts(deadline, *parts))


def _outcome(future: Future[object], deadline: Deadline) -> object:
    try:
        return future.result(deadline.left() + _GRACE_S)
    except AppError as error:
        return error
    except TimeoutError:
        return silent(deadline.seconds)
