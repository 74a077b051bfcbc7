"""Sentences about mounts: their state, the processes that wait for them, and interruptions by a change."""

# ruff: noqa: D102 - the attributes are described in the classes of app.mounts

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from advisor.options import MountOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Largest number of process names in one sentence.
_MAX_NAMES = 4


class ActiveMount(Protocol):
    """Part of :class:`app.mounts.model.Active` that the texts need."""

    @property
    def options(self) -> str: ...


class MountStatus(Protocol):
    """Part of :class:`app.mounts.model.Mount` that the texts need."""

    @property
    def mount_point(self) -> str: ...
    @property
    def share(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def active(self) -> ActiveMount | None: ...
    @property
    def since(self) -> float | None: ...
    @property
    def reason(self) -> str: ...


class WaitingProcess(Protocol):
    """Part of :class:`app.mounts.model.Holder` that the texts need."""

    @property
    def command(self) -> str: ...
    @property
    def pid(self) -> int: ...


class Waiting(Protocol):
    """Part of :class:`app.mounts.mount_users.WaitingProcesses` that the texts need."""

    @property
    def own(self) -> Sequence[WaitingProcess]: ...
    @property
    def others(self) -> int: ...


class ChangeInterruption(Protocol):
    """Part of :class:`app.mounts.change_model.Interruption` that the texts need."""

    @property
    def effect(self) -> str: ...
    @property
    def mount_point(self) -> str: ...
    @property
    def typical_s(self) -> float: ...
    @property
    def most_s(self) -> float: ...


class Remedy(NamedTuple):
    """Possible action for a mount that does not respond or is stale.

    Attributes:
        name: short name of the action.
        command: option of umount(8), "" for another action.
        meaning: consequence of the action, one or two sentences.
    """

    name: str
    command: str
    meaning: str


class TroubleText(NamedTuple):
    """Text about a mount that does not respond or is stale.

    Attributes:
        message: the problem, and the processes that wait.
        choices: possible actions.
    """

    message: str
    choices: list[Remedy]


def lasting_text(seconds: float) -> str:
    """Return a duration in its largest unit: "40 s", "3 min", "2 h", "3 days"."""
    if seconds < 60:
        return f"{max(0, int(seconds))} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min"
    hours = int(seconds // 3600)
    return f"{hours} h" if hours < 48 else f"{hours // 24} days"


def lasted_text(mount: MountStatus, now: float) -> str:
    """Return the duration of a mount's problem, such as " for 40 s"; "" if its start is unknown.

    Args:
        mount: a mount that does not respond or is stale.
        now: Unix time by the clock of the mount's host, seconds.
    """
    return f" for {lasting_text(now - mount.since)}" if mount.since is not None else ""


def mount_state_text(mount: MountStatus, now: float) -> str:
    """Return the state of a mount in a few words.

    Args:
        mount: the mount.
        now: Unix time by the clock of the mount's host, seconds.
    """
    return {
        "mounted": "Mounted",
        "not-mounted": "Not mounted",
        "not-responding": f"Not responding{lasted_text(mount, now)}",
        "stale": f"Stale{lasted_text(mount, now)}",
        "differs": "Mounted (differs from configuration)",
    }[mount.state]


def trouble_text(mount: MountStatus, now: float, waiting: Waiting | None = None) -> TroubleText | None:
    """Return the problem of a mount and the possible actions, None for a mount without a problem.

    Args:
        mount: the mount.
        now: Unix time by the clock of the mount's host, seconds.
        waiting: processes that wait for the mount, None if unknown.
    """
    if mount.state == "stale":
        return _stale_text(mount, now)
    if mount.state != "not-responding" or mount.active is None:
        return None
    message = _silence_text(mount, now)
    if waiting is not None and (waiting_sentence := waiting_text(waiting)):
        message = f"{message} {waiting_sentence}"
    is_soft = any(name in {"soft", "softerr"} for name in MountOptions.parse(mount.active.options))
    wait = (
        "Programs get errors until the server answers, and data that they could not write are lost."
        if is_soft
        else "Nothing is lost: programs go on as soon as the server answers."
    )
    return TroubleText(message, [
        Remedy("Wait", "", wait),
        Remedy("Unmount by force", "-f", "Programs that wait get errors, and data that were not written yet "
               "are permanently lost. It fails while a program still uses the mount."),
        Remedy("Detach", "-l", f"{mount.mount_point} disappears at once. Programs that use it keep waiting, "
               "and what they write still reaches the server if it returns."),
    ])  # fmt: skip


def choices_text(text: TroubleText, mount_point: str) -> list[str]:
    """Return one line for each possible action, with its command."""
    return [
        f"{choice.name}{f' (umount {choice.command} {mount_point})' if choice.command else ''}: "
        f"{choice.meaning}"
        for choice in text.choices
    ]


def waiting_text(waiting: Waiting) -> str:
    """Return a sentence about the processes that wait for a mount, "" for none."""
    names = [f"{holder.command} ({holder.pid})" for holder in waiting.own]
    parts = names[:_MAX_NAMES]
    if len(names) > _MAX_NAMES:
        parts.append(f"{len(names) - _MAX_NAMES} more")
    if waiting.others:
        noun = "process" if waiting.others == 1 else "processes"
        parts.append(f"{waiting.others} blocked {noun} of other users")
    if not parts:
        return ""
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
    return f"{listed} {'waits' if len(names) + waiting.others == 1 else 'wait'} for it."


def _silence_text(mount: MountStatus, now: float) -> str:
    server, since = mount.share.partition(":/")[0], lasted_text(mount, now)
    if mount.reason == "refused":
        does = f"has refused connections{since}" if since else "refuses connections"
        return f"{server} {does}: its NFS service does not run."
    if mount.reason == "unreachable":
        does = f"has been unreachable{since}" if since else "is unreachable"
        return f"{server} {does}: the network or the computer is down."
    if mount.reason == "stuck":
        does = (
            f"has not acknowledged data of this mount{since}"
            if since
            else "acknowledges no data of this mount"
        )
        return (
            f"{server} {does}, although it answers other requests. A firewall between may have dropped the "
            "connection."
        )
    return f"{server} has not answered{since}." if since else f"{server} does not answer."


def _stale_text(mount: MountStatus, now: float) -> TroubleText:
    server, since = mount.share.partition(":/")[0], lasted_text(mount, now)
    unmount = Remedy("Unmount", "", "Programs with open files there keep it busy.")
    if mount.reason == "withdrawn":
        message = (
            f"{server} has refused access to {mount.mount_point}{since}: it no longer exports the share."
        )
        wait = "The mount works again as soon as the server exports the share to this computer."
        return TroubleText(f"{message} Programs get errors there.", [Remedy("Wait", "", wait), unmount])
    message = (
        f"{server} no longer has the directory that is mounted at {mount.mount_point} (stale file "
        f"handle){since}. Programs get errors there."
    )
    remount = "A new mount of the share mends it, if the server still exports the share."
    return TroubleText(message, [Remedy("Remount", "", remount), unmount])


def interruption_text(interruption: ChangeInterruption) -> str:
    """Return a sentence on what a change interrupts, "" for a change without effect."""
    if interruption.effect == "interrupts":
        return (
            f"Interrupts {interruption.mount_point} for about {interruption.typical_s:g} s. "
            f"It takes {interruption.most_s:g} s at most."
        )
    return {
        "nothing": "",
        "at-once": "Changes at once. Nothing is interrupted.",
        "next-mount": "Takes effect at the next mount. Nothing is interrupted.",
        "first-mount": "Nothing is interrupted.",
    }[interruption.effect]
