"""The helper's refusals: a closed list of codes, each with a sentence for a person."""

from __future__ import annotations

#: Every code that an answer may carry. All but the first are values of the application's ErrorKind.
CODES = frozenset({
    "busy-helper",  # a second request while one is under way
    "protocol", "usage", "unavailable", "cancelled", "internal", "not-authorized", "helper-missing",
    "share-invalid", "option-invalid", "option-reserved",
    "mount-point-invalid", "mount-point-missing", "mount-point-is-file", "mount-point-not-empty",
    "mount-point-system", "mount-point-restricted", "mount-point-unreachable", "mount-point-busy",
    "not-mounted", "mount-not-yours", "busy", "not-responding",
    "mount-failed", "mount-nfs-missing", "option-rejected",
    "fstab-changed", "fstab-refused", "fstab-failed",
})  # fmt: skip


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not a fault
    """A request that was not carried out.

    Attributes:
        code: one of CODES.
        message: what happened, one sentence.
        detail: raw text of a program, or "".
        data: facts for the agent (an exit code, the processes that hold a mount).
    """

    def __init__(self, code: str, message: str, *, detail: str = "", data: dict[str, object] | None = None):
        if code not in CODES:
            raise ValueError(code)
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail
        self.data = data or {}


def body(refusal: Refusal) -> dict[str, object]:
    """Return a refusal as it travels."""
    return {"code": refusal.code, "message": refusal.message, "detail": refusal.detail, "data": refusal.data}


def printable(raw: bytes) -> str:
    r"""Return foreign bytes as text that cannot steer a terminal or a log: control bytes as ``\xNN``."""
    text = raw.decode("utf-8", errors="backslashreplace")
    return "".join(c if c.isprintable() or c in "\n\t" else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 0x100 else f"\\u{ord(character):04x}"
