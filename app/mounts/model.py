"""Mounts as the program shows them: configured, active, or both."""

from __future__ import annotations

from typing import Literal

import msgspec

from advisor.lint import Finding  # noqa: TC001 - msgspec reads it at run time

MountState = Literal["mounted", "not-mounted", "not-responding", "stale", "differs"]
#: Why a server is said not to respond: it does not answer, it refuses connections, it cannot be reached, or
#: it answers others while what a mount's connection sent is not acknowledged. Why a mount is stale: the
#: server has replaced or removed the directory (""), or does not export it to this computer any more.
TroubleReason = Literal["", "silent", "refused", "unreachable", "stuck", "withdrawn"]
#: What keeps a configured mount: a line of fstab, a systemd unit, or a map of autofs.
ConfiguredBy = Literal["fstab", "unit", "autofs"]
#: What becomes of a mount at the next boot: it is mounted, or mounted when somebody enters it, or there for
#: “mount” to mount it by hand, or gone because it is saved nowhere.
AfterBoot = Literal["mounted", "on-demand", "by-hand", "gone"]
#: What becomes of a readahead when the share is mounted next: it is the kernel's own value, and comes back; a
#: udev rule of this program saves it; nfs.conf sets it for that version of NFS; or it ends with this mount.
ReadAheadState = Literal["", "default", "saved", "nfs.conf", "until-unmounted"]


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """The persistent side: an fstab entry, a systemd unit, or an entry of an autofs map.

    Attributes:
        origin: file it stands in.
        line: line number there, from 1; 0 of a unit.
        share: server:/export as written; of an autofs map it may have variables, or & in a wildcard's.
        fstype: nfs or nfs4.
        options: the option string as written; of a unit and a map in the words of fstab.
        keeper: what kind of file that is.
        automount: whether it is mounted on demand: by an automount unit beside the unit, or by autofs.
        ours: whether this program changes it: an fstab entry, or a unit that it made. Others are shown only.
        lost: what a unit says beside, for which there is no word in fstab, one sentence each.
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
        options: per-mount and superblock options of mountinfo, merged: what is in use.
        recorded: option string with which it was made, where /run/mount/utab or our own record knows it.
        nconnect: xprt lines in mountstats, 0 if unknown.
        read_ahead_kb: of its bdi, None if unknown.
        read_ahead_state: what becomes of that with the next mount; "" if it is unknown.
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
        item: as it is added to the option string.
        name: canonical name of the option.
        file: that says so.
        section: of the file, as it is written there.
        line: number in the file, from 1.
        beats: the item of the mount's own options that it overrides, or "".
    """

    item: str
    name: str
    file: str
    section: str
    line: int
    beats: str = ""


