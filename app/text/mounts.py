"""Sentences about mounts: their state, who waits for them, and whether a change interrupts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from advisor.options import MountOptions
from app.errors import AppError

if TYPE_CHECKING:
    from app.mounts.change_model import Interruption
    from app.mounts.model import Mount
    from app.mounts.mount_users import WaitingProcesses

#: At most so many names stand in a sentence.
_MAX_NAMES = 4


class Remedy(NamedTuple):
    """What can be done about a mount in trouble.

    Attributes:
        name: what it is.
        command: option of the command "umount", "" if it is none.
        meaning: what comes of it, one sentence.
    """

    name: str
    command: str
    meaning: str


class TroubleText(NamedTuple):
    """A mount in trouble.

    Attributes:
        message: what is wrong, and who waits.
        choices: what can be done.
    """

    message: str
    choices: list[Remedy]


def lasting_text(seconds: float) -> str:
    """Return how long something has lasted, in its largest unit: "40 s", "3 min", "2 h", "3 days"."""
    if seconds < 60:
        return f"{max(0, int(seconds))} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min"
    hours = int(seconds // 3600)
    return f"{hours} h" if hours < 48 else f"{hours // 24} days"


def lasted_text(mount: Mount, now: float) -> str:
    """Return " for 40 s", "" if it is not known since when.

    Args:
        mount: not responding, or stale.
        now: Unix time by the clock of the mount's host.
    """
    return f" for {lasting_text(now - mount.since)}" if mount.since is not None else ""


def mount_state_text(mount: Mount, now: float) -> str:
    """Return the state of a mount in a few words; arguments as of :func:`lasted_text`."""
    return {
        "mounted": "Mounted",
        "not-mounted": "Not mounted",
        "not-responding": f"Not responding{lasted_text(mount, now)}",
        "stale": f"Stale{lasted_text(mount, now)}",
        "differs": "Mounted (differs from configuration)",
    }[mount.state]


def trouble_text(mount: Mount, now: float, waiting: WaitingProcesses | None = None) -> TroubleText | None:
    """Return what is wrong with a mount and what can be done, None if nothing is wrong.

    Args:
        mount: any.
        now: as of :func:`lasted_text`.
        waiting: the programs that wait for it, None if that is not known.
    """
    if mount.state == "stale":
        return _stale_text(mount, now)
    if mount.state != "not-responding" or mount.active is None:
        return None
    message = _silence_text(mount, now)
    if waiting is not None and (who := waiting_text(waiting)):
        message = f"{message} {who}"
    gives_up = any(name in {"soft", "softerr"} for name in MountOptions.parse(mount.active.options))
    wait = (
        "Programs get errors until the server answers, and data that they could not write are lost."
        if gives_up
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
    """Return a line for each thing that can be done, with the command."""
    return [
        f"{choice.name}{f' (umount {choice.command} {mount_point})' if choice.command else ''}: "
        f"{choice.meaning}"
        for choice in text.choices
    ]


def explain_unmount(
    error: AppError, mount: Mount, now: float, waiting: WaitingProcesses, *, force: bool, lazy: bool
) -> AppError:
    """Return the error of an unmount whose server is silent: who holds the mount, and what can be done.

    Args:
        error: why it failed.
        mount: as observed.
        now: as of :func:`lasted_text`.
        waiting: the programs that wait for it.
        force: whether it was tried by force.
        lazy: whether it was to be detached.
    """
    text = trouble_text(mount, now, waiting)
    if text is None:
        return error
    tried = {"-f"} if force else set[str]()
    tried |= {"-l"} if lazy else set()
    left = TroubleText("", [choice for choice in text.choices if choice.command not in tried])
    lines = [f"{holder.command} (process {holder.pid}): {holder.use}" for holder in waiting.own]
    known = error.detail.splitlines()
    detail = [*known, *(line for line in lines if line not in known)]
    return AppError(
        error.kind,
        f"{mount.mount_point} could not be unmounted. {text.message}",
        hint="\n".join(choices_text(left, mount.mount_point)),
        detail="\n".join(detail),
    )


def waiting_text(waiting: WaitingProcesses) -> str:
    """Return who waits, as a sentence; "" if nobody is known to."""
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


def _silence_text(mount: Mount, now: float) -> str:
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


def _stale_text(mount: Mount, now: float) -> TroubleText:
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


def interruption_text(found: Interruption) -> str:
    """Return what is interrupted, for a person; "" of a change that does nothing."""
    if found.effect == "interrupts":
        return (
            f"Interrupts {found.mount_point} for about {found.typical_s:g} s. "
            f"It takes {found.most_s:g} s at most."
        )
    return {
        "nothing": "",
        "at-once": "Changes at once. Nothing is interrupted.",
        "next-mount": "Takes effect at the next mount. Nothing is interrupted.",
        "first-mount": "Nothing is interrupted.",
    }[found.effect]
