"""Sentences about mounts and their options, by code."""

from __future__ import annotations

from app.text.translate import mark as _

MOUNT_MESSAGES = {
    # Why a value in use differs from the requested one (app.mounts.option_comparison.OptionNote).
    "option.added": _("Line {line} of {file} adds “{item}”."),
    "option.added-over": _("Line {line} of {file} adds “{item}”, which overrides “{other}”."),
    "option.fstab-only": _("Has a meaning in fstab only."),
    "option.no-effect": _("Has no effect."),
    "option.no-effect-on-version": _("Has no effect on version {version}."),
    "option.not-shown": _("The kernel does not show it."),
    "option.tag-not-shown": _("Kernels before 6.12 show fsc without its tag."),
    "option.shown-as-times": _("The kernel shows it as the four attribute times."),
    "option.shown-in-version": _("The kernel shows it as part of the version."),
    "option.shown-as-mountaddr": _("The kernel shows it as mountaddr."),
    "option.always": _("This program always sets it."),
    "option.follows": _("Follows from {option}."),
    "option.overridden": _("{option} overrides it."),
    "option.overridden-later": _("{option}, which comes later, overrides it."),
    "option.overridden-by-other": _("Another option overrides it."),
    "option.server-chooses": _("0 leaves it to the server."),
    "option.server-limit": _("The server limited it to {used}."),
    "option.kernel-limit": _("The kernel limited it to {used}."),
    "option.kernel-time-limit": _("The kernel limited it to {seconds} s (timeo={used})."),
    "option.kernel-rounded": _("The kernel rounded it to {used}."),
    "option.kernel-read": _("The kernel reads “{requested}” as {used}."),
    "option.kernel-other": _("The kernel uses another value."),
    "option.filled-in": _("mount.nfs fills it in itself."),
    "option.negotiated": _("Negotiated with the server."),
    "option.ipv6": _("The server has an IPv6 address."),
    "option.first-mount": _("The first mount of this server and version decides."),
    "option.same-filesystem": _("An earlier mount of the same server file system decides."),
    # Differences between what is configured and what is mounted (Mount.differences).
    "difference.share": _("{origin} says {configured}, mounted is {mounted}."),
    "difference.option": _("{origin} says “{configured}”, in use is “{used}”."),
    "difference.not-configured": _("In use is “{used}”, which {origin} does not say."),
    "difference.requested": _("“{requested}” was requested, in use is “{used}”."),
    "difference.not-requested": _("In use is “{used}”, which was not requested."),
    # When a change of an option takes effect (app.mounts.option_changes.ChangeNote).
    "change.in-use": _("It is already in use."),
    "change.next-mount": _("Takes effect at the next mount."),
    "change.next-boot": _("Takes effect at the next boot."),
    "change.readahead-saved": _("KiB. It is saved: the mount has it whenever the share is mounted."),
    "change.readahead-volatile": _("KiB, until unmounted."),
    "change.readahead-then-saved": _("KiB, until unmounted. Then the saved {saved_kb} KiB apply."),
}