class MountTrouble(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a live mount.

    Attributes:
        state: not-responding, or stale: the server says that what was mounted is gone.
        since: Unix time of the first sign of it. If it began before anybody looked: when the server was last
            heard, from a connection on which something waits, else what the kernel's log says, else None.
        reason: see :data:`TroubleReason`.
    """

    state: Literal["not-responding", "stale"]
    since: float | None = None
    reason: TroubleReason = ""


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the program.

    Attributes:
        mount_point: absolute path; with ``share`` its identity. It ends in ``/*`` for what an autofs map has
            for every name that is not listed.
        share: server:/export.
        state: mounted, not-mounted, differs (mounted with other options than configured), not-responding
            (its server), stale (the server does not have it any more).
        configured: None if not persistent.
        active: None if not mounted.
        differences: for "differs": one sentence per option.
        requested: options with which mounting it again gives the same mount, and the words for fstab of its
            entry; without what the program, mount.nfs and nfsmount.conf add by themselves.
        added: what nfsmount.conf adds to it.
        after_boot: what becomes of it at the next boot.
        since: of not-responding and stale, as of :class:`MountTrouble`.
        reason: of both, see :data:`TroubleReason`.
        saved_read_ahead_kb: what this program saved for the mount point, KiB, None for nothing.
    """

    mount_point: str
    share: str
    state: MountState
    configured: Configured | None = None
    active: Active | None = None
    differences: list[str] = []
    requested: str = ""
    added: list[AddedOption] = []
    after_boot: AfterBoot = "gone"
    since: float | None = None
    reason: TroubleReason = ""
    saved_read_ahead_kb: int | None = None


class InterruptedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change that the end of an earlier program interrupted, and that left something changed.

    Attributes:
        id: names it, for ``mounts.dismiss``.
        message: what happened, and what is not as it was.
        hint: what to do.
        detail: how it was before, for those who put it right by hand.
    """

    id: str
    message: str
    hint: str
    detail: str


class MountTable(msgspec.Struct, frozen=True, kw_only=True):
    """All NFS mounts of one host.

    Attributes:
        mounts: ordered by share, then mount point.
        warnings: lines of fstab, units and maps that could not be read, one sentence each.
        interrupted: changes that earlier programs did not end.
        now: the host's own clock when this was put together (Unix time), for how long something has lasted.
    """

    mounts: list[Mount]
    warnings: list[str] = []
    interrupted: list[InterruptedChange] = []
    now: float = 0.0


class OptionValue(msgspec.Struct, frozen=True, kw_only=True):
    """One option after mounting: what was asked for and what is in use.

    Attributes:
        name: canonical option name.
        requested: plain value, "" for a bare flag, None if not asked for.
        effective: likewise, None if the kernel shows none.
        note: why they differ (rounded, limited by the server, not shown by the kernel), or "".
    """

    name: str
    requested: str | None
    effective: str | None
    note: str = ""


class MountReport(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to mounts.mount.

    Attributes:
        mount: the new row.
        values: every option asked for and every one the kernel shows, in the catalogue's order.
        command: the command as a person would type it.
        messages: what mount.nfs printed although it succeeded.
        findings: what lint says of the options, errors first.
    """

    mount: Mount
    values: list[OptionValue]
    command: str
    messages: list[str] = []
    findings: list[Finding] = []


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A process that uses a mount.

    Attributes:
        pid: its process id.
        command: its name.
        user: whose it is, "" if unknown.
        use: how it uses the mount: working directory, an open file, …
        own: whether the person may end it without being root.
    """

    pid: int
    command: str
    user: str
    use: str
    own: bool = False


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """What an administrator has to approve by itself, beside the ordinary authorization.

    Attributes:
        reasons: one sentence each.
        mounts: whether it concerns mounting, unmounting or new flags.
        keeps: whether it concerns what fstab or units say.
        words: whether it concerns options that only root may give.
        hides: the first names of what the mount hides.
        hidden: how many entries that are, -1 if the user may not know.
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
    """A change of what is saved of one mount's readahead, shown or made.

    Attributes:
        mount_point: of the mount.
        file: the udev rule.
        diff: unified diff of it, "" if nothing changes.
        sha256: of the file that the diff starts from, "" for none.
        before: what was saved, KiB, None for nothing.
        after: what is saved then, likewise.
        written: whether it was made.
        written_sha256: of the file that was written, "" for none.
        warnings: what a person should know, one sentence each.
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
    """A change of fstab, shown or made.

    Attributes:
        diff: unified diff, "" if nothing changes.
        line: the entry's line, "" if it is taken out.
        sha256: of the file that the diff starts from.
        written: whether it was made.
        written_sha256: of the file that was written, "" in a preview.
        backup: where the file as it was is kept, "" in a preview.
        warnings: what a person should know, one sentence each.
        approval: what an administrator has to approve by itself, None if nothing.
        readahead: what becomes of the readahead that is saved for the mount point, None if none is.
        asks_nofail: whether the computer may start without the server is a question, and nobody answered it.
        given: the options asked for, or those of the live mount, before any were added.
        for_safety: words of the entry that the program adds for safety.
        for_boot: words of the entry that the program adds for the boot.
        findings: of a preview what this computer lacks for the mount, then what lint says of the options.
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
