"""Plan of a change: its steps, warnings and commands, found out with nothing touched.

The server of a live mount is asked by a TCP connection alone: neither the mount point nor anything below it
is looked at, so a dead server is told from the plan, not met in it.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from advisor.dialects.linux import mount_command
from advisor.options import YES, MountOptions, catalogue, options_for_mount
from app.errors import AppError, ErrorKind
from app.helper.options import ALWAYS
from app.helper.policy import Place, place_of
from app.helper.readahead import MAX_READ_AHEAD_KB
from app.kernel.utab import plain_share
from app.mounts.approval import move_error
from app.mounts.change_model import MAX_KEEP_S, ApplyPlan, ApplyStep, Interruption
from app.mounts.entry_options import EntryOptions, options_of_entry
from app.mounts.findings import lint_mount, merge_findings
from app.mounts.foreign_entries import check_ownership
from app.mounts.option_changes import AT_NEXT_BOOT, changes_shared_superblock, option_changes, remount_options
from app.mounts.option_comparison import values_in_use
from app.mounts.parsing import parse_options, parse_share, share_to_mount
from app.mounts.saved_readahead import (
    KERNEL_READ_AHEAD_KB,
    ReadaheadRule,
    read_rule,
    rule_diff,
    same_readahead,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.lint import Finding
    from advisor.nfsmount_conf import AddedConfOption
    from app.mounts.change_model import ApplyArgs, LiveAction, PlannedOptionChange
    from app.mounts.config_store import ConfigPreview, ConfigStore
    from app.mounts.model import Approval, Holder, Mount, MountTable

#: How long an unmount may take before the way back begins, seconds.
UNMOUNT_TIMEOUT_S = 20.0
#: Between unmounting and mounting, as a rule: two round trips to the server and two processes, seconds.
_TYPICAL_INTERRUPTION_S = 1.0
_SYSTEMD = "/run/systemd/system"


@dataclass(frozen=True, slots=True)
class HostView:
    """What a plan looks at.

    Attributes:
        table: returns the mounts of this host.
        kept: previews the change of fstab, or of units.
        probe: host and port to what is wrong with the server, None if it answers.
        check_point: share and path to what is wrong with a new mount point, None if nothing.
        holders: returns the processes that use a mount, as far as this user may see them.
        has_client: address and version to whether the kernel has a client of the server.
        added: share, mount point and options to what nfsmount.conf adds to such a mount.
        approval: change and what becomes of the live mount to what an administrator has to approve by itself.
        missing_prerequisites: share, mount point and options to what this computer lacks for such a mount.
        rule: mount point to the udev rule that saves its readahead.
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
    """A change, and what it meets.

    Attributes:
        args: as asked for, with what the program adds to the options and with the type of the entry.
        options: of ``args``, read.
        old: the mount as it is, configured or active; None for a new one.
        others: the other mounts of this host.
        changes: the options that change.
        way: what becomes of the live mount.
        tune_kb: the read-ahead to set afterwards, None to leave what comes.
        silent: why the server of the live mount does not answer; None if it does, or nothing asks it.
        kept: the change of what is kept.
        rule: that saves the readahead of the mount point, as it is.
        rule_diff: of that rule, "" if it stays.
        save_kb: the readahead that is saved then, None for none.
        approval: what an administrator has to approve by itself, None if nothing.
        findings: what this computer lacks for the mount.
        entry: the options of what is saved; those of ``args`` are the same.
    """

    args: ApplyArgs
    options: MountOptions
    old: Mount | None
    others: list[Mount]
    changes: list[PlannedOptionChange]
    way: LiveAction
    tune_kb: int | None
    silent: AppError | None
    kept: ConfigPreview
    rule: ReadaheadRule
    rule_diff: str = ""
    save_kb: int | None = None
    approval: Approval | None = None
    findings: tuple[Finding, ...] = ()
    entry: EntryOptions = field(default_factory=lambda: EntryOptions(""))

    @property
    def is_live(self) -> bool:
        """Whether it is mounted now."""
        return self.old is not None and self.old.active is not None

    @property
    def old_point(self) -> str:
        """Where the mount is now."""
        return self.old.mount_point if self.old is not None else self.args.mount_point


