"""Sentences about mounts: their state, the processes that wait for them, and interruptions by a change."""

# ruff: noqa: D102 - the attributes are described in the classes of app.mounts

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from advisor.options import MountOptions
from app.text.translate import gettext as _
from app.text.translate import ngettext

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
        return _("{count} s").format(count=max(0, int(seconds)))
    if seconds < 3600:
        return _("{count} min").format(count=int(seconds // 60))
    hours = int(seconds // 3600)
    if hours < 48:
        return _("{count} h").format(count=hours)
    return _("{count} days").format(count=hours // 24)


def _duration(mount: MountStatus, now: float) -> str:
    """Return the duration of a mount's problem, such as "40 s"; "" if its start is unknown."""
    return lasting_text(now - mount.since) if mount.since is not None else ""


def mount_state_text(mount: MountStatus, now: float) -> str:
    """Return the state of a mount in a few words.

    Args:
        mount: the mount.
        now: Unix time by the clock of the mount's host, seconds.
    """
    duration = _duration(mount, now)
    if mount.state == "not-responding":
        text = _("Not responding for {duration}") if duration else _("Not responding")
    elif mount.state == "stale":
        text = _("Stale for {duration}") if duration else _("Stale")
    else:
        text = {
            "mounted": _("Mounted"),
            "not-mounted": _("Not mounted"),
            "differs": _("Mounted (differs from configuration)"),
        }[mount.state]
    return text.format(duration=duration)


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
        _("Programs get errors until the server answers, and data that they could not write are lost.")
        if is_soft
        else _("No data is lost: programs continue as soon as the server responds.")
    )
    force = _(
        "Programs that wait get errors, and data that were not written yet are permanently lost. It "
        "fails while a "
        "program still uses the mount."
    )
    detach = _(
        "{mount_point} disappears immediately. Programs that use it keep waiting, and what they write "
        "still reaches the "
        "server if it returns."
    ).format(mount_point=mount.mount_point)
    return TroubleText(
        message,
        [
            Remedy(_("Wait"), "", wait),
            Remedy(_("Unmount by force"), "-f", force),
            Remedy(_("Detach"), "-l", detach),
        ],
    )


def choices_text(text: TroubleText, mount_point: str) -> list[str]:
    """Return one line for each possible action, with its command."""
    lines: list[str] = []
    for choice in text.choices:
        template = (
            _("{name} (umount {option} {mount_point}): {meaning}")
            if choice.command
            else _("{name}: {meaning}")
        )
        lines.append(
            template.format(
                name=choice.name, option=choice.command, mount_point=mount_point, meaning=choice.meaning
            )
        )
    return lines


def waiting_text(waiting: Waiting) -> str:
    """Return a sentence about the processes that wait for a mount, "" for none."""
    names = [f"{holder.command} ({holder.pid})" for holder in waiting.own]
    parts = names[:_MAX_NAMES]
    if len(names) > _MAX_NAMES:
        parts.append(_("{count} more").format(count=len(names) - _MAX_NAMES))
    if waiting.others:
        others = ngettext(
            "{count} blocked process of other users",
            "{count} blocked processes of other users",
            waiting.others,
        )
        parts.append(others.format(count=waiting.others))
    if not parts:
        return ""
    listed = parts[0]
    if len(parts) > 1:
        listed = _("{first} and {last}").format(first=", ".join(parts[:-1]), last=parts[-1])
    count = len(names) + waiting.others
    return ngettext("{processes} waits for it.", "{processes} wait for it.", count).format(processes=listed)


def _silence_text(mount: MountStatus, now: float) -> str:
    duration = _duration(mount, now)
    if mount.reason == "refused":
        known = _("{server} has refused connections for {duration}: its NFS service does not run.")
        unknown = _("{server} refuses connections: its NFS service does not run.")
    elif mount.reason == "unreachable":
        known = _("{server} has been unreachable for {duration}: the network or the computer is down.")
        unknown = _("{server} is unreachable: the network or the computer is down.")
    elif mount.reason == "stuck":
        known = _(
            "{server} has not acknowledged data of this mount for {duration}, although it answers "
            "other requests. A "
            "firewall between may have dropped the connection."
        )
        unknown = _(
            "{server} acknowledges no data of this mount, although it answers other requests. A "
            "firewall between may "
            "have dropped the connection."
        )
    else:
        known, unknown = _("{server} has not answered for {duration}."), _("{server} does not answer.")
    return (known if duration else unknown).format(server=mount.share.partition(":/")[0], duration=duration)


def _stale_text(mount: MountStatus, now: float) -> TroubleText:
    duration = _duration(mount, now)
    unmount = Remedy(_("Unmount"), "", _("Programs with open files there keep it busy."))
    if mount.reason == "withdrawn":
        known = _(
            "{server} has refused access to {mount_point} for {duration}: it no longer exports the "
            "share. Programs "
            "get errors there."
        )
        unknown = _(
            "{server} has refused access to {mount_point}: it no longer exports the share. Programs "
            "get errors there."
        )
        remedy = Remedy(
            _("Wait"),
            "",
            _("The mount works again as soon as the server exports the share to this computer."),
        )
    else:
        known = _(
            "{server} no longer has the directory that is mounted at {mount_point} (stale file handle) "
            "for {duration}. "
            "Programs get errors there."
        )
        unknown = _(
            "{server} no longer has the directory that is mounted at {mount_point} (stale file "
            "handle). Programs get "
            "errors there."
        )
        remedy = Remedy(
            _("Remount"), "", _("A new mount of the share repairs it, if the server still exports the share.")
        )
    message = (known if duration else unknown).format(
        server=mount.share.partition(":/")[0], mount_point=mount.mount_point, duration=duration
    )
    return TroubleText(message, [remedy, unmount])


def interruption_text(interruption: ChangeInterruption) -> str:
    """Return a sentence on what a change interrupts, "" for a change without effect."""
    if interruption.effect == "interrupts":
        return _("Interrupts {mount_point} for about {typical:g} s. It takes {most:g} s at most.").format(
            mount_point=interruption.mount_point, typical=interruption.typical_s, most=interruption.most_s
        )
    return {
        "nothing": "",
        "at-once": _("Takes effect immediately. Nothing is interrupted."),
        "next-mount": _("Takes effect at the next mount. Nothing is interrupted."),
        "first-mount": _("Nothing is interrupted."),
    }[interruption.effect]
