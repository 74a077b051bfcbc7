"""Mounts as the program shows them: configured, active, or both."""

from __future__ import annotations

from typing import Literal

import msgspec

from advisor.finding import Finding  # noqa: TC001 - msgspec reads it at run time
from advisor.message import Message  # noqa: TC001 - msgspec reads it at run time

MountState = Literal["mounted", "not-mounted", "not-responding", "stale", "differs"]
#: Reason of "not-responding": the server is "silent", has "refused" the connection or is "unreachable", or
#: the mount's own connection is "stuck": its segments are not acknowledged although the server accepts other
#: connections. Reason of "stale": "withdrawn" if the server no longer exports the directory to this computer,
#: "" if the server replaced or removed the directory.
TroubleReason = Literal["", "silent", "refused", "unreachable", "stuck", "withdrawn"]
#: Kind of file that configures a mount: fstab, a systemd unit, or an autofs map.
ConfiguredBy = Literal["fstab", "unit", "autofs"]
#: State of a mount after the next boot: mounted; mounted on demand at its first use; configured for a manual
#: mount(8); or gone because no file configures it.
AfterBoot = Literal["mounted", "on-demand", "by-hand", "gone"]
#: Why a readahead will or will not return at the next mount: it is the kernel's default; a udev rule of this
#: program saves it; nfs.conf sets it for this NFS version; or it lasts until the unmount. "" is unknown.
ReadAheadState = Literal["", "default", "saved", "nfs.conf", "until-unmounted"]


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """The persistent side: an fstab entry, a systemd unit, or an entry of an autofs map.

    Attributes:
        origin: path of the file.
        line: line number in the file, from 1; 0 for a unit.
        share: server:/export as written; in an autofs map it may contain variables, or & for a wildcard key.
        fstype: nfs or nfs4.
        options: the option string as written; for a unit or a map, translated to the syntax of fstab.
        keeper: kind of the file.
        automount: whether it is mounted on demand, by an automount unit or by autofs.
        ours: whether this program may change it: an fstab entry, or a unit that this program made.
        lost: settings of a unit without an equivalent in fstab, one sentence each.
    """

    origin: str
    line: int
    share: str
    fstype: str
    options: str
    keeper: ConfiguredBy = "fstab"
    automount: bool = False
    ours: bool = True
    lost: tuple[str, ...] = ()


class Active(msgspec.Struct, frozen=True, kw_only=True):
    """The live side: one row of mountinfo.

    Attributes:
        mount_id: mountinfo field 1.
        device: major:minor; equal for mounts that share a superblock.
        share: source as the kernel prints it.
        fstype: nfs or nfs4.
        options: options in use: per-mount and superblock options of mountinfo, merged.
        recorded: option string of the mount call, from /run/mount/utab or this program's record; None if
            neither has it.
        nconnect: number of connections (xprt lines in mountstats), 0 if unknown.
        read_ahead_kb: readahead of its backing device (bdi), KiB; None if unknown.
        read_ahead_state: why the readahead will or will not return at the next mount.
    """

    mount_id: int
    device: str
    share: str
    fstype: str
    options: str
    recorded: str | None = None
    nconnect: int = 0
    read_ahead_kb: int | None = None
    read_ahead_state: ReadAheadState = ""


class AddedOption(msgspec.Struct, frozen=True, kw_only=True):
    """An option that nfsmount.conf adds to a mount.

    Attributes:
        item: the item added to the option string.
        name: canonical name of the option.
        file: path of the configuration file.
        section: header of the section in the file, as written.
        line: line number in the file, from 1.
        beats: the item of the mount's own options that it overrides, "" for none.
    """

    item: str
    name: str
    file: str
    section: str
    line: int
    beats: str = ""


