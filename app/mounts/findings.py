"""Lint findings about a mount of this host: as a list, as text, and as an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.lint import LintContext, apply_fix, lint
from advisor.options import MountOptions
from advisor.share import Share, ShareError
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from advisor.facts import Facts
    from advisor.finding import Finding
    from app.mounts.model import Mount

#: Rules whose notes are shown before a write: they report options that every new entry gets by default.
_SHOWN_NOTES = frozenset({"no-nofail"})


def lint_mount(
    options: MountOptions,
    *,
    saved: bool,
    share: str,
    mount_point: str,
    fstype: str = "nfs",
    mounts: Iterable[Mount] = (),
    facts: Facts | None = None,
) -> list[Finding]:
    """Return the lint findings on the options of a mount, errors first.

    Args:
        options: the options.
        saved: whether they belong to a saved entry (fstab or unit); otherwise to a mount made now.
        share: server:/export.
        mount_point: absolute path.
        fstype: nfs or nfs4.
        mounts: the mounts of this host; those of the same server determine its number of connections.
        facts: facts about the link, the server and this computer; None if unknown.
    """
    context = LintContext(
        place="fstab" if saved else "",
        fstab=saved,
        share=share,
        mount_point=mount_point,
        fstype=fstype,
        connections=connections_by_version(mounts, share, mount_point),
    )
    return lint(options, context=context, facts=facts)


def connections_by_version(mounts: Iterable[Mount], share: str, mount_point: str) -> dict[str, int]:
    """Return the number of connections to the share's server by NFS version, such as "4.2".

    The first mount of a server and version opens them for all later ones (nfs(5), nconnect). A mount at
    ``mount_point`` is ignored, because it is unmounted before the new mount.
    """
    host = _host(share)
    found: dict[str, int] = {}
    for mount in mounts:
        active = mount.active
        if active is None or mount.mount_point == mount_point or not active.nconnect or not host:
            continue
        options = MountOptions.parse(active.options)
        version = options.get("vers")
        if version and host in {_host(active.share), options.get("addr")}:
            found[version] = active.nconnect
    return found


def merge_findings(first: Iterable[Finding], second: Iterable[Finding]) -> list[Finding]:
    """Return both lists; a finding of the second is dropped if the first has its rule and options."""
    found = list(first)
    known = {(finding.rule, finding.options) for finding in found}
    return [*found, *(finding for finding in second if (finding.rule, finding.options) not in known)]


def findings_before_writing(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings to show before a write: errors, warnings and the notes of _SHOWN_NOTES."""
    return [finding for finding in findings if finding.severity != "info" or finding.rule in _SHOWN_NOTES]


def refusal_error(findings: Sequence[Finding], options: str) -> AppError | None:
    """Return the error of a mount that the kernel certainly refuses, None if it may succeed."""
    finding = next((one for one in findings if one.before_mount == "refuse"), None)
    if finding is None:
        return None
    left = apply_fix(MountOptions.parse(options), finding)
    hint = f"Use the options “{left}” instead." if len(left) else "Leave the option out."
    return AppError(
        ErrorKind.OPTION_REJECTED,
        finding.title,
        hint=f"{finding.why} {hint}",
        detail="\n".join([finding.rule, *finding.mend]),
    )


def finding_text(finding: Finding) -> str:
    """Return the title and reason of a finding, and one line for each command that repairs it."""
    return "\n".join([f"{finding.title} {finding.why}", *finding.mend])


def _host(share: str) -> str:
    try:
        return Share.parse(share).host
    except ShareError:
        return ""
