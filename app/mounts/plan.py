"""Plan of a change of a mount: its steps, warnings and commands, computed without changing anything.

Planning probes the server of a live mount by a TCP connection only. It accesses neither the mount point nor
anything below it, so a dead server cannot block it.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from advisor.dialects.linux import mount_command
from advisor.options import YES, MountOptions, catalogue, options_for_mount
from app.errors import AppError
from app.helper.options import ALWAYS
from app.helper.policy import Place, place_of
from app.helper.readahead import MAX_READ_AHEAD_KB
from app.kernel.utab import plain_share
from app.mounts.approval import move_error
from app.mounts.change_model import MAX_KEEP_S, ApplyPlan, ApplyStep, Interruption
from app.mounts.entry_options import EntryOptions, options_of_entry
from app.mounts.findings import lint_mount, merge_findings
from app.mounts.foreign_entries import check_ownership
from app.mounts.option_changes import ChangeNote, changes_shared_superblock, option_changes, remount_options
from app.mounts.option_comparison import values_in_use
from app.mounts.parsing import parse_options, parse_share, share_to_mount
from app.mounts.saved_readahead import (
    KERNEL_READ_AHEAD_KB,
    ReadaheadRule,
    read_rule,
    rule_diff,
    same_readahead,
)
from app.text.errors import ErrorCode
from app.text.message import message_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.finding import Finding
    from advisor.nfsmount_conf import AddedConfOption
    from app.mounts.change_model import ApplyArgs, LiveAction, PlannedOptionChange
    from app.mounts.config_store import ConfigPreview, ConfigStore
    from app.mounts.model import Approval, Holder, Mount, MountTable

#: How long an unmount may take before the change is rolled back, seconds.
UNMOUNT_TIMEOUT_S = 20.0
#: Usual time between unmounting and mounting (two round trips to the server, two processes), seconds.
_TYPICAL_INTERRUPTION_S = 1.0
_SYSTEMD = "/run/systemd/system"


@dataclass(frozen=True, slots=True)
class HostView:
    """Read-only view of this host for planning: functions that tests replace.

    Attributes:
        table: returns the mounts of this host.
        kept: previews the change of fstab or of systemd units.
        probe: takes host and port; returns the error of a TCP connection to the server, None if it answers.
        check_point: takes share and path; returns the error of a new mount point, None for a valid one.
        holders: takes a mount point; returns the processes that use the mount and that this user may see.
        has_client: takes address and NFS version; returns whether the kernel has a client of that server.
        added: takes share, mount point and options; returns the options that nfsmount.conf adds.
        approval: takes the request and the live action; returns the necessary approval.
        missing_prerequisites: takes share, mount point and options; returns findings on missing
            prerequisites of this computer.
        rule: takes a mount point; returns the udev rule that saves its readahead.
    """

    table: Callable[[], MountTable]
    kept: ConfigStore
    probe: Callable[[str, int], AppError | None]
    check_point: Callable[[str, str], AppError | None]
    holders: Callable[[str], list[Holder]]
    has_client: Callable[[str, str], bool]
    added: Callable[[str, str, MountOptions], list[AddedConfOption]]
    approval: Callable[[ApplyArgs, LiveAction], Approval | None] = lambda _args, _way: None
    missing_prerequisites: Callable[[str, str, str], list[Finding]] = lambda _share, _point, _options: []
    rule: Callable[[str], ReadaheadRule] = read_rule


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedChange:
    """A requested change, with the state of the host that it applies to.

    Attributes:
        args: the request, with the options that the program adds and the file system type of the entry.
        options: the parsed options of ``args``.
        old: the mount before the change, configured or active; None for a new mount.
        others: the other live mounts of this host.
        changes: the options that change.
        live_action: how the live mount changes.
        tune_kb: readahead to set after mounting, KiB; None to leave the value that the mount gets.
        server_error: why the server of the live mount does not answer; None if it answers, or if the change
            does not need it.
        config: preview of the change of fstab or of units.
        rule: the udev rule that saves the readahead of the mount point, before the change.
        rule_diff: unified diff of that rule, "" if it does not change.
        save_kb: the readahead saved after the change, KiB; None for none.
        approval: separate approval by an administrator that the change needs, None for none.
        findings: missing prerequisites of this computer for the mount.
        entry: the options of the saved entry; those of ``args`` are the same.
    """

    args: ApplyArgs
    options: MountOptions
    old: Mount | None
    others: list[Mount]
    changes: list[PlannedOptionChange]
    live_action: LiveAction
    tune_kb: int | None
    server_error: AppError | None
    config: ConfigPreview
    rule: ReadaheadRule
    rule_diff: str = ""
    save_kb: int | None = None
    approval: Approval | None = None
    findings: tuple[Finding, ...] = ()
    entry: EntryOptions = field(default_factory=lambda: EntryOptions(""))

    @property
    def is_live(self) -> bool:
        """Whether the share is mounted now."""
        return self.old is not None and self.old.active is not None

    @property
    def old_point(self) -> str:
        """Mount point before the change."""
        return self.old.mount_point if self.old is not None else self.args.mount_point


def inspect_change(args: ApplyArgs, view: HostView) -> InspectedChange:
    """Return a requested change with the state of the host that it applies to.

    Raises:
        AppError: if the share, an option or the mount point is wrong; if fstab cannot hold the entry; or if
            the change conflicts with a unit of another program or with an autofs map.
    """
    share_to_mount(args.share)
    parse_options(args.options)
    if args.busy == "next-boot" and args.keeper == "nowhere":
        raise AppError(ErrorCode.NEXT_BOOT_NEEDS_SAVING)
    if not 0.0 <= args.keep_s <= MAX_KEEP_S:
        raise AppError(ErrorCode.KEEP_TIME_OUT_OF_RANGE, keep_s=args.keep_s, limit=MAX_KEEP_S)
    if args.read_ahead_kb is not None and not 0 <= args.read_ahead_kb <= MAX_READ_AHEAD_KB:
        raise AppError(
            ErrorCode.READAHEAD_OUT_OF_RANGE, read_ahead_kb=args.read_ahead_kb, limit=MAX_READ_AHEAD_KB
        )
    rows = view.table().mounts
    old = _mount_at(rows, args.replaces or args.mount_point)
    rule = view.rule(args.mount_point)
    save_kb = _save_kb(args, old, rule)
    args, entry = _with_entry_options(args, old)
    options = parse_options(args.options)
    changes = option_changes(old, options, args.read_ahead_kb, save_kb)
    live_action = _live_action(args, old, changes)
    check_ownership(args, rows, mounts=live_action in {"mount", "again"})
    approval = view.approval(args, live_action)
    if approval is not None and args.replaces not in {"", args.mount_point}:
        raise move_error(args.replaces, args.mount_point)
    if live_action == "mount" or (
        live_action == "again" and old is not None and old.mount_point != args.mount_point
    ):
        problem = view.check_point(args.share, args.mount_point)
        # Where an administrator approves the mount, that check has already covered the mount point.
        if problem is not None and not (approval is not None and approval.mounts):
            raise problem
    server_error = _server_error(old, view) if live_action in {"again", "remount"} else None
    return InspectedChange(
        args=args,
        options=options,
        old=old,
        others=[row for row in rows if row is not old and row.active is not None],
        changes=changes,
        live_action=live_action,
        tune_kb=_tune_kb(args, old, live_action),
        server_error=server_error,
        config=view.kept.preview(args),
        rule=rule,
        rule_diff=rule_diff(rule, args.mount_point, save_kb) if args.save_read_ahead else "",
        save_kb=save_kb,
        approval=approval,
        findings=tuple(view.missing_prerequisites(args.share, args.mount_point, args.options)),
        entry=entry,
    )


def _with_entry_options(args: ApplyArgs, old: Mount | None) -> tuple[ApplyArgs, EntryOptions]:
    """Return the request with the options and the file system type that its entry will have."""
    configured = old.configured if old is not None else None
    fstype = args.fstype or (configured.fstype if configured is not None else "nfs")
    if args.keeper == "nowhere":
        return msgspec.structs.replace(args, fstype=fstype), EntryOptions(args.options)
    before = configured.options if configured is not None and configured.ours else None
    entry = options_of_entry(args.options, before, args.mount_point, exact=args.exact)
    return msgspec.structs.replace(args, options=entry.text, fstype=fstype, exact=True), entry


def make_plan(args: ApplyArgs, view: HostView) -> ApplyPlan:
    """Return the plan of a requested change, with the processes that use the mount.

    Raises:
        AppError: for the reasons of :func:`inspect_change`.
    """
    inspected = inspect_change(args, view)
    return build_plan(inspected, view.holders(inspected.old_point) if inspected.is_live else [])


def build_plan(inspected: InspectedChange, holders: list[Holder]) -> ApplyPlan:
    """Return the plan of an inspected change.

    Args:
        inspected: the change with the state of the host.
        holders: processes that use the mount.
    """
    steps = change_steps(inspected)
    return ApplyPlan(
        share=inspected.args.share,
        mount_point=inspected.args.mount_point,
        changes=[change for change in inspected.changes if _has_effect(change, inspected)],
        steps=steps,
        diff=inspected.config.diff,
        sha256=inspected.config.sha256,
        rule_diff=inspected.rule_diff,
        volatile_kb=_volatile_kb(inspected),
        interruption=_interruption(inspected, steps),
        can_wait=_can_wait(inspected),
        sharing=[row.mount_point for row in _sharing(inspected)],
        holders=holders,
        warnings=[*_warnings(inspected), *inspected.config.warnings],
        approval=inspected.approval,
        restricted=place_of(inspected.args.mount_point) is Place.RESTRICTED,
        asks_nofail=inspected.entry.asks_nofail,
        for_safety=_safety_options(inspected),
        for_boot=list(inspected.entry.for_boot),
        findings=merge_findings(
            inspected.findings,
            lint_mount(
                inspected.options,
                saved=inspected.args.keeper != "nowhere",
                share=inspected.args.share,
                mount_point=inspected.args.mount_point,
                fstype=inspected.args.fstype,
                mounts=inspected.others,
            ),
        ),
    )


def _safety_options(inspected: InspectedChange) -> list[str]:
    """Return the safety options that the program adds: absent in the request, live mount and old entry."""
    active = inspected.old.active if inspected.old is not None else None
    live = set(MountOptions.parse(active.options)) if active is not None else set[str]()
    mounts = inspected.live_action != "none" and inspected.server_error is None
    return [
        word
        for word in ALWAYS
        if word in inspected.config.for_safety
        or (mounts and word not in live and word not in set(inspected.options))
    ]


def _mount_at(rows: list[Mount], point: str) -> Mount | None:
    here = [row for row in rows if row.mount_point == point]
    return next((row for row in here if row.active is not None), here[0] if here else None)


def _live_action(args: ApplyArgs, old: Mount | None, changes: list[PlannedOptionChange]) -> LiveAction:
    active = old.active if old is not None else None
    if not args.mount or args.busy == "next-boot":
        return "none"
    if old is None or active is None:
        return "mount"
    moved = old.mount_point != args.mount_point or plain_share(active.share) != plain_share(args.share)
    takes = {change.takes for change in changes}
    if moved or args.again or "mount" in takes:
        return "again"
    return "remount" if "remount" in takes else "none"


def _tune_kb(args: ApplyArgs, old: Mount | None, live_action: LiveAction) -> int | None:
    active = old.active if old is not None else None
    wanted, now = args.read_ahead_kb, active.read_ahead_kb if active is not None else None
    if live_action == "mount" or (live_action == "again" and wanted is not None):
        return wanted
    if live_action == "again":
        # Every new mount starts with the kernel's default readahead.
        return now if now != KERNEL_READ_AHEAD_KB else None
    return wanted if active is not None and wanted != now else None


def _save_kb(args: ApplyArgs, old: Mount | None, rule: ReadaheadRule) -> int | None:
    """Return the readahead that is saved after the change, KiB; None for none.

    Raises:
        AppError: USAGE if the request saves a readahead and no value is known.
    """
    if not args.save_read_ahead:
        return rule.read_ahead_kb
    active = old.active if old is not None else None
    wanted = args.read_ahead_kb if active is None or args.read_ahead_kb is not None else active.read_ahead_kb
    if wanted is None:
        raise AppError(ErrorCode.NO_READAHEAD_TO_SAVE, mount_point=args.mount_point)
    return wanted


def _volatile_kb(inspected: InspectedChange) -> int | None:
    """Return the readahead that the next unmount would lose, KiB; None if it loses none."""
    args, active = inspected.args, inspected.old.active if inspected.old is not None else None
    now = (
        active.read_ahead_kb if active is not None and inspected.live_action in {"none", "remount"} else None
    )
    if active is None and not args.mount:
        now = args.read_ahead_kb  # without a live mount, only a saved value lasts
    kb = inspected.tune_kb if inspected.tune_kb is not None and inspected.server_error is None else now
    if kb is None or (inspected.save_kb is not None and same_readahead(kb, inspected.save_kb)):
        return None
    if (
        inspected.tune_kb is None
        and active is not None
        and active.read_ahead_state in {"default", "nfs.conf", "saved"}
    ):
        return None
    return None if inspected.save_kb is None and same_readahead(kb, KERNEL_READ_AHEAD_KB) else kb


def _server_error(old: Mount | None, view: HostView) -> AppError | None:
    if old is None or old.active is None:
        return None
    values = values_in_use(old.active)
    if not values.get("proto", "tcp").startswith("tcp"):
        return None
    host = values.get("addr") or parse_share(old.active.share).host
    port = values.get("port") or "0"
    return view.probe(host, int(port) if port.isdigit() and int(port) else 2049)


# Steps of the change, each with the equivalent shell command.


def change_steps(inspected: InspectedChange) -> list[ApplyStep]:
    """Return the steps in the order of execution; an empty list if nothing changes."""
    live_action = "none" if inspected.server_error is not None else inspected.live_action
    result = [_verify_step(inspected)] if live_action in {"mount", "again"} else []
    result += _write_steps(inspected) if inspected.config.diff else []
    result += _mount_steps(inspected, live_action)
    if inspected.tune_kb is not None and inspected.server_error is None:
        result.append(_tune_step(inspected.args.mount_point, inspected.tune_kb))
    is_tuned = bool(result) and result[-1].kind == "tune"
    if inspected.rule_diff:
        point, kb = inspected.args.mount_point, inspected.save_kb
        text = f"Save the readahead of {point}: {kb} KiB at every mount."
        result.append(ApplyStep(kind="save", text=text))
    if live_action != "none" or is_tuned:
        words = shlex.join(["findmnt", "-o", "TARGET,SOURCE,OPTIONS", inspected.args.mount_point])
        result.append(
            ApplyStep(kind="check", text="Compare the options in use with the requested ones.", command=words)
        )
        if inspected.is_live and inspected.args.keep_s > 0:
            result.append(
                ApplyStep(
                    kind="keep",
                    text=f"Ask whether to keep the change, else revert after {inspected.args.keep_s:g} s.",
                )
            )
    return result


def mount_options_now(inspected: InspectedChange) -> MountOptions:
    """Return the options of the mount command: no fstab-only options, always nosuid and nodev."""
    words = options_for_mount(inspected.options)
    for name in ("nosuid", "nodev"):
        words.set(name, YES)
    return words


def _verify_step(inspected: InspectedChange) -> ApplyStep:
    command = mount_command(inspected.args.share, inspected.args.mount_point, mount_options_now(inspected))
    return ApplyStep(
        kind="verify",
        text="Try the same options in a private mount.",
        command=f"unshare --mount {command}",
    )


def _write_steps(inspected: InspectedChange) -> list[ApplyStep]:
    systemd = Path(_SYSTEMD).is_dir()
    reload = ApplyStep(kind="reload", text="Reload the units of systemd.", command="systemctl daemon-reload")
    if inspected.args.keeper == "fstab":
        copy = "cp -a /etc/fstab /var/lib/mountwright/fstab/"
        back_up = ApplyStep(kind="back-up", text="Save a dated copy of fstab.", command=copy)
        write = ApplyStep(kind="write", text="Write the entry to /etc/fstab. Other lines stay as they are.")
        return [back_up, write, reload] if systemd else [back_up, write]
    back_up = ApplyStep(kind="back-up", text="Save a copy of the units.")
    write = ApplyStep(
        kind="write", text=f"Write {' and '.join(inspected.config.names)}, and enable the mount."
    )
    return [back_up, write, reload] if systemd else [back_up, write]


def _mount_steps(inspected: InspectedChange, live_action: LiveAction) -> list[ApplyStep]:
    point = inspected.args.mount_point
    if live_action == "remount":
        shared = any(changes_shared_superblock(change) for change in inspected.changes)
        words = ",".join(["remount" if shared else "remount,bind", *remount_options(inspected.changes)])
        command = shlex.join(["mount", "-o", words, point])
        return [
            ApplyStep(
                kind="remount", text=f"Change the options of {point} while it is mounted.", command=command
            )
        ]
    result: list[ApplyStep] = []
    if live_action == "again":
        flags = ["--lazy"] if inspected.args.busy == "lazy" else []
        result.append(
            ApplyStep(
                kind="unmount",
                text=f"Unmount {inspected.old_point}.",
                command=shlex.join(["umount", *flags, inspected.old_point]),
            )
        )
    if live_action in {"mount", "again"}:
        command = mount_command(inspected.args.share, point, mount_options_now(inspected))
        result.append(
            ApplyStep(kind="mount", text=f"Mount {inspected.args.share} at {point}.", command=command)
        )
    return result


def _tune_step(point: str, kb: int) -> ApplyStep:
    device = f"$(findmnt -nro MAJ:MIN {shlex.quote(point)})"
    return ApplyStep(
        kind="tune",
        text=f"Set the readahead to {kb} KiB.",
        command=f'echo {kb} > "/sys/class/bdi/{device}/read_ahead_kb"',
    )


# Effects of the change, and warnings.


def _interruption(inspected: InspectedChange, steps: list[ApplyStep]) -> Interruption:
    live_action = "none" if inspected.server_error is not None else inspected.live_action
    if live_action == "again":
        most_s = UNMOUNT_TIMEOUT_S + inspected.args.timeout_s
        return Interruption(
            effect="interrupts",
            mount_point=inspected.old_point,
            typical_s=_TYPICAL_INTERRUPTION_S,
            most_s=most_s,
        )
    if not steps:
        return Interruption()
    if live_action == "mount":
        return Interruption(effect="first-mount")
    live = live_action == "remount" or any(step.kind == "tune" for step in steps)
    return Interruption(effect="at-once" if live else "next-mount")


def _can_wait(inspected: InspectedChange) -> bool:
    """Whether the change mounts or remounts something, now or later."""
    now = msgspec.structs.replace(inspected.args, mount=True)
    return inspected.server_error is None and _live_action(now, inspected.old, inspected.changes) != "none"


def _has_effect(change: PlannedOptionChange, inspected: InspectedChange) -> bool:
    """Whether an option change has an effect: a change at the next boot needs a saved entry."""
    return change.takes != "boot" or inspected.args.keeper != "nowhere"


def _sharing(inspected: InspectedChange) -> list[Mount]:
    """Return the other mounts of the same server address and NFS version: they share its connections."""
    if inspected.live_action not in {"mount", "again"} or inspected.server_error is not None:
        return []
    old = inspected.old.active if inspected.old is not None else None
    own = values_in_use(old) if old is not None else {}
    host = parse_share(inspected.args.share).host
    version = inspected.options.get("vers")
    if version in {None, "4"}:
        version = own.get("vers")
    same: list[Mount] = []
    for row in inspected.others:
        if row.active is None:
            continue
        values = values_in_use(row.active)
        addresses = {values.get("addr"), parse_share(row.active.share).host}
        if addresses & {host, own.get("addr")} - {None} and version in {None, values.get("vers")}:
            same.append(row)
    return same


def _warnings(inspected: InspectedChange) -> list[str]:
    result: list[str] = []
    if inspected.server_error is not None:
        result.append(
            f"The server of {inspected.old_point} does not answer, so the mount is left alone: neither "
            f"unmounted nor mounted again. {inspected.server_error.message}"
        )
    result += _sharing_warnings(inspected)
    result += _saved_warnings(inspected)
    for change in inspected.changes:
        if (
            change.takes in {"host", "boot"}
            and inspected.is_live
            and change.note is not None
            and change.note.code != ChangeNote.NEXT_BOOT
        ):
            result.append(f"{change.name} is not changed in the live mount. {message_text(change.note)}")
    nothing = not inspected.is_live and not inspected.args.mount and not inspected.args.save_read_ahead
    if inspected.args.read_ahead_kb is not None and nothing:
        result.append("The readahead is a property of a live mount, and nothing is mounted.")
    if inspected.args.busy == "lazy" and inspected.live_action == "again":
        result.append(
            "Detached, the old mount lives on in the programs that use it, with its old settings; as long "
            "as it does, the new mount may be given the old settings too."
        )
    return result


def _sharing_warnings(inspected: InspectedChange) -> list[str]:
    sharing = _sharing(inspected)
    device = (
        inspected.old.active.device if inspected.old is not None and inspected.old.active is not None else ""
    )
    joined = [
        row.mount_point for row in inspected.others if row.active is not None and row.active.device == device
    ]
    if (
        joined
        and inspected.live_action == "remount"
        and any(changes_shared_superblock(change) for change in inspected.changes)
    ):
        return [f"{', '.join(joined)} changes too: it shares the file system of the server in the kernel."]
    if not sharing:
        return []
    result: list[str] = []
    fixed = [c.name for c in inspected.changes if _belongs_to_server(c.name) and c.takes == "mount"]
    places = ", ".join(row.mount_point for row in sharing)
    if fixed:
        result.append(
            f"{' and '.join(fixed)} stay as they are while {places} is mounted: they belong to the "
            "connections to the server, which these mounts share."
        )
    if joined:
        result.append(
            f"{', '.join(joined)} shows the same file system of the server: what was mounted first decides "
            "timeo, retrans and other options for both, until both are unmounted."
        )
    return result


def _belongs_to_server(name: str) -> bool:
    option = catalogue().find(name)
    return option is not None and option.scope == "client" and name not in {"vers", "proto", "port"}


def _saved_warnings(inspected: InspectedChange) -> list[str]:
    args, configured = inspected.args, inspected.old.configured if inspected.old is not None else None
    result: list[str] = []
    if configured is not None and args.keeper == "nowhere" and inspected.changes:
        result.append(f"{configured.origin} stays as it is: the change is gone after the next start.")
    if configured is not None and args.keeper == "systemd" and configured.origin.endswith("fstab"):
        result.append(
            f"{configured.origin} has an entry for {configured.share} too; systemd goes by the unit. Take "
            "the entry out of fstab."
        )
    if configured is not None and args.keeper == "fstab" and configured.keeper == "unit":
        result.append(f"{configured.origin} keeps it too, and systemd goes by that. Remove the unit.")
    if configured is not None and args.keeper != "nowhere" and configured.keeper == "autofs":
        result.append(f"{configured.origin} keeps it too, and autofs goes by that. Take it out of the map.")
    return result
