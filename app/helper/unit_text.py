r"""Text of systemd's mount and automount units, built from checked fields.

Sources: systemd.mount(5), systemd.automount(5), systemd.syntax(7). systemd reads a value as it is written,
with three exceptions: “%” begins a specifier, a backslash at the end continues the line, and blanks at both
ends are dropped.

The functions are pure, so a preview without root shows exactly what the helper will write.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from app.helper import boot_options, validate
from app.helper.errors import Refusal
from app.helper.options import ALWAYS, split
from app.helper.policy import permit_entry

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.helper.options import Catalogue

#: First line of a unit that this program wrote, and so may change and remove.
MARKER = "# Made by Mountwright, which writes it anew at each change."
_TARGET = "remote-fs.target"
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.")
#: Longest name of a unit, bytes (UNIT_NAME_MAX of systemd is 256 with the final NUL).
_MAX_NAME = 255
#: Longest idle time of an automount unit, s.
_MAX_IDLE_S = 31 * 86400


class NewUnits(NamedTuple):
    """Mount to be saved as systemd units; its options are not checked yet.

    Attributes:
        share: server:/export.
        target: mount point, an absolute path.
        words: option words for mount.nfs, and _netdev, nofail, x-systemd.mount-timeout= and noauto (not
            mounted at boot).
        automount: whether an automount unit mounts it on first access.
        idle_s: with ``automount``, idle time after which it is unmounted, s; -1 for never.
    """

    share: str
    target: str
    words: tuple[str, ...]
    automount: bool
    idle_s: int = -1


class UnitFiles(NamedTuple):
    """Unit files of one mount.

    Attributes:
        mount: text of the mount unit.
        automount: text of the automount unit, "" for none.
        links: links that enable the units, as paths below the directory of the units.
    """

    mount: str
    automount: str
    links: tuple[str, ...]


def name(target: str, suffix: str = "mount") -> str:
    """Return the unit name of a mount point, as ``systemd-escape --path --suffix`` does.

    Args:
        target: mount point.
        suffix: ``mount`` or ``automount``.

    Raises:
        Refusal: code mount-point-invalid if the name is too long.
    """
    parts = ("".join(c if c in _SAFE else _escape(c) for c in part) for part in target.split("/") if part)
    text = "-".join(parts) or "-"
    if text.startswith("."):
        text = "\\x2e" + text[1:]
    if len(text) + 1 + len(suffix) > _MAX_NAME:
        raise Refusal("mount-point-invalid", "The mount point is too long for the name of a unit.")
    return f"{text}.{suffix}"


def build(wanted: NewUnits, catalogue: Catalogue, free: Collection[str] = ()) -> UnitFiles:
    """Build the units of a mount.

    Args:
        wanted: mount to be saved.
        catalogue: options that every user may set.
        free: option words that may be written although only root may write them.

    Raises:
        Refusal: if a field is not allowed.
    """
    _check(wanted, catalogue, free)
    unit, automount = name(wanted.target), name(wanted.target, "automount")
    span = next((w.partition("=")[2] for w in wanted.words if w.startswith("x-systemd.mount-timeout=")), "")
    words = [w for w in wanted.words if w and w != "noauto" and not w.startswith("x-systemd.mount-timeout=")]
    words += [word for word in ALWAYS if word not in words]
    title = f"Description={wanted.share} on {wanted.target}"
    lines = ["[Unit]", title, "", "[Mount]", f"What={wanted.share}", f"Where={wanted.target}", "Type=nfs"]
    lines += [f"Options={','.join(words)}"] + ([f"TimeoutSec={span}"] if span else [])
    folder = ("wants" if "nofail" in words else "requires") if not _is_by_hand(wanted) else ""
    if wanted.automount:
        note = "# Started by the .automount unit of the same name."
        other = [f"# Goes with {unit}, which has the share and the options."]
        other += ["[Unit]", f"{title}, on demand", "", "[Automount]", f"Where={wanted.target}"]
        other += [f"TimeoutIdleSec={wanted.idle_s}"] if wanted.idle_s >= 0 else []
        other += ["", "[Install]", f"WantedBy={_TARGET}"]
        return UnitFiles(_text([note, *lines]), _text(other), (f"{_TARGET}.wants/{automount}",))
    if folder:
        lines += ["", "[Install]", f"{'WantedBy' if folder == 'wants' else 'RequiredBy'}={_TARGET}"]
    return UnitFiles(_text(lines), "", (f"{_TARGET}.{folder}/{unit}",) if folder else ())


def unit_paths(target: str) -> tuple[str, ...]:
    """Return all files and links that this program may create for a mount point.

    The first two are the mount unit and the automount unit.
    """
    unit, automount = name(target), name(target, "automount")
    return (
        unit, automount, f"{_TARGET}.wants/{unit}", f"{_TARGET}.requires/{unit}",
        f"{_TARGET}.wants/{automount}",
    )  # fmt: skip


def read(text: str) -> tuple[str, list[str]]:
    """Parse a mount unit of this program; return its share and options, ("", []) for other units."""
    pairs = (line.partition("=") for line in text.replace("%%", "%").splitlines())
    settings = {key: value for key, _equals, value in pairs} if text.partition("\n")[0] == MARKER else {}
    return settings.get("What", ""), split(settings.get("Options", ""))


def pair_sha256(mount: bytes | None, automount: bytes | None) -> str:
    """Return the SHA-256 of both units together; "" if neither exists.

    Args:
        mount: contents of the mount unit, None if it does not exist.
        automount: contents of the automount unit, None if it does not exist.
    """
    if mount is None and automount is None:
        return ""
    return hashlib.sha256((mount or b"") + b"\0" + (automount or b"")).hexdigest()


def _is_by_hand(wanted: NewUnits) -> bool:
    return wanted.automount or "noauto" in wanted.words


def _check(wanted: NewUnits, catalogue: Catalogue, free: Collection[str]) -> None:
    validate.share(wanted.share)
    validate.target(wanted.target)
    permit_entry(wanted.target)
    for value in (wanted.share, wanted.target):
        if value.endswith("\\") or value != value.strip():
            raise Refusal(
                "mount-point-invalid", "A unit cannot say a name that ends in a blank or a backslash."
            )
    if not -1 <= wanted.idle_s <= _MAX_IDLE_S or (wanted.idle_s >= 0 and not wanted.automount):
        raise Refusal("option-invalid", "The time without use is out of range, or there is no automount.")
    words = [word for word in wanted.words if word]
    for word in words:
        # In a unit these words of fstab are settings of their own; systemd ignores them in Options=.
        is_setting = word.startswith("x-systemd.") and not word.startswith("x-systemd.mount-timeout=")
        if word in {"bg", "auto"} or is_setting:
            raise Refusal(
                "option-invalid", f"A unit says the option “{word.partition('=')[0]}” in another way."
            )
    boot_options.check(words, words, catalogue, free)


def _escape(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def _text(lines: list[str]) -> str:
    return "\n".join([MARKER, *(line.replace("%", "%%") for line in lines)]) + "\n"
