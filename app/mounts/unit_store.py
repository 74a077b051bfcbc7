"""systemd unit store: units that save a mount, previewed by the helper's code and written by the helper.

Only units that this program made are changed. Their settings are parsed back into the fields from which the
helper built them. The helper accepts only such fields, so this is how it restores a unit.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from advisor.dialects.entry import DialectError, MountSpec
from app.errors import AppError, ErrorKind
from app.helper import unit_text
from app.helper.errors import Refusal
from app.helper.options import load
from app.helper_client.client import explain_refusal
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from app.helper_client.client import HelperClient
    from app.mounts.change_model import ApplyArgs
    from app.tasks import CancelToken

FOLDER = "/etc/systemd/system"
#: Longest wait for the helper, seconds.
_TIMEOUT_S = 60.0
#: Options that a unit expresses by a setting, or by the existence of the automount unit.
_SET_BY_OTHER_FIELDS = ("auto", "x-systemd.automount", "x-systemd.idle-timeout", "defaults")


class UnitPair(NamedTuple):
    """Texts of the mount unit and the automount unit of a mount point; "" for a missing unit."""

    mount: str
    automount: str

    @property
    def sha256(self) -> str:
        """Checksum of both units, computed as the helper does."""
        texts = (text.encode() or None for text in self)
        return unit_text.pair_sha256(*texts)


class UnitStore:
    """Reads, previews and writes the units of mounts.

    Args:
        helper: helper of the role "persist".
        folder: directory of the units; tests use a temporary one.
    """

    def __init__(self, helper: HelperClient, folder: str = FOLDER) -> None:
        self._helper = helper
        self._folder = Path(folder)

    def names(self, point: str) -> tuple[str, str]:
        """Return the names of both units of a mount point.

        Raises:
            AppError: if no unit name exists for the mount point.
        """
        try:
            return unit_text.name(point), unit_text.name(point, "automount")
        except Refusal as refusal:
            raise explain_refusal(refusal.code, refusal.message, refusal.detail) from refusal

    def read(self, point: str) -> UnitPair:
        """Return the present units of a mount point.

        Raises:
            AppError: FSTAB_REFUSED if another program made them, or if they cannot be read.
        """
        texts: list[str] = []
        for name in self.names(point):
            path = self._folder / name
            try:
                text = path.read_text(encoding="utf-8")
            except FileNotFoundError:
                text = ""
            except (OSError, UnicodeDecodeError) as error:
                raise explain_refusal("fstab-refused", f"“{path}” cannot be read.", str(error)) from error
            if text and text.partition("\n")[0] != unit_text.MARKER:
                raise AppError(ErrorCode.UNIT_FOREIGN, path=path)
            texts.append(text)
        return UnitPair(*texts)

    def wanted(self, args: ApplyArgs) -> UnitPair:
        """Return the units that a request asks for.

        Raises:
            AppError: if a unit cannot express the request.
        """
        wire = _wire(args)
        return self._build(wire)

    def reserved(self, args: ApplyArgs) -> str:
        """Return sentences on the new options that only root may write, "" for none.

        Raises:
            AppError: if a unit cannot express the request.
        """
        share, words = unit_text.read(self.read(args.mount_point).mount)
        try:
            unit_text.build(_new_units(_wire(args)), load(), words if share == args.share else ())
        except Refusal as refusal:
            if refusal.code == "option-reserved":
                return refusal.message
            raise explain_refusal(refusal.code, refusal.message, refusal.detail) from refusal
        return ""

    def diff(self, before: UnitPair, after: UnitPair, point: str) -> str:
        """Return a unified diff of both units."""
        result = ""
        for name, old, new in zip(self.names(point), before, after, strict=True):
            lines = (old.splitlines(keepends=True), new.splitlines(keepends=True))
            path = str(self._folder / name)
            result += "".join(difflib.unified_diff(*lines, path, f"{path} (new)"))
        return result

    def check_restorable(self, point: str, before: UnitPair) -> None:
        """Check that the helper can restore these units exactly.

        Raises:
            AppError: FSTAB_REFUSED if it cannot, because another program changed them.
        """
        if before.mount and self._build(_fields(point, before)) != before:
            raise AppError(ErrorCode.UNITS_CHANGED, mount_point=point)

    def requests(self, args: ApplyArgs) -> list[tuple[str, dict[str, Any]]]:
        """Return the helper requests that write the units and that undo it."""
        before = self.read(args.mount_point)
        back: tuple[str, dict[str, Any]] = ("unit-remove", {"target": args.mount_point, "sha256": ""})
        if before.mount:
            back = ("unit-write", {**_fields(args.mount_point, before), "sha256": ""})
        return [("unit-write", {**_wire(args), "sha256": ""}), back]

    def share(self, units: UnitPair) -> str:
        """Return the share of the units, "" for none."""
        return _settings(units.mount).get("What", "")

    def options(self, units: UnitPair) -> str:
        """Return the option string of the units, "" for none."""
        return _settings(units.mount).get("Options", "")

    def write(
        self, args: ApplyArgs, sha256: str, token: CancelToken, helper: HelperClient | None = None
    ) -> dict[str, Any]:
        """Write the requested units if the present ones have the checksum; return the helper's answer.

        Raises:
            AppError: if that failed; the units are unchanged.
        """
        wire = {**_wire(args), "sha256": sha256}
        return (helper or self._helper).call("unit-write", wire, token, _TIMEOUT_S)

    def put(
        self, point: str, units: UnitPair, sha256: str, token: CancelToken, helper: HelperClient | None = None
    ) -> dict[str, Any]:
        """Write these units, or remove them, if the present ones have the checksum.

        Returns:
            the helper's answer.

        Raises:
            AppError: if that failed; the units are unchanged.
        """
        if units.mount:
            wire = {**_fields(point, units), "sha256": sha256}
            return (helper or self._helper).call("unit-write", wire, token, _TIMEOUT_S)
        wire = {"target": point, "sha256": sha256}
        return (helper or self._helper).call("unit-remove", wire, token, _TIMEOUT_S)

    def _build(self, wire: dict[str, Any]) -> UnitPair:
        wanted = _new_units(wire)
        try:
            # Reserved options pass here: reserved() reports them, and the helper decides.
            units = unit_text.build(wanted, load(), wanted.words)
        except Refusal as refusal:
            raise explain_refusal(refusal.code, refusal.message, refusal.detail) from refusal
        return UnitPair(units.mount, units.automount)


def _new_units(wire: dict[str, Any]) -> unit_text.NewUnits:
    words = tuple(wire["options"])
    return unit_text.NewUnits(wire["share"], wire["target"], words, wire["automount"], wire["idle_s"])


def _wire(args: ApplyArgs) -> dict[str, Any]:
    try:
        entry = MountSpec.make(args.share, args.mount_point, args.options)
    except DialectError as error:
        raise AppError(ErrorKind.MOUNT_POINT_INVALID, str(error)) from error
    automount = entry.when == "on-demand"
    options = entry.options.copy()
    idle_s = entry.idle_timeout_s if automount else None
    by_hand = entry.when == "by-hand"
    for name in _SET_BY_OTHER_FIELDS:
        options.remove(name)
    words = [*(word for word in options if word), *(["noauto"] if by_hand else [])]
    if args.fstype == "nfs4" and "vers" not in options:
        words.append("vers=4")
    return {
        "share": args.share,
        "target": args.mount_point,
        "options": words,
        "automount": automount,
        "idle_s": -1 if idle_s is None else idle_s,
    }


def _fields(point: str, units: UnitPair) -> dict[str, Any]:
    """Return the helper's fields from which units of this program were built."""
    settings = _settings(units.mount)
    words = [word for word in settings.get("Options", "").split(",") if word]
    words += [f"x-systemd.mount-timeout={settings['TimeoutSec']}"] if "TimeoutSec" in settings else []
    if not units.automount and not settings.keys() & {"WantedBy", "RequiredBy"}:
        words.append("noauto")
    idle = _settings(units.automount).get("TimeoutIdleSec", "")
    return {
        "share": settings.get("What", ""),
        "target": point,
        "options": words,
        "automount": bool(units.automount),
        "idle_s": int(idle) if idle.isascii() and idle.isdigit() else -1,
    }


def _settings(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if not line.startswith(("#", "[")))
    return {key: value.replace("%%", "%") for key, equals, value in pairs if equals}
