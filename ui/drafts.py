"""Drafts: what was typed into the forms of each host, until it is applied or discarded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ui.models.option_form import FormState

#: Share and mount point of a mount, None for a new one.
Place = tuple[str, str] | None


class Drafts:
    """The forms of all hosts, by host and place."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, Place], FormState] = {}

    def keep(self, host: str, place: Place, state: FormState | None) -> None:
        """Keep what a form holds; None if it holds nothing of the person's own."""
        if state is None:
            self._states.pop((host, place), None)
        else:
            self._states[host, place] = state

    def get(self, host: str, place: Place) -> FormState | None:
        """Return what was typed there, None if nothing was."""
        return self._states.get((host, place))