class MountTrouble(msgspec.Struct, frozen=True, kw_only=True):
    """Problem of a live mount.

    Attributes:
        state: not-responding; or stale, if the server reports that the mounted directory is gone.
        since: Unix time of the first sign, seconds. If the problem is older than the first check: the time of
            the server's last segment on a waiting connection, else the time in the kernel's log, else None.
        reason: the cause, see :data:`TroubleReason`.
    """

    state: Literal["not-responding", "stale"]
    since: float | None = None
    reason: TroubleReason = ""


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """One mount as the program lists it: configured, active, or both.

    Attributes:
        mount_point: absolute path; together with ``share`` it identifies the mount. It ends in ``/*`` for the
            wildcard entry of an autofs map.
        share: server:/export.
        state: mounted; not-mounted; differs (mounted with options other than configured); not-responding (the
            server does not answer); stale (the server no longer has the directory).
        configured: the saved entry, None if no file configures the mount.
        active: the live mount, None if not mounted.
        differences: with state "differs": one message per option.
        requested: options that recreate this mount, with the fstab-only options of its entry. Options that
            the program, mount.nfs and nfsmount.conf add automatically are left out.
        added: options that nfsmount.conf adds.
        after_boot: state of the mount after the next boot.
        since: start of a problem with state not-responding or stale, as in :class:`MountTrouble`.
        reason: cause of that problem, see :data:`TroubleReason`.
        saved_read_ahead_kb: readahead that this program saved for the mount point, KiB; None for none.
    """

    mount_point: str
    share: str
    state: MountState
    configured: Configured | None = None
    active: Active | None = None
    differences: list[Message] = []
    requested: str = ""
    added: list[AddedOption] = []
    after_boot: AfterBoot = "gone"
    since: float | None = None
    reason: TroubleReason = ""
    saved_read_ahead_kb: int | None = None


class InterruptedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was interrupted because the program ended, and that was not rolled back.

    Attributes:
        id: identifier of the change, for ``mounts.dismiss``.
        message: when it was interrupted, and what differs from the state before it.
        hint: how to repair it.
        detail: the commands and entries of the state before the change, for a manual repair.
    """

    id: str
    message: str
    hint: str
    detail: str


class MountTable(msgspec.Struct, frozen=True, kw_only=True):
    """All NFS mounts of one host.

    Attributes:
        mounts: the mounts, ordered by share, then mount point.
        warnings: one sentence for each line of fstab, unit or map that could not be read.
        interrupted: interrupted changes of earlier runs of the program.
        now: clock of the host when the table was read (Unix time, seconds), to compute durations.
    """

    mounts: list[Mount]
    warnings: list[str] = []
    interrupted: list[InterruptedChange] = []
    now: float = 0.0


class OptionValue(msgspec.Struct, frozen=True, kw_only=True):
    """Requested and effective value of one option of a mount.

    Attributes:
        name: canonical option name.
        requested: requested value, "" for a flag without a value, None if not requested.
        effective: value in use, "" for a flag without a value, None if the kernel shows none.
        note: why they differ, or where the value comes from, None if they agree; its code is an
            :class:`app.mounts.option_comparison.OptionNote`.
    """

    name: str
    requested: str | None
    effective: str | None
    note: Message | None = None


class MountReport(msgspec.Struct, frozen=True, kw_only=True):
    """Result of ``mounts.mount``.

    Attributes:
        mount: the new mount.
        values: every requested option and every one the kernel shows, in the order of the catalogue.
        command: the equivalent mount command.
        messages: lines that mount.nfs printed although it succeeded.
        findings: lint findings on the options, errors first.
    """

    mount: Mount
    values: list[OptionValue]
    command: str
    messages: list[str] = []
    findings: list[Finding] = []


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A process that uses a mount.

    Attributes:
        pid: process id.
        command: name of the program.
        user: name of the user that runs it, "" if unknown.
        use: how it uses the mount, for example “working directory” or an open file.
        own: whether this user may end it without being root.
    """

    pid: int
    command: str
    user: str
    use: str
    own: bool = False


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A separate approval by an administrator, required in addition to the ordinary authorization.

    Attributes:
        reasons: why an administrator has to approve the change, one sentence each.
        mounts: whether the approval covers mounting, unmounting or new flags.
        keeps: whether the approval covers writing fstab or units.
        words: whether the approval covers options that only root may use.
        hides: the first names of the directory entries that the mount hides.
        hidden: number of hidden directory entries, -1 if this user may not list them.
        holders: processes that use the directory that the mount hides.
    """

    reasons: list[str]
    mounts: bool = False
    keeps: bool = False
    words: bool = False
    hides: list[str] = []
    hidden: int = 0
    holders: list[Holder] = []


class ReadaheadReport(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the saved readahead of one mount point, previewed or written.

    Attributes:
        mount_point: absolute path.
        file: path of the udev rule.
        diff: unified diff of the rule, "" if nothing changes.
        sha256: checksum of the rule before the change, "" if there was none.
        before: saved readahead before the change, KiB; None for none.
        after: saved readahead after the change, KiB; None for none.
        written: whether the change was written.
        written_sha256: checksum of the written rule, "" for none.
        warnings: warnings for the person, one sentence each.
    """

    mount_point: str
    file: str
    diff: str
    sha256: str
    before: int | None = None
    after: int | None = None
    written: bool = False
    written_sha256: str = ""
    warnings: list[str] = []


