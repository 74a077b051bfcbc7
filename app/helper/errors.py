"""Refusals of the helper: a fixed set of codes, each sent with a sentence for the user."""

from __future__ import annotations

#: All codes of refusals. All but the first are values of ErrorKind in app.errors.
CODES = frozenset({
    "busy-helper",  # a second request while another one runs
    "protocol", "usage", "unavailable", "cancelled", "internal", "not-authorized", "helper-missing",
    "share-invalid", "option-invalid", "option-reserved",
    "mount-point-invalid", "mount-point-missing", "mount-point-is-file", "mount-point-not-empty",
    "mount-point-system", "mount-point-restricted", "mount-point-unreachable", "mount-point-busy",
    "not-mounted", "mount-not-yours", "busy", "not-responding",
    "mount-failed", "mount-nfs-missing", "option-rejected",
    "fstab-changed", "fstab-refused", "fstab-failed",
})  # fmt: skip


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not a fault
    """Error answer to a request that was not carried out.

    Attributes:
        code: one of CODES.
        message: reason, one sentence for the user.
        detail: raw output of a program or of the kernel, or "".
        data: values for the agent, such as an exit code or the processes that use a mount.
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
    """Return a refusal as the JSON object of the protocol."""
    return {"code": refusal.code, "message": refusal.message, "detail": refusal.detail, "data": refusal.data}


def printable(raw: bytes) -> str:
    r"""Return bytes as text without control characters, which are written as ``\xNN`` or ``\uNNNN``.

    Newline and tab stay.
    """
    text = raw.decode("utf-8", errors="backslashreplace")
    return "".join(c if c.isprintable() or c in "\n\t" else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 0x100 else f"\\u{ord(character):04x}"
