"""What mount.nfs said, in words for a person: what happened, the likely cause, what to do.

Almost every failure of mount.nfs has exit code 32, so the text decides; app/helper_client/mount_errors.py has the texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from advisor.option_check import check_item
from advisor.options import catalogue
from app.errors import AppError
from app.helper_client.mount_errors import (
    DENIED_SECURITY,
    KERBEROS,
    LOW_PORT,
    MOUNT_RULES,
    NO_RDMA,
    ONLY_V3,
    SILENT,
    UNFINISHED,
    UNKNOWN,
    UNKNOWN_OPTION,
    Cause,
)

#: What the sentences of a cause may name.
_FIELDS = ("share", "server", "export", "mount_point", "version", "security", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class MountAttempt:
    """A mount that failed, and what is known around it.

    Attributes:
        share: server:/export.
        mount_point: where.
        options: the words asked for.
        text: what mount.nfs printed.
        exit_code: its status; None if it was killed.
        timed_out: whether the deadline ended it.
        timeout_s: the deadline, seconds.
        server_answers: whether port 2049 of the server accepted a connection; None if not tried.
    """

    share: str
    mount_point: str
    options: tuple[str, ...] = ()
    text: str = ""
    exit_code: int | None = None
    timed_out: bool = False
    timeout_s: float = 0.0
    server_answers: bool | None = None

    @property
    def server(self) -> str:
        """The server as the share spells it, without brackets."""
        return server_of(self.share)

    @property
    def export(self) -> str:
        """The exported path, from its first slash."""
        return self.share[self.share.find(":/") + 1 :]

    @property
    def version(self) -> str:
        """The NFS version asked for, "" if none."""
        for word in self.options:
            name, _, value = word.partition("=")
            if name in {"vers", "nfsvers"}:
                return value
            if re.fullmatch(r"v[34](\.[0-2])?", word):
                return word[1:]
        return ""

    @property
    def unknown(self) -> str:
        """The first option that the catalogue does not have, "" if it has all."""
        return next((word.partition("=")[0] for word in self.options if _is_unknown(word)), "")

    @property
    def security(self) -> str:
        """The security flavour asked for, "" if none."""
        return next((word[4:] for word in self.options if word.startswith("sec=")), "")


def _is_unknown(word: str) -> bool:
    problem = check_item(word, catalogue())
    return problem is not None and problem.code == "unknown"


def server_of(share: str) -> str:
    """Return the server of a share, without the brackets of an IPv6 address."""
    if share.startswith("["):
        return share[1:].partition("]")[0]
    return share.partition(":")[0]


def diagnose_mount(attempt: MountAttempt) -> AppError:
    """Return the failure of a mount as an error for a person; the raw text is its detail."""
    for pattern, cause in MOUNT_RULES:
        if re.search(pattern, attempt.text):
            return _error(_special(pattern, attempt) or cause, attempt)
    if attempt.timed_out:
        return _error(UNFINISHED if attempt.server_answers else SILENT, attempt)
    return _error(UNKNOWN, attempt)


def _error(cause: Cause, attempt: MountAttempt) -> AppError:
    fields = {name: getattr(attempt, name) for name in _FIELDS}
    end = "ended by the deadline" if attempt.timed_out else f"exit code {attempt.exit_code}"
    return AppError(
        cause.kind,
        cause.message.format(**fields),
        hint=cause.hint.format(**fields),
        detail=f"{attempt.text.strip()}\n({end})".strip(),
    )


def _special(pattern: str, attempt: MountAttempt) -> Cause | None:
    """Return the better cause that the options suggest for a text, if any."""
    if "incorrect mount option" in pattern and (attempt.unknown or attempt.security.startswith("krb5")):
        return UNKNOWN_OPTION if attempt.unknown else KERBEROS
    if pattern.startswith("Protocol not supported") and attempt.version.startswith("4"):
        return ONLY_V3 if any(word.startswith("mount") for word in attempt.options) else None
    if pattern.startswith("No such device") and any("rdma" in word for word in attempt.options):
        return NO_RDMA
    if pattern.startswith(("access denied", "Permission denied", "Operation not permitted")):
        if "noresvport" in attempt.options:
            return LOW_PORT
        return DENIED_SECURITY if attempt.security else None
    return UNFINISHED if pattern.startswith("timed out") and attempt.server_answers else None
