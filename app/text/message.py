"""Messages as data: a code with values, and its sentence in the language of the user.

Logic makes and compares codes. The sentences, in app.text.sentences and app.text.errors, are for display.
"""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING, Any, cast

from advisor.message import Message
from advisor.speeds import SpeedUnit, format_rate, format_speed
from app.text.errors import ErrorCode
from app.text.sentences import SENTENCES, VALUE_WORDS
from app.text.translate import gettext, ngettext
from app.text.units import format_duration, format_size
from resources.decoding import converted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def message_text(item: Message | str | None, unit: SpeedUnit = SpeedUnit.BYTES) -> str:
    """Return the sentence of a message, "" for None.

    Args:
        item: code and values; a text, as older versions saved it, is returned unchanged.
        unit: unit in which to show speeds.
    """
    if item is None or isinstance(item, str):
        return item or ""
    if not item.code:  # an error whose sentence was given as text
        return str(item.params["text"])
    error = ErrorCode.from_code(item.code)
    sentence = SENTENCES[item.code] if error is None else error.sentence
    return fill(gettext(sentence), item.params, unit)


def _hint_text(item: Message, unit: SpeedUnit) -> str:
    """Return the hint of an error within another one."""
    if not item.code:
        return str(item.params["hint"])
    error = ErrorCode.from_code(item.code)
    return "" if error is None else fill(gettext(error.hint), item.params, unit)


def fill(template: str, params: Mapping[str, Any], unit: SpeedUnit = SpeedUnit.BYTES) -> str:
    """Return a sentence with its values.

    Args:
        template: sentence with placeholders, such as {path} or {used:speed}.
        params: values by name; a nested message becomes its sentence.
        unit: unit in which to show speeds.
    """
    return _ValueFormatter(unit).vformat(template, (), params)


class _ValueFormatter(Formatter):
    """Formatter of placeholders: {limit:duration} is a duration with its unit."""

    def __init__(self, unit: SpeedUnit) -> None:
        self._unit = unit

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "speed":
            return format_speed(value, self._unit)
        if format_spec in _FORMATS:
            return _FORMATS[format_spec](value)
        if format_spec in VALUE_WORDS:
            words = VALUE_WORDS[format_spec]
            return gettext(words[value]) if value in words else str(value)
        if format_spec == "sentences":
            return "; ".join(self.format_field(item, "") for item in value)
        if isinstance(value, dict):  # a message that was sent as JSON
            value = converted(cast("dict[str, Any]", value), Message)
        if isinstance(value, Message):
            text = _hint_text if format_spec == "hint" else message_text
            return text(value, self._unit)
        return str(super().format_field(value, format_spec))


_FORMATS: dict[str, Callable[[Any], str]] = {
    "rate": format_rate,
    "size": format_size,
    "duration": format_duration,
    "percent": lambda value: f"{100 * value:.3g}%" if value < 0.095 else f"{100 * value:.0f}%",
    "depth": lambda value: ngettext("one at a time", "{count} at once", value).format(count=value),
    "list": ", ".join,
}