class SavedEntryReport(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a saved entry (fstab or units), previewed or written.

    Attributes:
        diff: unified diff, "" if nothing changes.
        line: the line of the fstab entry, "" if it is removed.
        sha256: checksum of the file before the change.
        written: whether the change was written.
        written_sha256: checksum of the written file, "" in a preview.
        backup: path of the copy of the file before the change, "" in a preview.
        warnings: warnings for the person, one sentence each.
        approval: separate approval by an administrator that the change needs, None for none.
        readahead: change of the readahead saved for the mount point, None if none is saved.
        asks_nofail: whether the person still has to decide if the computer may boot without the server.
        given: the requested options, or those of the live mount, before the program added any.
        for_safety: options of the entry that the program adds for safety (nosuid, nodev).
        for_boot: options of the entry that the program adds for the boot (_netdev, nofail).
        findings: in a preview, missing prerequisites of this computer, then lint findings on the options.
    """

    diff: str
    line: str
    sha256: str
    written: bool = False
    written_sha256: str = ""
    backup: str = ""
    warnings: list[str] = []
    approval: Approval | None = None
    readahead: ReadaheadReport | None = None
    asks_nofail: bool = False
    given: str = ""
    for_safety: list[str] = []
    for_boot: list[str] = []
    findings: list[Finding] = []


class WaitingArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.waiting``: list the processes that wait for a mount."""

    mount_point: str


class WaitingProcesses(msgspec.Struct, frozen=True, kw_only=True):
    """Processes that wait for the server of a mount.

    Attributes:
        own: waiting processes that this user may inspect.
        others: number of blocked processes of other users, which may wait for this mount.
    """

    own: list[Holder] = []
    others: int = 0


#: Result of a query: the space is known; the server did not answer in time; no NFS mount, or a different one,
#: is at the mount point; or statvfs(3) failed.
SpaceState = Literal["known", "no-answer", "not-mounted", "failed"]
#: Resource that is nearly used up: bytes or inodes.
SpaceShortage = Literal["bytes", "files"]


class SpaceArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.space``: read the space of the mount at a mount point."""

    mount_point: str


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """Space of a mounted share (statvfs(3)).

    Attributes:
        mount_point: absolute path.
        state: result of the query; unless "known", all numbers are 0.
        total_bytes: size of the file system, bytes.
        free_bytes: free space, including blocks reserved for root, bytes.
        available_bytes: space available to ordinary users, without regard to quotas, bytes.
        total_files: number of inodes, 0 if the file system has no fixed number.
        available_files: number of free inodes.
        short: resources that are nearly used up.
        error: with state "failed": name of the error, such as ESTALE.
        age_s: time since the query, seconds.
    """

    mount_point: str
    state: SpaceState
    total_bytes: int = 0
    free_bytes: int = 0
    available_bytes: int = 0
    total_files: int = 0
    available_files: int = 0
    short: list[SpaceShortage] = []
    error: str = ""
    age_s: float = 0.0


#: Source of the lines: the journal or the kernel's log. "none": this computer has neither. "forbidden": this
#: user may read neither.
LogSource = Literal["journal", "kernel", "none", "forbidden"]


class LogArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.log``: read the log lines about one mount.

    Attributes:
        mount_point: absolute path.
        since_s: length of the period up to now, seconds.
        lines: largest number of lines, the newest ones.
    """

    mount_point: str
    since_s: float = 86400.0
    lines: int = 200


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the log.

    Attributes:
        time_s: Unix time, seconds.
        program: "kernel", or the name of a program.
        priority: severity as in syslog(3): 0 emergency to 7 debug.
        text: the message.
    """

    time_s: float
    program: str
    priority: int
    text: str


class MountLog(msgspec.Struct, frozen=True, kw_only=True):
    """The log lines about one mount.

    Attributes:
        lines: the lines, oldest first.
        source: source of the lines.
        partial: whether the limit of time, bytes or lines was reached, so that lines may be missing.
        group: group whose members may read the journal, if this user may not and the kernel's log was read
            instead; "" if there is no journal, or if the journal was read.
    """

    lines: list[LogLine]
    source: LogSource
    partial: bool = False
    group: str = ""
