"""LatestCall: only the latest of several requests calls its callbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_call import FakeCall

from app.errors import AppError, ErrorKind
from ui.common.bridge import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable


class World:
    """Host whose answers the test emits, and the callbacks that they caused."""

    def __init__(self) -> None:
        self.calls: list[FakeCall] = []
        self.told: list[tuple[str, Any]] = []
        self.error: AppError | None = None
        self.latest = LatestCall(self.submit)  # type: ignore[arg-type]

    def submit(self, _verb: str, _args: Any) -> FakeCall:
        if self.error is not None:
            raise self.error
        self.calls.append(FakeCall())
        return self.calls[-1]

    def ask(self, name: str) -> bool:
        return self.latest.ask("verb", None, self.tell(f"{name} answered"), self.tell(f"{name} failed"),
                               self.tell(f"{name} event"))  # fmt: skip

    def tell(self, what: str) -> Callable[[Any], None]:
        return lambda value: self.told.append((what, value))


@pytest.fixture
def world(qtbot) -> World:
    return World()


GONE = AppError(ErrorKind.UNAVAILABLE, "The host is gone.")


def test_events_and_the_answer_are_passed_on_and_end_it(world: World) -> None:
    assert world.ask("a")
    world.calls[0].progressed.emit(1)
    assert world.latest.is_pending
    world.calls[0].succeeded.emit(2)
    assert not world.latest.is_pending
    world.calls[0].progressed.emit(3)
    assert world.told == [("a event", 1), ("a answered", 2)]


def test_an_error_is_passed_on_and_ends_it(world: World) -> None:
    world.ask("a")
    world.calls[0].failed.emit(GONE)
    assert not world.latest.is_pending
    assert world.told == [("a failed", GONE)]


def test_what_an_older_request_says_is_ignored(world: World) -> None:
    world.ask("a")
    world.ask("b")
    world.calls[0].progressed.emit(1)
    world.calls[0].succeeded.emit(2)
    world.calls[0].failed.emit(GONE)
    assert world.told == []
    assert world.latest.is_pending
    world.calls[1].succeeded.emit(3)
    assert world.told == [("b answered", 3)]


def test_a_request_that_cannot_be_sent_fails_and_replaces_the_older_one(world: World) -> None:
    world.ask("a")
    world.error = GONE
    assert not world.ask("b")
    world.calls[0].succeeded.emit(1)
    assert world.told == [("b failed", GONE)]
    assert not world.latest.is_pending


def test_a_forgotten_one_is_not_cancelled_a_cancelled_one_is_forgotten(world: World) -> None:
    world.ask("a")
    world.latest.reset()
    world.ask("b")
    world.latest.cancel()
    world.latest.cancel()
    for call in world.calls:
        call.failed.emit(GONE)
    assert [call.cancelled for call in world.calls] == [False, True]
    assert world.told == []


def test_an_interrupted_one_still_tells_how_it_ended(world: World) -> None:
    world.latest.interrupt()
    world.ask("a")
    world.latest.interrupt()
    assert world.calls[0].cancelled
    world.calls[0].failed.emit(GONE)
    assert world.told == [("a failed", GONE)]


def test_the_next_request_may_be_sent_by_the_answer(world: World) -> None:
    world.latest.ask("verb", None, lambda _result: world.ask("b"))
    world.calls[0].succeeded.emit(1)
    assert world.latest.is_pending
    world.calls[1].succeeded.emit(2)
    assert world.told == [("b answered", 2)]


def test_the_answer_and_error_that_nobody_asked_for_are_ignored(world: World) -> None:
    world.latest.follow(world.submit("verb", None), world.tell("answered"))  # type: ignore[arg-type]
    world.calls[0].failed.emit(GONE)
    assert world.told == []
    assert not world.latest.is_pending
