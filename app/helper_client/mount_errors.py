"""Mount errors: meaning of the messages of mount.nfs(8), with the likely cause and a hint.

Almost every failure of mount.nfs has exit code 32, so the rules match the text. The texts are those of
nfs-utils 2.5 to 2.9 in the C locale (utils/mount/error.c, stropts.c, network.c, network/resolve) and of
strerror(3). From 2.6.3 on, messages have a suffix (" for /mnt/x"), so the rules match only their beginning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from advisor.options import catalogue, check_item
from app.errors import AppError, ErrorKind


@dataclass(frozen=True, slots=True)
class MountErrorCause:
    """Cause of a failed mount; ``{server}``, ``{export}``… in its texts are fields of MountAttempt.

    Attributes:
        kind: kind of the error.
        message: the failure and its likely cause.
        hint: how to solve it.
    """

    kind: ErrorKind
    message: str
    hint: str


SILENT = MountErrorCause(
    ErrorKind.SERVER_SILENT,
    "The server “{server}” did not answer in time. It is switched off, or a firewall drops the packets.",
    "Check that it is up (ping {server}) and that TCP port 2049 is open between it and this computer.",
)
UNFINISHED = MountErrorCause(
    ErrorKind.SERVER_SILENT,
    "The server “{server}” accepts connections, but the mount was not complete in time.",
    "It may have just started (then it waits up to 90 seconds for its former clients), or be overloaded. "
    "Try again with a longer time limit.",
)
UNKNOWN = MountErrorCause(
    ErrorKind.MOUNT_FAILED,
    "“{share}” could not be mounted, for a reason that this program does not know.",
    "The details have the text of mount.nfs; the kernel's log (dmesg) may say more.",
)
KERBEROS = MountErrorCause(
    ErrorKind.OPTION_REJECTED,
    "The kernel refused the options. With sec={security} this usually means that Kerberos is not set up "
    "here: rpc.gssd does not run, or there is no keytab.",
    "Check /etc/krb5.keytab and start rpc-gssd (systemctl start rpc-gssd).",
)
UNKNOWN_OPTION = MountErrorCause(
    ErrorKind.OPTION_REJECTED,
    "The kernel refused the options. It probably does not know “{unknown}”, which this program does not know "
    "either.",
    "Look for a mistake in its name, or leave it out. A newer kernel may know it.",
)
ONLY_V3 = MountErrorCause(
    ErrorKind.OPTION_REJECTED,
    "The options mountproto, mountport and mountvers exist for NFS version 3 only.",
    "Remove them, or choose version 3.",
)
NO_RDMA = MountErrorCause(
    ErrorKind.UNAVAILABLE,
    "This computer has no RDMA device that works, or its kernel module is not loaded.",
    "Use proto=tcp, or load the module (modprobe xprtrdma).",
)
LOW_PORT = MountErrorCause(
    ErrorKind.ACCESS_DENIED,
    "The server “{server}” does not permit this mount: with noresvport the requests come from ports above "
    "1023, which the export does not take.",
    "Remove noresvport, or give the export the option insecure on the server.",
)
DENIED = MountErrorCause(
    ErrorKind.ACCESS_DENIED,
    "The server “{server}” refused the export “{export}”. Most likely it is not exported to this computer, "
    "or the path does not exist there.",
    "On the server compare exportfs -v with this computer's address; showmount -e {server} lists what it "
    "exports for version 3.",
)
DENIED_SECURITY = MountErrorCause(
    ErrorKind.ACCESS_DENIED,
    "The server “{server}” refused the export “{export}”. It is not exported to this computer, the path does "
    "not exist there, or the export does not allow sec={security}.",
    "On the server compare exportfs -v with this computer's address and with sec={security}.",
)

#: Pattern and cause of each rule, special rules before general ones. mount.nfs may print several lines: the
#: first rule that matches any line wins.
MOUNT_RULES: tuple[tuple[str, MountErrorCause], ...] = (
    (
        r"not in 'host:dir' format",
        MountErrorCause(
            ErrorKind.SHARE_INVALID,
            "“{share}” is not an NFS share of the form server:/export.",
            "Write it as server:/export, for example nas01:/export/home or [2001:db8::7]:/data.",
        ),
    ),
    (
        r"Address family for hostname not supported",
        MountErrorCause(
            ErrorKind.OPTION_REJECTED,
            "The address of “{server}” does not fit the protocol asked for.",
            "Use proto=tcp6 with an IPv6 address and proto=tcp with an IPv4 address, or leave proto out.",
        ),
    ),
    (
        r"Temporary failure in name resolution",
        MountErrorCause(
            ErrorKind.SERVER_UNKNOWN,
            "The name service did not answer when “{server}” was looked up.",
            "Check the network and the name servers, or use the server's address.",
        ),
    ),
    (
        r"Failed to resolve server|Name or service not known|No address associated",
        MountErrorCause(
            ErrorKind.SERVER_UNKNOWN,
            "The server name “{server}” is not known: it does not resolve to an address.",
            "Check the spelling and the name service (getent hosts NAME), or use the server's address.",
        ),
    ),
    (
        r"bad option; for several filesystems|mount\.nfs.*: (command )?not found",
        MountErrorCause(
            ErrorKind.MOUNT_NFS_MISSING,
            "This computer cannot mount NFS: the program mount.nfs is not installed.",
            "Install the package nfs-common (Debian, Ubuntu) or nfs-utils (Fedora, openSUSE, Arch).",
        ),
    ),
    (
        r"multiple version options not permitted|parsing error on '(nfs)?vers=' option",
        MountErrorCause(
            ErrorKind.OPTION_INVALID,
            "The NFS version is given twice, or is not a version.",
            "Give one of vers=3, vers=4.0, vers=4.1 or vers=4.2.",
        ),
    ),
    (
        r"rpc\.statd is not running",
        MountErrorCause(
            ErrorKind.MOUNT_FAILED,
            "File locking of NFS version 3 needs the service rpc.statd, which does not run on this computer.",
            "Start it (systemctl start rpc-statd), choose version 4, or keep locks local with nolock.",
        ),
    ),
    (
        r"RPC Error: Unknown protocol",
        MountErrorCause(
            ErrorKind.OPTION_REJECTED,
            "The protocol in mountproto= cannot be used to ask the server's mount service.",
            "Use mountproto=tcp, or leave it out.",
        ),
    ),
    (
        r"requested NFS version or transport protocol is not supported",
        MountErrorCause(
            ErrorKind.VERSION_UNSUPPORTED,
            "The server “{server}” does not offer this NFS version or transport: it is not registered there, "
            "or the kernel here was built without it (NFS over UDP often is).",
            "Use proto=tcp and version 4.2 or 3. For version 3 the server needs rpcbind and mountd.",
        ),
    ),
    (r"access denied by server|reason given by server: Permission denied", DENIED),
    (
        r"reason given by server: (No such file or directory|Not a directory)",
        MountErrorCause(
            ErrorKind.EXPORT_MISSING,
            "The server “{server}” has no export “{export}” for this computer. With NFS version 4 the server "
            "also hides in this way what this computer may not use.",
            "Check the path: with version 4 it starts at the server's root of exports (fsid=0). On the "
            "server, exportfs -v shows the exports and who may use them.",
        ),
    ),
    (
        r"mount point .* does not exist",
        MountErrorCause(
            ErrorKind.MOUNT_POINT_MISSING,
            "The mount point “{mount_point}” does not exist.",
            "Make the directory first, or choose another one.",
        ),
    ),
    (
        r"mount spec .* or point .* is not a directory",
        MountErrorCause(
            ErrorKind.EXPORT_MISSING,
            "“{export}” on the server “{server}” is not a directory.",
            "Mount the directory that contains it.",
        ),
    ),
    (
        r"mount point .* is not a directory",
        MountErrorCause(
            ErrorKind.MOUNT_POINT_IS_FILE,
            "The mount point “{mount_point}” is not a directory.",
            "Choose a directory, or a name that does not exist yet.",
        ),
    ),
    (
        r"an incorrect mount option was specified|Invalid argument",
        MountErrorCause(
            ErrorKind.OPTION_REJECTED,
            "The kernel refused the options: one is unknown, out of range, or does not fit the version.",
            "Remove options until it mounts, the last changed first. The kernel's log (dmesg) may name the "
            "option.",
        ),
    ),
    (
        r"is busy or already mounted|device is busy|Device or resource busy",
        MountErrorCause(
            ErrorKind.MOUNT_POINT_BUSY,
            "“{mount_point}” is in use, or the share is mounted already with conflicting options.",
            "Unmount the other mount first, or give both the same options.",
        ),
    ),
    (
        r"Protocol not supported|Program not registered|Program/version mismatch",
        MountErrorCause(
            ErrorKind.VERSION_UNSUPPORTED,
            "The server “{server}” does not speak the NFS version asked for.",
            "Choose another version, or leave it out so that the best common one is found.",
        ),
    ),
    (
        r"Connection refused",
        MountErrorCause(
            ErrorKind.SERVER_REFUSED,
            "The server “{server}” is up but refused the connection: no NFS service listens there.",
            "Start the NFS server on it (systemctl start nfs-server), check the option port= and its "
            "firewall. For version 3 rpcbind must run too.",
        ),
    ),
    (
        r"No route to host|Network is unreachable|Host is down|Network is down",
        MountErrorCause(
            ErrorKind.SERVER_SILENT,
            "The server “{server}” cannot be reached: there is no way to it through the network.",
            "Check the cable or the wireless network, the VPN, and the server's address.",
        ),
    ),
    # EAGAIN of a connection; EAI_AGAIN of the resolver has the same text.
    (r"timed out|Resource temporarily unavailable", SILENT),
    (
        r"not installed setuid|failed to apply fstab options|must be (root|superuser)",
        MountErrorCause(
            ErrorKind.NOT_AUTHORIZED,
            "Only the administrator may make this mount.",
            "Run the program as root, or install the helper with “./run install-helper”.",
        ),
    ),
    (
        r"Operation not permitted",
        MountErrorCause(
            ErrorKind.ACCESS_DENIED,
            "The server “{server}” does not permit this mount. Often address translation is in between and "
            "the export takes requests from ports below 1024 only, or the security flavour is not offered.",
            "Give the export the option insecure on the server, or choose another sec=.",
        ),
    ),
    (r"Permission denied", DENIED),
    (
        r"No such device|unknown filesystem type",
        MountErrorCause(
            ErrorKind.UNAVAILABLE,
            "The kernel of this computer has no NFS client.",
            "Load the module (modprobe nfs), or install a kernel that has it.",
        ),
    ),
    (
        r"No such process",
        MountErrorCause(
            ErrorKind.OPTION_REJECTED,
            "The encryption asked for with xprtsec= needs the service tlshd, which does not run here.",
            "Install ktls-utils and start tlshd, or use xprtsec=none.",
        ),
    ),
    (
        r"Required key not available|Key (has expired|was rejected)",
        MountErrorCause(
            ErrorKind.ACCESS_DENIED,
            "A key or certificate that this mount needs is missing or expired.",
            "For Kerberos check the keytab and the clocks of both computers; for TLS check the certificate.",
        ),
    ),
    (
        r"Stale file handle",
        MountErrorCause(
            ErrorKind.EXPORT_MISSING,
            "The server “{server}” no longer knows “{export}”: the directory was replaced or withdrawn.",
            "Have it exported again on the server (exportfs -ra), then try again.",
        ),
    ),
    (
        r"No such file or directory",
        MountErrorCause(
            ErrorKind.EXPORT_MISSING,
            "“{export}” does not exist on the server “{server}”.",
            "Check the path. On the server, exportfs -v shows the exports.",
        ),
    ),
    (
        r"Input/output error|mount system call failed|Connection reset",
        MountErrorCause(
            ErrorKind.IO,
            "The exchange with the server “{server}” failed while mounting.",
            "Often what listens on that port is no NFS server, or the version does not exist. Check port= "
            "and vers=, and the server's log.",
        ),
    ),
)


#: Attributes of MountAttempt that the texts of a cause may contain.
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
    for pattern, cause in MOUNT_RULES:
        if re.search(pattern, attempt.text):
            return _error(_cause_by_options(pattern, attempt) or cause, attempt)
    if attempt.timed_out:
        return _error(UNFINISHED if attempt.server_answers else SILENT, attempt)
    return _error(UNKNOWN, attempt)


def _error(cause: MountErrorCause, attempt: MountAttempt) -> AppError:
    fields = {name: getattr(attempt, name) for name in _FIELDS}
    end = "ended by the deadline" if attempt.timed_out else f"exit code {attempt.exit_code}"
    return AppError(
        cause.kind,
        cause.message.format(**fields),
        hint=cause.hint.format(**fields),
        detail=f"{attempt.text.strip()}\n({end})".strip(),
    )


def _cause_by_options(pattern: str, attempt: MountAttempt) -> MountErrorCause | None:
    """Return a more specific cause that the options suggest for the matched rule, None for none."""
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
