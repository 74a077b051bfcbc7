r"""Audit line: one request and its result, in printable ASCII, with its fields in a fixed order.

    action=persist verb=add share="nas:/x" target="/mnt/x" result=ok ms=12 options="rw,nofail" …

No value in a request can close a field, push another field out of the line, or send control codes to a
terminal. Each field has a limit of its own. Every character outside printable ASCII is written as ``\xNN``,
``\uNNNN`` or ``\UNNNNNNNN``. ``"…"+7`` means that seven more characters were cut off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from app.helper.verbs import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Most characters of a field, escapes counted. Each ASCII share or mount point that validate accepts fits.
_LIMITS = {"share": 1300, "target": 800, "options": 600}
_LIMIT = 300


def line(action: str, verb: str, args: Mapping[str, object], result: str, spent_ms: int) -> str:
    """Return the audit line of a request; unknown arguments are only counted.

    Args:
        action: action that polkit authorized.
        verb: verb of the request; an unknown verb is written as ``?``.
        args: arguments of the request, of any type.
        result: ``ok``, or the code of the refusal.
        spent_ms: duration of the request, ms.
    """
    schema = SCHEMAS.get(verb, {})
    shown = {name: args[name] for name in schema if name in args}
    share, target = (_field(name, shown.pop(name, "")) for name in ("share", "target"))
    rest = [f" {name}={_field(name, value)}" for name, value in shown.items()]
    if unknown := len(set(args) - set(schema)):
        rest.append(f" unknown={unknown}")
    asked = f"action={action} verb={verb if verb in SCHEMAS else '?'} share={share} target={target}"
    return f"{asked} result={result} ms={spent_ms}{''.join(rest)}"


def _field(name: str, value: object) -> str:
    parts = cast("list[object]", value) if isinstance(value, list) else [value]
    text, limit = ",".join(map(str, parts)), _LIMITS.get(name, _LIMIT)
    written = ""
    for count, character in enumerate(text):
        code = ord(character)
        piece = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        if 0x20 <= code < 0x7F:
            piece = f"\\{character}" if character in '"\\' else character
        if len(written) + len(piece) > limit:
            return f'"{written}"+{len(text) - count}'
        written += piece
    return f'"{written}"'
