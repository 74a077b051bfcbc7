"""What a finder of the lint yields."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.lint_rules import Fix


class Match(NamedTuple):
    """One place where a rule applies.

    Attributes:
        options: canonical names.
        words: for the places of the rule's texts and fix.
        fix: its own fix, where the rule's is not enough.
        fields: what else of the entry to change: "share", "mount point", "type", "dump", "pass", "file", or a
            setting of a unit, to its new text.
    """

    options: tuple[str, ...]
    words: dict[str, str]
    fix: Fix | None = None
    fields: Mapping[str, str] = {}
