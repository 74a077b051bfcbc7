"""Messages as data: a code with values; app.text.sentences has the sentences."""

from __future__ import annotations

from typing import Any

import msgspec


class Message(msgspec.Struct, frozen=True):
    """A statement for the user as data.

    Attributes:
        code: key of its sentence in app.text.sentences.
        params: values for the placeholders of the sentence; a message within it is a dict of code and params.
    """

    code: str
    params: dict[str, Any] = {}


def message(code: str, **params: Any) -> Message:
    """Return a message with the values for its placeholders."""
    return Message(code, {name: _plain(value) for name, value in params.items()})


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, so that a message equals the one that was sent and received."""
    if isinstance(value, Message):
        return {"code": value.code, "params": value.params}
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [_plain(item) for item in items]
    return value
