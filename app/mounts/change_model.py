"""Change of a mount: structs of its request, its plan, its progress and its report.

Every change has the same phases: plan, verify by a private mount, back up, change, compare, keep or revert.
A failure in any phase rolls the change back automatically.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from advisor.finding import Finding  # noqa: TC001 - msgspec reads it at run time
from advisor.message import Message  # noqa: TC001 - msgspec reads it at run time
from app.helper_client import MOUNT_TIMEOUT_S
from app.mounts.model import Approval, Holder, MountReport  # noqa: TC001 - msgspec reads them at run time

#: Where a mount is saved: nowhere (it ends at the unmount or shutdown), in fstab, or in systemd units.
SaveTarget = Literal["nowhere", "fstab", "systemd"]

#: How an option change takes effect: "live" by a write to the running kernel, "remount" by a remount,
#: "mount" by an unmount and a mount, "host" by a change for the whole computer, "boot" at the next boot.
RequiredAction = Literal["live", "remount", "mount", "host", "boot"]

#: How to treat programs that use the mount: "ask" fails and lists them, "wait" waits until they end,
#: "next-boot" changes only the saved entry, "stop" terminates them, "lazy" detaches the mount (umount2(2)).
BusyChoice = Literal["ask", "wait", "next-boot", "stop", "lazy"]

StepKind = Literal["verify", "back-up", "write", "reload", "tune", "save", "remount", "unmount", "mount",
                   "check", "keep", "revert"]  # fmt: skip
StepState = Literal["begun", "done", "failed", "skipped"]

#: How a change affects the live mount: "none" not at all, "mount" mounts a share that is not mounted,
#: "remount" changes flags, "again" unmounts and mounts.
LiveAction = Literal["none", "mount", "remount", "again"]

#: Longest time to confirm a change, seconds. The rollback needs its helper, which runs for 10 minutes.
MAX_KEEP_S = 480.0


class ApplyArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.plan`` and ``mounts.apply``: a requested change of a mount.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        options: option string as in fstab, with those for the boot (noauto, x-systemd.automount, nofail).
        exact: whether to save exactly these options. Otherwise a new entry also gets _netdev and nofail, and
            a changed entry retains the ones of these two that it had.
        fstype: nfs or nfs4; "" retains the type of an old entry and means nfs for a new one.
        keeper: where to save the mount.
        replaces: mount point of the saved entry to change; "" for the entry of ``mount_point``, if any.
        mount: whether to mount now, or to apply the new options to a live mount.
        again: whether to unmount and mount a live mount even if nothing changes, to repair a stale one.
        read_ahead_kb: readahead of the mount, KiB; None to leave it.
        save_read_ahead: whether to save ``read_ahead_kb``, or else the present readahead, for every mount.
        expected_sha256: checksum of the saved file that the plan showed; another one is refused. "" accepts
            any file.
        busy: how to treat programs that use the mount.
        wait_s: longest wait for them with ``busy`` "wait", seconds.
        keep_s: time to confirm the change of a live mount by ``mounts.keep``, seconds, at most MAX_KEEP_S;
            0 keeps the change without confirmation.
        timeout_s: deadline of each mount, seconds.
        approved: whether the person agreed to the administrator approval that the plan lists.
    """

    share: str
    mount_point: str
    options: str = ""
    exact: bool = False
    fstype: str = ""
    keeper: SaveTarget = "nowhere"
    replaces: str = ""
    mount: bool = True
    again: bool = False
    read_ahead_kb: int | None = None
    save_read_ahead: bool = False
    expected_sha256: str = ""
    busy: BusyChoice = "ask"
    wait_s: float = 60.0
    keep_s: float = 0.0
    timeout_s: float = MOUNT_TIMEOUT_S
    approved: bool = False


class PersistArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.persist``: write an NFS entry to fstab, or change one.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        options: option string as in fstab; None retains the options of an old entry.
        exact: whether to write exactly these options. Otherwise a new entry also gets _netdev and nofail, and
            a changed entry retains the ones of these two that it had.
        fstype: nfs or nfs4; "" retains the type of an old entry and means nfs for a new one.
        replaces: mount point of the entry to change; "" changes the entry of ``mount_point``, or adds one.
        preview: whether to return the diff without writing.
        expected_sha256: checksum of the file that a preview showed; another one is refused. "" accepts any.
        approved: whether the person agreed to the administrator approval that the preview lists.
    """

    share: str
    mount_point: str
    options: str | None = None
    exact: bool = False
    fstype: str = ""
    replaces: str = ""
    preview: bool = False
    expected_sha256: str = ""
    approved: bool = False


class RemoveArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.forget``: remove a mount point from fstab, or the units that this program made.

    The readahead saved for the mount point is removed too. PersistArgs describes the fields.
    """

    mount_point: str
    preview: bool = False
    expected_sha256: str = ""
    approved: bool = False


class ReadaheadArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.readahead``: save the readahead that a mount point gets at every mount.

    Attributes:
        mount_point: absolute path.
        read_ahead_kb: readahead to save, KiB; None removes the saved one.
        preview: whether to return the diff without writing.
        expected_sha256: checksum of the rule that a preview showed, "" for no rule; None accepts any rule.
    """

    mount_point: str
    read_ahead_kb: int | None = None
    preview: bool = False
    expected_sha256: str | None = None


class PlannedOptionChange(msgspec.Struct, frozen=True, kw_only=True):
    """One option that changes.

    Attributes:
        name: canonical name of the option.
        before: plain value before the change, None if the option was not requested.
        after: plain value after the change, None if the option is not requested.
        takes: how the change takes effect.
        note: when it takes effect, or why not at once; None for nothing to say. Its code is a
            :class:`app.mounts.option_changes.ChangeNote`.
    """

    name: str
    before: str | None
    after: str | None
    takes: RequiredAction
    note: Message | None = None


class ApplyStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a plan.

    Attributes:
        kind: the kind of step.
        text: one sentence for the person.
        command: the equivalent shell command, "" if there is none.
    """

    kind: StepKind
    text: str
    command: str = ""


class Interruption(msgspec.Struct, frozen=True, kw_only=True):
    """Interruption of a live mount by a change.

    Attributes:
        effect: "nothing"; "at-once" for a change while mounted; "next-mount" for a change that the next mount
            applies; "first-mount" for a share that is not mounted; "interrupts" for an unmount and a mount.
        mount_point: mount point that cannot be used during the change, "" for none.
        typical_s: usual duration of the interruption, seconds.
        most_s: longest duration until the change fails and is rolled back, seconds.
    """

    effect: Literal["nothing", "at-once", "next-mount", "first-mount", "interrupts"] = "nothing"
    mount_point: str = ""
    typical_s: float = 0.0
    most_s: float = 0.0


class ApplyPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of a change; making it changes nothing.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        changes: the options that change, in the order of the catalogue.
        steps: the steps in the order of execution; empty if nothing changes.
        diff: unified diff of fstab or of the units, "" if they do not change.
        sha256: checksum of fstab or of the units, for ``expected_sha256``.
        rule_diff: unified diff of the udev rule that saves the readahead, "" if it does not change.
        volatile_kb: readahead that the next unmount would lose, KiB; None if it loses none.
        interruption: interruption of the live mount.
        can_wait: whether the change mounts or remounts something that could also be mounted later.
        sharing: mount points that share the server's connections, and so keep the settings of these.
        holders: processes that use the mount now.
        warnings: warnings for the person, one sentence each.
        approval: separate approval by an administrator that the change needs, None for none.
        restricted: whether the mount point is outside the directories for mounts. There the person decides
            whether the computer may boot without the server (nofail).
        asks_nofail: whether the person has to make that decision and has not made it.
        for_safety: options of the entry and the mount that the program adds for safety (nosuid, nodev).
        for_boot: options of the entry that the program adds for the boot (_netdev, nofail).
        findings: missing prerequisites of this computer, then the lint findings on the options.
    """

    share: str
    mount_point: str
    changes: list[PlannedOptionChange]
    steps: list[ApplyStep]
    diff: str = ""
    sha256: str = ""
    rule_diff: str = ""
    volatile_kb: int | None = None
    interruption: Interruption = Interruption()
    can_wait: bool = False
    sharing: list[str] = []
    holders: list[Holder] = []
    warnings: list[str] = []
    approval: Approval | None = None
    restricted: bool = False
    asks_nofail: bool = False
    for_safety: list[str] = []
    for_boot: list[str] = []
    findings: list[Finding] = []


class ApplyEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a change.

    Attributes:
        step: index of the step in the plan; of a revert, the index of the step that is undone.
        kind: kind of the step, or "revert".
        state: state of the step.
        text: one sentence, for example why the step failed.
        holders: processes that use the mount, during an unmount.
        keep_s: with kind "keep": time left to confirm the change before it is reverted, seconds.
    """

    step: int
    kind: StepKind
    state: StepState
    text: str = ""
    holders: list[Holder] = []
    keep_s: float = 0.0


class ApplyReport(msgspec.Struct, frozen=True, kw_only=True):
    """Report of a completed change. A failed change is an AppError that states the result of its rollback.

    Attributes:
        plan: the plan that was carried out.
        report: the mount after the change, with requested and effective options; None if nothing is mounted.
        backup: path of the copy of the file before the change, "" if no file changed.
        diff: unified diff that was written, "" for none.
        warnings: warnings in addition to those of the plan, one sentence each.
        differences: options whose value in use differs from the requested one.
    """

    plan: ApplyPlan
    report: MountReport | None = None
    backup: str = ""
    diff: str = ""
    warnings: list[str] = []
    differences: list[Message] = []


class DismissArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.dismiss``: stop reporting an interrupted change.

    Attributes:
        id: identifier of the interrupted change.
    """

    id: str


class KeepArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.keep``: confirm a change before its time runs out.

    Attributes:
        id: number of the request that applies the change.
    """

    id: int


SavedIn = Literal["fstab", "systemd", "autofs", "nowhere"]


class MountEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One mount of a file of mounts.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        options: option string as in fstab.
        fstype: nfs or nfs4.
        saved_in: where the mount was saved on the other computer.
        readahead_kib: saved or present readahead, KiB; None for a default.
        line: line of the file where the entry begins, from 1; 0 if unknown.
    """

    share: str
    mount_point: str
    options: str = ""
    fstype: Literal["nfs", "nfs4"] = "nfs"
    saved_in: SavedIn = "fstab"
    readahead_kib: int | None = None
    line: int = 0


#: State of an entry compared with this computer: no entry is saved for its mount point; the same entry is
#: saved; a different one is saved; or the entry cannot be written here.
ImportStatus = Literal["new", "same", "differs", "refused"]
#: Result of an entry: written; already saved; not selected; failed and rolled back; or not begun, because the
#: import was stopped before it.
ImportResult = Literal["written", "same", "not-chosen", "failed", "not-begun"]
#: Where to save all entries; "" saves each one where the file says.
SaveIn = Literal["", "fstab", "systemd"]


class ImportPlanArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.import-plan``: entries of a file, and where to save them."""

    entries: list[MountEntry]
    save_in: SaveIn = ""


class ImportFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A lint finding on the options of an entry: an error or a warning."""

    severity: Literal["error", "warning", "info"]
    title: str
    why: str


class ImportItem(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of one entry of the import.

    Attributes:
        entry: the entry of the file.
        status: its state compared with this computer.
        options: options to write: those of the entry, with _netdev,nofail for an entry that was not saved.
        saved_in: where the entry would be saved.
        diff: unified diff of fstab or the units and of the udev rule, "" unless new or differs.
        error: why the entry cannot be written, "" if it can.
        hint: how to solve that error.
        findings: lint findings on the options.
        notes: warnings for the person, one sentence each.
        approval: separate approval by an administrator that the change needs, None for none.
        chosen: whether the entry is preselected: it is new or differs, and lint finds no error.
    """

    entry: MountEntry
    status: ImportStatus
    options: str
    saved_in: SavedIn
    diff: str = ""
    error: str = ""
    hint: str = ""
    findings: list[ImportFinding] = []
    notes: list[str] = []
    approval: Approval | None = None
    chosen: bool = False


class ImportPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of an import; making it changes nothing.

    Attributes:
        items: plans of the entries, in the order of the file.
        root: whether the agent runs as root, so that polkit does not ask for a password.
    """

    items: list[ImportItem]
    root: bool = False


class ImportChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A selected entry: its index in the file, from 0, and the diff that was shown."""

    index: int
    diff: str


class ImportArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.import``: write the selected entries of a file.

    Attributes:
        entries: all entries of the file.
        save_in: where to save the entries, the same as in the plan that was shown.
        choices: the selected entries.
        mount: whether to mount written entries that are not mounted.
        approved: whether the person agreed to the administrator approvals that the plan lists.
    """

    entries: list[MountEntry]
    choices: list[ImportChoice]
    save_in: SaveIn = ""
    mount: bool = False
    approved: bool = False


class ImportOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one entry.

    Attributes:
        mount_point: mount point of the entry.
        result: the result, see ImportResult.
        message: why the entry failed, or why a written entry could not be mounted; "" for neither.
        hint: how to solve that.
        backup: path of the copy of the file before the change, "" if nothing was written.
        mounted: whether the import mounted the share.
    """

    mount_point: str
    result: ImportResult
    message: str = ""
    hint: str = ""
    backup: str = ""
    mounted: bool = False


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """Results of all entries, in the order of the file."""

    outcomes: list[ImportOutcome]

    @property
    def complete(self) -> bool:
        """Whether every selected entry was written, and mounted where requested."""
        return all(one.result not in {"failed", "not-begun"} and not one.message for one in self.outcomes)


class ImportProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Start of one entry of an import: mount point, number from 1, and count of selected entries."""

    mount_point: str
    number: int
    count: int


class ForeignArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.foreign``: preview the import of the foreign entry of a mount point."""

    mount_point: str


class ForeignEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A foreign entry, translated to an entry of this program.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        fstype: nfs or nfs4.
        origin: path of the file with the foreign entry.
        options: option string for fstab with all options that can be written.
        plain_options: the same without the options that only root may write.
        reserved: one sentence for each option that only root may write, with the reason.
        lost: one sentence for each setting that cannot be translated.
    """

    share: str
    mount_point: str
    fstype: str
    origin: str
    options: str
    plain_options: str
    reserved: list[str]
    lost: list[str]

    @property
    def is_plain(self) -> bool:
        """Whether the import is complete and needs no decision of the person."""
        return not (self.reserved or self.lost)


class MountSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a live mount at one moment.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        options: requested options of the live mount.
        read_ahead_kb: readahead of the live mount, KiB; None if unknown.
        saved_in: where this program saves the mount, "nowhere" also for entries of other programs.
        saved_options: options of the saved entry as written, "" without one.
        fstype: file system type of the saved entry, "" without one.
        saved_read_ahead_kb: readahead saved for the mount point, KiB; None for none.
    """

    share: str
    mount_point: str
    options: str
    read_ahead_kb: int | None = None
    saved_in: SaveTarget = "nowhere"
    saved_options: str = ""
    fstype: str = ""
    saved_read_ahead_kb: int | None = None


class RestoreArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``mounts.restore``: settings to restore.

    Attributes:
        settings: the settings before the change.
        approved: whether the person agreed to the administrator approval that the change needed.
    """

    settings: MountSettings
    approved: bool = False
