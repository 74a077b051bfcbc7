"""Thread-safe decoding: concurrent first use of a type."""

import threading
from collections.abc import Callable

import msgspec
import pytest
from waiting import wait_for

from resources.decoding import converted, from_json, from_msgpack

_inside = threading.Event()
_second_is_done = threading.Event()


def _an_int_slowly() -> type[int]:
    """Return an int type slowly, like a thread that is preempted while inspecting types."""
    _inside.set()
    _second_is_done.wait(0.2)
    return int


def _outer() -> type[msgspec.Struct]:
    """Return a new structure type with a new nested structure type."""
    inner = msgspec.defstruct("FreshInner", [("value", "_an_int_slowly()")], module=__name__)
    return msgspec.defstruct("FreshOuter", [("inner", inner), ("name", str)])


@pytest.mark.parametrize(
    "decode",
    [
        lambda kind: from_json(b'{"inner": {"value": 1}, "name": "one"}', kind),
        lambda kind: from_msgpack(msgspec.msgpack.encode({"inner": {"value": 1}, "name": "one"}), kind),
        lambda kind: converted({"inner": {"value": 1}, "name": "one"}, kind),
    ],
    ids=["json", "msgpack", "tables"],
)
def test_a_second_thread_waits_until_a_type_is_worked_out(decode: Callable[[type], object]) -> None:
    """Both threads decode correctly; incomplete type information crashed the process."""
    _inside.clear()
    _second_is_done.clear()
    kind = _outer()
    found: list[object] = []
    first = threading.Thread(target=lambda: found.append(decode(kind)))
    first.start()
    wait_for(_inside, "the first thread to be within the type")
    found.append(decode(kind))
    _second_is_done.set()
    first.join()
    assert [(one.inner.value, one.name) for one in found] == [(1, "one")] * 2  # type: ignore[attr-defined]
    assert found[0] is not found[1]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        from_json(b'"one"', int)
    with pytest.raises(msgspec.DecodeError):
        from_json(b"one", int)
    with pytest.raises(msgspec.ValidationError):
        from_msgpack(b"\x01", str)
    with pytest.raises(msgspec.ValidationError):
        converted("one", int)
