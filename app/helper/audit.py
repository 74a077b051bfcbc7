r"""The audit line: what a request was and what became of it, in printable ASCII and a fixed order.

    action=persist verb=add share="nas:/x" target="/mnt/x" result=ok ms=12 options="rw,nofail" …

Nothing that a request holds can end a field, push another one out of the line, or steer a terminal: every
field has a limit of its own, and every character that is not printable ASCII is written as ``\xNN``,
``\uNNNN`` or ``\UNNNNNNNN``. ``"…"+7`` says that seven more characters were left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from app.helper.verbs import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Characters of a field as written. A share or mount point of ASCII that the grammar allows is never cut.
_LIMITS = {"share": 1300, "target": 800, "options": 600}
_LIMIT = 300


def line(action: str, verb: str, args: Mapping[str, object], result: str, spent_ms: int) -> str:
    """Return the line of a request; what its verb has no argument for is only counted.

    Args:
        action: that was authorized; the verb tells the role.
        verb: as asked for; one that no role has is written as ``?``.
        args: as asked for, of any type.
        result: ``ok``, or a code.
        spent_ms: milliseconds that it took.
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