def inspect_change(args: ApplyArgs, around: HostView) -> InspectedChange:
    """Find out what a change meets.

    Raises:
        AppError: if it is wrong in itself: a bad share, option or mount point, or fstab cannot take it; or if
            it would go against a unit that others made, or against a map of autofs.
    """
    share_to_mount(args.share)
    parse_options(args.options)
    if args.busy == "next-boot" and args.keeper == "nowhere":
        raise AppError(
            ErrorKind.USAGE,
            "A change for the next start has to be kept somewhere.",
            hint="Keep the mount in fstab or in systemd units.",
        )
    if not 0.0 <= args.keep_s <= MAX_KEEP_S:
        raise AppError(
            ErrorKind.USAGE,
            f"The time to say that a change is to stay is {args.keep_s:g} s, which is out of range.",
            hint=f"Choose 0 to {MAX_KEEP_S:g} seconds; with 0 nobody is asked.",
        )
    if args.read_ahead_kb is not None and not 0 <= args.read_ahead_kb <= MAX_READ_AHEAD_KB:
        raise AppError(
            ErrorKind.USAGE,
            f"The readahead is {args.read_ahead_kb} KiB, which is out of range.",
            hint=f"Choose 0 to {MAX_READ_AHEAD_KB} KiB.",
        )
    rows = around.table().mounts
    old = _mount_at(rows, args.replaces or args.mount_point)
    rule = around.rule(args.mount_point)
    save_kb = _save_kb(args, old, rule)
    args, entry = _with_entry_options(args, old)
    options = parse_options(args.options)
    changes = option_changes(old, options, args.read_ahead_kb, save_kb)
    way = _live_action(args, old, changes)
    check_ownership(args, rows, mounts=way in {"mount", "again"})
    approval = around.approval(args, way)
    if approval is not None and args.replaces not in {"", args.mount_point}:
        raise move_error(args.replaces, args.mount_point)
    if way == "mount" or (way == "again" and old is not None and old.mount_point != args.mount_point):
        problem = around.check_point(args.share, args.mount_point)
        # With an approval its own look has said what else is wrong.
        if problem is not None and not (approval is not None and approval.mounts):
            raise problem
    silent = _server_problem(old, around) if way in {"again", "remount"} else None
    return InspectedChange(
        args=args,
        options=options,
        old=old,
        others=[row for row in rows if row is not old and row.active is not None],
        changes=changes,
        way=way,
        tune_kb=_tune_kb(args, old, way),
        silent=silent,
        kept=around.kept.preview(args),
        rule=rule,
        rule_diff=rule_diff(rule, args.mount_point, save_kb) if args.save_read_ahead else "",
        save_kb=save_kb,
        approval=approval,
        findings=tuple(around.missing_prerequisites(args.share, args.mount_point, args.options)),
        entry=entry,
    )


def _with_entry_options(args: ApplyArgs, old: Mount | None) -> tuple[ApplyArgs, EntryOptions]:
    """Return the change with the options and the type that its entry is to have."""
    configured = old.configured if old is not None else None
    fstype = args.fstype or (configured.fstype if configured is not None else "nfs")
    if args.keeper == "nowhere":
        return msgspec.structs.replace(args, fstype=fstype), EntryOptions(args.options)
    before = configured.options if configured is not None and configured.ours else None
    entry = options_of_entry(args.options, before, args.mount_point, exact=args.exact)
    return msgspec.structs.replace(args, options=entry.text, fstype=fstype, exact=True), entry


def make_plan(args: ApplyArgs, around: HostView) -> ApplyPlan:
    """Return what a change would do.

    Raises:
        AppError: as :func:`inspect_change`.
    """
    found = inspect_change(args, around)
    return build_plan(found, around.holders(found.old_point) if found.is_live else [])


