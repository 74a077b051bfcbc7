import threading
import weakref

import pytest
from waiting import DEADLINE_S

from app.errors import CancelledError
from app.tasks import CancelToken, run_in_thread


def test_a_token_cancels_once_and_wakes_the_waiter() -> None:
    token = CancelToken()
    calls: list[str] = []
    with token.on_cancel(lambda: calls.append("first")):
        waiting = run_in_thread("waiter", lambda: token.wait(60))
        token.cancel()
        token.cancel()
    with pytest.raises(CancelledError):
        waiting.result(DEADLINE_S)
    with token.on_cancel(lambda: calls.append("late")):
        pass
    assert calls == ["first", "late"]
    with pytest.raises(CancelledError):
        token.check()


def test_a_callback_is_let_go_with_the_work_that_it_ends() -> None:
    token = CancelToken()
    work = threading.Event()
    held = weakref.ref(work)
    with token.on_cancel(work.set):
        pass
    del work
    assert held() is None
    calls: list[str] = []
    with token.on_cancel(lambda: calls.append("now")):
        token.cancel()
    assert calls == ["now"]


def test_an_unset_token_lets_work_go_on() -> None:
    token = CancelToken()
    token.check()
    token.wait(0)
    assert not token.cancelled


def test_work_runs_on_a_daemon_thread_and_its_failure_travels() -> None:
    assert run_in_thread("worker", lambda: threading.current_thread().daemon).result(DEADLINE_S)

    def fail() -> None:
        raise ValueError("seven")

    with pytest.raises(ValueError, match="seven"):
        run_in_thread("worker", fail).result(DEADLINE_S)
