"""Drafts of new mounts that were not applied, kept in the person's state directory between two starts.

A draft is what was typed into the form. No option that the program knows holds a password or a key.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec

from app.files.state_files import read_state_file, remove_state_file, write_state_file
from app.files.user_directories import state_directory
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MAX_BYTES = 2**20
_WHAT = "The file of drafts"
_file_lock = threading.Lock()


class MountDraft(msgspec.Struct, frozen=True, kw_only=True):
    """What the form of a new mount holds.

    Attributes:
        host: "" for this computer, else the lab's link.
        share: as typed.
        mount_point: as typed.
        options: the option string.
        read_ahead_kb: readahead to set, KiB, None to leave it.
    """

    host: str = ""
    share: str
    mount_point: str
    options: str
    read_ahead_kb: int | None = None


class DraftFile:
    """Reads and writes the drafts; of any thread."""

    def __init__(self) -> None:
        self._written = 0

    @property
    def written(self) -> int:
        """The number of the state that was written last, 0 for none."""
        return self._written

    @staticmethod
    def path() -> Path:
        """Return where the drafts are kept."""
        return state_directory() / "drafts.json"

    def read(self) -> list[MountDraft]:
        """Return the drafts of the last start; a file that is damaged counts as empty.

        Raises:
            AppError: NOT_RESPONDING or IO if the file cannot be read.
        """
        text = read_state_file(self.path(), _WHAT, _MAX_BYTES)
        try:
            return from_json(text, list[MountDraft])
        except (msgspec.DecodeError, UnicodeError):
            return []

    def write(self, drafts: Sequence[MountDraft], number: int) -> None:
        """Write the drafts, or remove the file if there are none.

        Args:
            drafts: all of them.
            number: of this state; an older one that comes later is not written.

        Raises:
            AppError: NOT_RESPONDING or IO if it cannot be written.
        """
        with _file_lock:
            if number <= self._written:
                return
            if drafts:
                write_state_file(self.path(), _WHAT, msgspec.json.encode([_plain(one) for one in drafts]))
            else:
                remove_state_file(self.path(), _WHAT)
            self._written = number


def _plain(draft: MountDraft) -> MountDraft:
    """Return a draft as UTF-8 can hold it: half a surrogate pair may have been pasted."""

    def plain(text: str) -> str:
        return text.encode(errors="replace").decode()

    return msgspec.structs.replace(
        draft, share=plain(draft.share), mount_point=plain(draft.mount_point), options=plain(draft.options)
    )