def build_plan(found: InspectedChange, holders: list[Holder]) -> ApplyPlan:
    """Return the plan of a situation."""
    done = change_steps(found)
    return ApplyPlan(
        share=found.args.share,
        mount_point=found.args.mount_point,
        changes=[change for change in found.changes if _has_effect(change, found)],
        steps=done,
        diff=found.kept.diff,
        sha256=found.kept.sha256,
        rule_diff=found.rule_diff,
        volatile_kb=_volatile_kb(found),
        interruption=_interruption(found, done),
        can_wait=_can_wait(found),
        sharing=[row.mount_point for row in _sharing(found)],
        holders=holders,
        warnings=[*_warnings(found), *found.kept.warnings],
        approval=found.approval,
        restricted=place_of(found.args.mount_point) is Place.RESTRICTED,
        asks_nofail=found.entry.asks_nofail,
        for_safety=_safety_options(found),
        for_boot=list(found.entry.for_boot),
        findings=merge_findings(
            found.findings,
            lint_mount(
                found.options,
                saved=found.args.keeper != "nowhere",
                share=found.args.share,
                mount_point=found.args.mount_point,
                fstype=found.args.fstype,
                mounts=found.others,
            ),
        ),
    )


def _safety_options(found: InspectedChange) -> list[str]:
    """Return the words that the program adds and that neither the person nor the mount or the entry had."""
    active = found.old.active if found.old is not None else None
    live = set(MountOptions.parse(active.options)) if active is not None else set[str]()
    mounts = found.way != "none" and found.silent is None
    return [
        word
        for word in ALWAYS
        if word in found.kept.for_safety or (mounts and word not in live and word not in set(found.options))
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


def _tune_kb(args: ApplyArgs, old: Mount | None, way: LiveAction) -> int | None:
    active = old.active if old is not None else None
    wanted, now = args.read_ahead_kb, active.read_ahead_kb if active is not None else None
    if way == "mount" or (way == "again" and wanted is not None):
        return wanted
    if way == "again":
        # Every mount begins with the kernel's own value.
        return now if now != KERNEL_READ_AHEAD_KB else None
    return wanted if active is not None and wanted != now else None


def _save_kb(args: ApplyArgs, old: Mount | None, rule: ReadaheadRule) -> int | None:
    """Return the readahead that is saved once the change is made.

    Raises:
        AppError: USAGE if one is to be saved and there is none.
    """
    if not args.save_read_ahead:
        return rule.read_ahead_kb
    active = old.active if old is not None else None
    wanted = args.read_ahead_kb if active is None or args.read_ahead_kb is not None else active.read_ahead_kb
    if wanted is None:
        raise AppError(
            ErrorKind.USAGE,
            f"There is no readahead to save for {args.mount_point}: nothing is mounted, and none is given.",
            hint="Give the readahead in KiB, with --read-ahead on the command line.",
        )
    return wanted


def _volatile_kb(found: InspectedChange) -> int | None:
    """Return the readahead that an unmount would lose, None if it would lose none."""
    args, active = found.args, found.old.active if found.old is not None else None
    now = active.read_ahead_kb if active is not None and found.way in {"none", "remount"} else None
    if active is None and not args.mount:
        now = args.read_ahead_kb  # dropped, unless it is saved
    kb = found.tune_kb if found.tune_kb is not None and found.silent is None else now
    if kb is None or (found.save_kb is not None and same_readahead(kb, found.save_kb)):
        return None
    if (
        found.tune_kb is None
        and active is not None
        and active.read_ahead_state in {"default", "nfs.conf", "saved"}
    ):
        return None
    return None if found.save_kb is None and same_readahead(kb, KERNEL_READ_AHEAD_KB) else kb


def _server_problem(old: Mount | None, around: HostView) -> AppError | None:
    if old is None or old.active is None:
        return None
    values = values_in_use(old.active)
    if not values.get("proto", "tcp").startswith("tcp"):
        return None
    host = values.get("addr") or parse_share(old.active.share).host
    port = values.get("port") or "0"
    return around.probe(host, int(port) if port.isdigit() and int(port) else 2049)


# The steps, each with the command that a person would type.


def change_steps(found: InspectedChange) -> list[ApplyStep]:
    """Return the steps in the order in which they are done; none if there is nothing to do."""
    way = "none" if found.silent is not None else found.way
    result = [_verify_step(found)] if way in {"mount", "again"} else []
    result += _write_steps(found) if found.kept.diff else []
    result += _mount_steps(found, way)
    if found.tune_kb is not None and found.silent is None:
        result.append(_tune_step(found.args.mount_point, found.tune_kb))
    is_tuned = bool(result) and result[-1].kind == "tune"
    if found.rule_diff:
        text = f"Save the readahead of {found.args.mount_point}: {found.save_kb} KiB whenever it is mounted."
        result.append(ApplyStep(kind="save", text=text))
    if way != "none" or is_tuned:
        words = shlex.join(["findmnt", "-o", "TARGET,SOURCE,OPTIONS", found.args.mount_point])
        result.append(
            ApplyStep(kind="check", text="Compare what is in use with what was asked for.", command=words)
        )
        if found.is_live and found.args.keep_s > 0:
            result.append(
                ApplyStep(
                    kind="keep", text=f"Ask whether to keep it, and go back after {found.args.keep_s:g} s."
                )
            )
    return result


def mount_options_now(found: InspectedChange) -> MountOptions:
    """Return the options of the mount command: without the words for fstab, always nosuid and nodev."""
    words = options_for_mount(found.options)
    for name in ("nosuid", "nodev"):
        words.set(name, YES)
    return words


def _verify_step(found: InspectedChange) -> ApplyStep:
    command = mount_command(found.args.share, found.args.mount_point, mount_options_now(found))
    return ApplyStep(
        kind="verify",
        text="Mount it with the same options where nobody else sees it, and unmount that again.",
        command=f"unshare --mount {command}",
    )


def _write_steps(found: InspectedChange) -> list[ApplyStep]:
    systemd = Path(_SYSTEMD).is_dir()
    reload = ApplyStep(
        kind="reload", text="Have systemd read what is kept again.", command="systemctl daemon-reload"
    )
    if found.args.keeper == "fstab":
        copy = "cp -a /etc/fstab /var/lib/mountwright/fstab/"
        back_up = ApplyStep(kind="back-up", text="Keep a dated copy of fstab.", command=copy)
        write = ApplyStep(kind="write", text="Write the entry to /etc/fstab; no other line changes.")
        return [back_up, write, reload] if systemd else [back_up, write]
    back_up = ApplyStep(kind="back-up", text="Keep the units as they were, to go back to them.")
    write = ApplyStep(kind="write", text=f"Write {' and '.join(found.kept.names)}, and enable it.")
    return [back_up, write, reload] if systemd else [back_up, write]


def _mount_steps(found: InspectedChange, way: LiveAction) -> list[ApplyStep]:
    point = found.args.mount_point
    if way == "remount":
        shared = any(changes_shared_superblock(change) for change in found.changes)
        words = ",".join(["remount" if shared else "remount,bind", *remount_options(found.changes)])
        command = shlex.join(["mount", "-o", words, point])
        return [
            ApplyStep(
                kind="remount", text=f"Change the flags of {point} while it stays mounted.", command=command
            )
        ]
    result: list[ApplyStep] = []
    if way == "again":
        flags = ["--lazy"] if found.args.busy == "lazy" else []
        result.append(
            ApplyStep(
                kind="unmount",
                text=f"Unmount {found.old_point}.",
                command=shlex.join(["umount", *flags, found.old_point]),
            )
        )
    if way in {"mount", "again"}:
        command = mount_command(found.args.share, point, mount_options_now(found))
        result.append(ApplyStep(kind="mount", text=f"Mount {found.args.share} at {point}.", command=command))
    return result


def _tune_step(point: str, kb: int) -> ApplyStep:
    device = f"$(findmnt -nro MAJ:MIN {shlex.quote(point)})"
    return ApplyStep(
        kind="tune",
        text=f"Set the read-ahead to {kb} KiB.",
        command=f'echo {kb} > "/sys/class/bdi/{device}/read_ahead_kb"',
    )


# What a person should know.


def _interruption(found: InspectedChange, done: list[ApplyStep]) -> Interruption:
    way = "none" if found.silent is not None else found.way
    if way == "again":
        most_s = UNMOUNT_TIMEOUT_S + found.args.timeout_s
        return Interruption(
            effect="interrupts", mount_point=found.old_point, typical_s=_TYPICAL_INTERRUPTION_S, most_s=most_s
        )
    if not done:
        return Interruption()
    if way == "mount":
        return Interruption(effect="first-mount")
    live = way == "remount" or any(step.kind == "tune" for step in done)
    return Interruption(effect="at-once" if live else "next-mount")


def _can_wait(found: InspectedChange) -> bool:
    """Whether there is something to mount, or to mount again, now or later."""
    now = msgspec.structs.replace(found.args, mount=True)
    return found.silent is None and _live_action(now, found.old, found.changes) != "none"


def _has_effect(change: PlannedOptionChange, found: InspectedChange) -> bool:
    """Whether an option has any effect: what counts from the next start has none where nothing is kept."""
    return change.takes != "boot" or found.args.keeper != "nowhere"


def _sharing(found: InspectedChange) -> list[Mount]:
    """Return the other mounts of the same server address and version: they use the same connections."""
    if found.way not in {"mount", "again"} or found.silent is not None:
        return []
    old = found.old.active if found.old is not None else None
    own = values_in_use(old) if old is not None else {}
    host = parse_share(found.args.share).host
    version = found.options.get("vers")
    if version in {None, "4"}:
        version = own.get("vers")
    same: list[Mount] = []
    for row in found.others:
        if row.active is None:
            continue
        values = values_in_use(row.active)
        addresses = {values.get("addr"), parse_share(row.active.share).host}
        if addresses & {host, own.get("addr")} - {None} and version in {None, values.get("vers")}:
            same.append(row)
    return same


def _warnings(found: InspectedChange) -> list[str]:
    result: list[str] = []
    if found.silent is not None:
        result.append(
            f"The server of {found.old_point} does not answer, so the mount is left alone: neither unmounted "
            f"nor mounted again. {found.silent.message}"
        )
    result += _sharing_warnings(found)
    result += _saved_warnings(found)
    for change in found.changes:
        if change.takes in {"host", "boot"} and found.is_live and change.note and change.note != AT_NEXT_BOOT:
            result.append(f"{change.name} is not changed in the live mount. {change.note}")
    nothing = not found.is_live and not found.args.mount and not found.args.save_read_ahead
    if found.args.read_ahead_kb is not None and nothing:
        result.append("The readahead is a property of a live mount, and nothing is mounted.")
    if found.args.busy == "lazy" and found.way == "again":
        result.append(
            "Detached, the old mount lives on in the programs that use it, with its old settings; as long "
            "as it does, the new mount may be given the old settings too."
        )
    return result


def _sharing_warnings(found: InspectedChange) -> list[str]:
    sharing = _sharing(found)
    device = found.old.active.device if found.old is not None and found.old.active is not None else ""
    joined = [
        row.mount_point for row in found.others if row.active is not None and row.active.device == device
    ]
    if (
        joined
        and found.way == "remount"
        and any(changes_shared_superblock(change) for change in found.changes)
    ):
        return [f"{', '.join(joined)} changes too: it shares the file system of the server in the kernel."]
    if not sharing:
        return []
    result: list[str] = []
    fixed = [c.name for c in found.changes if _belongs_to_server(c.name) and c.takes == "mount"]
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


def _saved_warnings(found: InspectedChange) -> list[str]:
    args, configured = found.args, found.old.configured if found.old is not None else None
    result: list[str] = []
    if configured is not None and args.keeper == "nowhere" and found.changes:
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
