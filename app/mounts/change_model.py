"""Change of a mount: the structs of the request, the plan, its progress and its report.

Every change goes the same way: plan, verify (a private test mount), back up, change, re-read, and keep or
revert. A failure anywhere goes back to what was, by itself.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from advisor.lint import Finding  # noqa: TC001 - msgspec reads it at run time
from app.helper_client.client import MOUNT_TIMEOUT_S
from app.mounts.model import Approval, Holder, MountReport  # noqa: TC001 - msgspec reads them at run time

#: Where a mount is kept: nowhere (until unmounted or shut down), in fstab, or in systemd units of its own.
SaveTarget = Literal["nowhere", "fstab", "systemd"]

#: What a changed option takes: nothing but a write to a running kernel, a remount, unmounting and mounting,
#: a change for the whole host, or the next start of the computer.
RequiredAction = Literal["live", "remount", "mount", "host", "boot"]

#: What to do when programs use the mount: fail and say which; wait for them; change what is kept and leave
#: the mount as it is until the next start; end the programs; detach the mount from under them.
BusyChoice = Literal["ask", "wait", "next-boot", "stop", "lazy"]

StepKind = Literal["verify", "back-up", "write", "reload", "tune", "save", "remount", "unmount", "mount",
                   "check", "keep", "revert"]  # fmt: skip
StepState = Literal["begun", "done", "failed", "skipped"]

#: What becomes of the live mount: nothing, a first mount, a remount, or unmounting and mounting.
LiveAction = Literal["none", "mount", "remount", "again"]

#: The way back needs the helper that made the change, which serves for ten minutes.
MAX_KEEP_S = 480.0


class ApplyArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.plan`` and ``mounts.apply``.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        options: as in fstab, with what says when to mount (noauto, x-systemd.automount, nofail).
        exact: save these options alone. Else a new entry gets _netdev and nofail too, and an old one keeps
            those of both that it had.
        fstype: nfs or nfs4; "" leaves that of an old entry, and is nfs for a new one.
        keeper: where the mount is to be kept.
        replaces: mount point of the kept entry to change; "" for the one at ``mount_point``, if any.
        mount: whether it is to be mounted now (or mounted again with the new options, if it is).
        again: unmount and mount a live mount even if nothing changes, which mends a stale one.
        read_ahead_kb: readahead of the mount, None to leave it.
        save_read_ahead: whether the mount is to have that, or the one it has now, whenever it is mounted.
        expected_sha256: of the kept file that the plan showed; another one is refused. "" takes any.
        busy: what to do when programs use the mount.
        wait_s: with ``busy`` "wait": for how long.
        keep_s: after the change of a live mount: time to say ``mounts.keep``, at most MAX_KEEP_S; 0 keeps it
            unasked.
        timeout_s: deadline of each mount.
        approved: the person has agreed to ask an administrator for what the plan says has to be approved.
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
    """``mounts.persist``: write an NFS entry to fstab, or change one.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        options: as in fstab; None leaves those of an old entry.
        exact: write these options alone. Else a new entry gets _netdev and nofail too, and an old one keeps
            those of both that it had.
        fstype: nfs or nfs4; "" leaves that of an old entry, and is nfs for a new one.
        replaces: mount point of the entry to change; "" changes the one at ``mount_point``, or adds one.
        preview: only tell what would be written.
        expected_sha256: of the file that a preview showed; another one is refused. "" takes any.
        approved: the person has agreed to ask an administrator, where the preview says that one has to.
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
    """``mounts.forget``: take a mount point out of fstab, or out of units of our own; see PersistArgs.

    The readahead that is saved for it goes with it.
    """

    mount_point: str
    preview: bool = False
    expected_sha256: str = ""
    approved: bool = False


class ReadaheadArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.readahead``: save the readahead of a mount point for every time that it is mounted.

    Attributes:
        mount_point: absolute path.
        read_ahead_kb: to save, KiB; None removes what is saved.
        preview: only tell what would be written.
        expected_sha256: of the rule that a preview showed, "" for none; None takes any.
    """

    mount_point: str
    read_ahead_kb: int | None = None
    preview: bool = False
    expected_sha256: str | None = None


class PlannedOptionChange(msgspec.Struct, frozen=True, kw_only=True):
    """One option that changes; ``before`` and ``after`` are plain values, None for “not given”."""

    name: str
    before: str | None
    after: str | None
    takes: RequiredAction
    note: str = ""


class ApplyStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step: a sentence, and the exact command it stands for ("" where none says it)."""

    kind: StepKind
    text: str
    command: str = ""


class Interruption(msgspec.Struct, frozen=True, kw_only=True):
    """What of a live mount a change interrupts.

    Attributes:
        effect: of the change: it does nothing, changes a live mount that stays, counts from the next mount
            on, is a first mount, or unmounts and mounts.
        mount_point: that cannot be used meanwhile, "" if none.
        typical_s: for how long as a rule, seconds.
        most_s: until the change is given up and goes back.
    """

    effect: Literal["nothing", "at-once", "next-mount", "first-mount", "interrupts"] = "nothing"
    mount_point: str = ""
    typical_s: float = 0.0
    most_s: float = 0.0


class ApplyPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a change would do; nothing is touched by it.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        changes: the options that change, in the catalogue's order.
        steps: in the order in which they are done; empty if there is nothing to do.
        diff: of the kept file (fstab, or the units), "" if it stays.
        sha256: of the kept file, for ``expected_sha256``.
        rule_diff: of the udev rule that saves the readahead, "" if it stays.
        volatile_kb: readahead that the mount would lose when it is unmounted, KiB; None for none.
        interruption: of the live mount.
        can_wait: whether mounting now and mounting later are two things.
        sharing: mount points that share the server's connections, and so keep what belongs to them.
        holders: processes that use the mount now.
        warnings: what a person should know, one sentence each.
        approval: what an administrator has to approve by itself, None if nothing.
        restricted: whether the mount point is outside the directories for mounts: whether the computer may
            start without the server is a question there.
        asks_nofail: whether nobody has answered that question.
        for_safety: words of what is written and mounted that the program adds for safety.
        for_boot: words of the entry that the program adds for the boot.
        findings: what this computer lacks for the mount, then what lint says of the options.
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
    """How far a change is.

    Attributes:
        step: index in the plan's steps; of a revert, the last one that was done.
        kind: of the step, or "revert".
        state: of the step.
        text: a sentence, for example why it failed.
        holders: while programs that use the mount are waited for.
        keep_s: with kind "keep": seconds until the change is reverted.
    """

    step: int
    kind: StepKind
    state: StepState
    text: str = ""
    holders: list[Holder] = []
    keep_s: float = 0.0


class ApplyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a change that was kept. A failed one is an AppError that says what is as it was.

    Attributes:
        plan: what was done.
        report: the mount as it is now, requested against effective; None if nothing is mounted.
        backup: of the kept file as it was, "" if it stays.
        diff: what was written, "" if nothing.
        warnings: one sentence each.
    """

    plan: ApplyPlan
    report: MountReport | None = None
    backup: str = ""
    diff: str = ""
    warnings: list[str] = []


class DismissArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.dismiss``: the person has seen that this change was interrupted, and it is told no more."""

    id: str


class KeepArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.keep``: the person has said that the change of this request is to stay."""

    id: int
