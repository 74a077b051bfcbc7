"""Missing prerequisites of a mount, as lint findings, before mount.nfs runs."""

from __future__ import annotations

import platform
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from advisor.facts import ClientFacts, Facts, PrerequisiteFacts, ServerFacts
from advisor.lint import LintContext, prerequisite_findings
from advisor.options import MountOptions, options_for_mount
from advisor.share import is_share
from app.facts.client import client_facts
from app.facts.gather import gather_facts
from app.facts.prerequisites import prerequisite_facts
from app.kernel.nfsmount_conf import added_to

if TYPE_CHECKING:
    from advisor.finding import Finding


def missing_prerequisites(share: str, mount_point: str, options: str) -> list[Finding]:
    """Return findings about missing prerequisites of a mount, errors first.

    Most mounts have no prerequisites and return at once. The server is queried only for Kerberos, whose rules
    need its clock and name; that takes at most three seconds.

    Args:
        share: server:/export.
        mount_point: absolute path.
        options: option string as in fstab; options added by nfsmount.conf are checked too.
    """
    requested = MountOptions.parse(options)
    for extra in added_to(share, mount_point, options_for_mount(requested)):
        if not extra.beats:
            requested.set(extra.name, MountOptions.parse(extra.item).values().get(extra.name, ""))
    context = LintContext(share=share, mount_point=mount_point)
    worst_case = prerequisite_findings(requested, context=context, facts=_facts_without_prerequisites())
    if not worst_case:
        return []
    if any(finding.options == ("sec",) for finding in worst_case) and is_share(share):
        facts = gather_facts(share)
        if facts.prerequisites is None:  # gather_facts timed out, but this check cannot do without them
            facts = replace(facts, prerequisites=prerequisite_facts())
    else:
        facts = Facts(client=client_facts(), prerequisites=prerequisite_facts())
    return prerequisite_findings(requested, context=context, facts=facts)


@cache
def _facts_without_prerequisites() -> Facts:
    """Return facts in which every prerequisite is missing and the server's clock and name are wrong."""
    absent: dict[str, Any] = {
        field.name: False for field in fields(PrerequisiteFacts) if field.type == "bool | None"
    }
    return Facts(
        client=ClientFacts(kernel=platform.release(), udp=False),
        server=ServerFacts(clock_ahead_s=1e9, reverse_name=""),
        prerequisites=PrerequisiteFacts(**absent),
    )
