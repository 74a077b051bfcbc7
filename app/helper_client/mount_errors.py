"""Mount errors: meaning of the messages of mount.nfs(8), with the likely cause and a hint.

Almost every failure of mount.nfs has exit code 32, so the rules match the text. The texts are those of
nfs-utils 2.5 to 2.9 in the C locale (utils/mount/error.c, stropts.c, network.c, network/resolve) and of
strerror(3). From 2.6.3 on, messages have a suffix (" for /mnt/x"), so the rules match only their beginning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from advisor.options import catalogue, check_item
from app.errors import AppError
from app.text.errors import ErrorCode

#: Pattern and meaning of each rule, special rules before general ones. mount.nfs may print several lines: the
#: first rule that matches any line wins.
MOUNT_RULES: tuple[tuple[str, ErrorCode], ...] = (
    (r"not in 'host:dir' format", ErrorCode.SHARE_NOT_NFS),
    (r"Address family for hostname not supported", ErrorCode.ADDRESS_FAMILY_WRONG),
    (r"Temporary failure in name resolution", ErrorCode.NAME_SERVICE_SILENT),
    (
        r"Failed to resolve server|Name or service not known|No address associated",
        ErrorCode.SERVER_NOT_RESOLVED,
    ),
    (r"bad option; for several filesystems|mount\.nfs.*: (command )?not found", ErrorCode.MOUNT_NFS_MISSING),
    (
        r"multiple version options not permitted|parsing error on '(nfs)?vers=' option",
        ErrorCode.VERSION_GIVEN_TWICE,
    ),
    (r"rpc\.statd is not running", ErrorCode.STATD_NOT_RUNNING),
    (r"RPC Error: Unknown protocol", ErrorCode.MOUNTPROTO_UNUSABLE),
    (
        r"requested NFS version or transport protocol is not supported",
        ErrorCode.VERSION_OR_TRANSPORT_NOT_OFFERED,
    ),
    (r"access denied by server|reason given by server: Permission denied", ErrorCode.EXPORT_DENIED),
    (r"reason given by server: (No such file or directory|Not a directory)", ErrorCode.EXPORT_NOT_FOR_CLIENT),
    (r"mount point .* does not exist", ErrorCode.MOUNT_POINT_MISSING),
    (r"mount spec .* or point .* is not a directory", ErrorCode.EXPORT_IS_FILE),
    (r"mount point .* is not a directory", ErrorCode.MOUNT_POINT_IS_FILE),
    (r"an incorrect mount option was specified|Invalid argument", ErrorCode.OPTIONS_REFUSED),
    (r"is busy or already mounted|device is busy|Device or resource busy", ErrorCode.MOUNT_POINT_BUSY),
    (r"Protocol not supported|Program not registered|Program/version mismatch", ErrorCode.VERSION_NOT_SPOKEN),
    (r"Connection refused", ErrorCode.MOUNT_REFUSED),
    (r"No route to host|Network is unreachable|Host is down|Network is down", ErrorCode.NO_ROUTE),
    # EAGAIN of a connection; EAI_AGAIN of the resolver has the same text.
    (r"timed out|Resource temporarily unavailable", ErrorCode.MOUNT_SERVER_SILENT),
    (r"not installed setuid|failed to apply fstab options|must be (root|superuser)", ErrorCode.ROOT_NEEDED),
    (r"Operation not permitted", ErrorCode.MOUNT_NOT_PERMITTED),
    (r"Permission denied", ErrorCode.EXPORT_DENIED),
    (r"No such device|unknown filesystem type", ErrorCode.NO_NFS_CLIENT),
    (r"No such process", ErrorCode.TLSHD_NOT_RUNNING),
    (r"Required key not available|Key (has expired|was rejected)", ErrorCode.KEY_MISSING),
    (r"Stale file handle", ErrorCode.EXPORT_STALE),
    (r"No such file or directory", ErrorCode.EXPORT_NOT_FOUND),
    (r"Input/output error|mount system call failed|Connection reset", ErrorCode.EXCHANGE_FAILED),
)


#: Attributes of MountAttempt that the sentences of errors may contain.
_FIELDS = ("share", "server", "export", "mount_point", "version", "security", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class MountAttempt:
    """A failed mount, with the facts that help to find its cause.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        options: requested options, one item each.
        text: output of mount.nfs.
        exit_code: exit status of mount.nfs; None if it was killed.
        timed_out: whether the time limit ended mount.nfs.
        timeout_s: the time limit, seconds.
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
        """Server in the share, without the brackets of an IPv6 address."""
        return server_of(self.share)

    @property
    def export(self) -> str:
        """Exported path, from its first slash."""
        return self.share[self.share.find(":/") + 1 :]

    @property
    def version(self) -> str:
        """Requested NFS version, "" for none."""
        for word in self.options:
            name, _, value = word.partition("=")
            if name in {"vers", "nfsvers"}:
                return value
            if re.fullmatch(r"v[34](\.[0-2])?", word):
                return word[1:]
        return ""

    @property
    def unknown(self) -> str:
        """Name of the first option that the catalogue lacks, "" for none."""
        return next((word.partition("=")[0] for word in self.options if _is_unknown(word)), "")

    @property
    def security(self) -> str:
        """Requested security flavor (sec=), "" for none."""
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
    """Return a failed mount as an AppError with cause and hint; its detail is the output of mount.nfs."""
    for pattern, code in MOUNT_RULES:
        if re.search(pattern, attempt.text):
            return _error(_code_by_options(code, attempt), attempt)
    if attempt.timed_out:
        return _error(
            ErrorCode.MOUNT_UNFINISHED if attempt.server_answers else ErrorCode.MOUNT_SERVER_SILENT, attempt
        )
    return _error(ErrorCode.MOUNT_FAILED, attempt)


def _error(code: ErrorCode, attempt: MountAttempt) -> AppError:
    fields = {name: getattr(attempt, name) for name in _FIELDS}
    end = "ended by the deadline" if attempt.timed_out else f"exit code {attempt.exit_code}"
    return AppError(code, detail=f"{attempt.text.strip()}\n({end})".strip(), **fields)


def _code_by_options(code: ErrorCode, attempt: MountAttempt) -> ErrorCode:
    """Return a more specific cause that the options suggest for the matched rule, or the rule's own."""
    specific = code
    if code is ErrorCode.OPTIONS_REFUSED and attempt.unknown:
        specific = ErrorCode.OPTION_UNKNOWN_TO_KERNEL
    elif code is ErrorCode.OPTIONS_REFUSED and attempt.security.startswith("krb5"):
        specific = ErrorCode.KERBEROS_NOT_SET_UP
    elif code is ErrorCode.VERSION_NOT_SPOKEN and attempt.version.startswith("4"):
        if any(word.startswith("mount") for word in attempt.options):
            specific = ErrorCode.OPTIONS_FOR_VERSION_3
    elif code is ErrorCode.NO_NFS_CLIENT and any("rdma" in word for word in attempt.options):
        specific = ErrorCode.NO_RDMA
    elif code in {ErrorCode.EXPORT_DENIED, ErrorCode.MOUNT_NOT_PERMITTED}:
        if "noresvport" in attempt.options:
            specific = ErrorCode.PRIVILEGED_PORT_NEEDED
        elif attempt.security:
            specific = ErrorCode.EXPORT_DENIED_SECURITY
    elif code is ErrorCode.MOUNT_SERVER_SILENT and attempt.server_answers:
        specific = ErrorCode.MOUNT_UNFINISHED
    return specific
