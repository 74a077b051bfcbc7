"""Drafts: contents of each host's forms until they are applied or discarded.

Drafts of new mounts are saved and return at the next start. Edits of an existing mount last until the window
closes: by the next start the mount may be another one.
"""

from __future__ import annotations

from concurrent.futures import TimeoutError as WaitTimeoutError
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.errors import AppError
from app.mounts.drafts import DraftFile, MountDraft
from app.tasks import run_in_thread
from ui.settings.form_state import FormState

if TYPE_CHECKING:
    from ui.common.bridge import RunInThread

#: Share and mount point of a mount, None for a new one.
DraftKey = tuple[str, str] | None

#: Typing pauses so long before it is saved, milliseconds.
_PAUSE_MS = 1000
#: The window's end waits so long for a folder that may not answer.
_END_WAIT_S = 2.0


class Drafts(QObject):
    """The forms of all hosts, by host and place.

    Args:
        run: runs blocking work on a thread.
        parent: owner.

    Signals:
        loaded: the drafts of the last start are there.
        failed: they could not be read or saved (AppError); told once.
    """

    loaded = Signal()
    failed = Signal(object)

    def __init__(self, run: RunInThread, parent: QObject) -> None:
        super().__init__(parent)
        self._run = run
        self._file = DraftFile()
        self._states: dict[tuple[str, DraftKey], FormState] = {}
        #: Hosts whose new mount was touched since the start: what was saved of them is out of date.
        self._touched: set[str] = set()
        self._number = 0
        self._told = False
        self._ready = False
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self._save)

    def load(self) -> None:
        """Read the drafts of the last start."""
        call = self._run("drafts", self._file.read)
        call.succeeded.connect(self._on_read)
        call.failed.connect(self._on_failed)

    def keep(self, host: str, place: DraftKey, state: FormState | None) -> None:
        """Keep what a form holds; None if it holds nothing of the person's own."""
        if state == self.get(host, place):
            return
        if state is None:
            self._states.pop((host, place), None)
        else:
            self._states[host, place] = state
        if place is None:
            self._touched.add(host)
            self._pause.start()

    def get(self, host: str, place: DraftKey) -> FormState | None:
        """Return what was typed there, None if nothing was."""
        return self._states.get((host, place))

    def finish(self) -> None:
        """The window closes: save what was not saved yet, and wait a little for it."""
        if not self._ready or not (self._pause.isActive() or self._file.written < self._number):
            return
        self._pause.stop()
        try:
            run_in_thread("drafts", self._write()).result(_END_WAIT_S)
        except (AppError, WaitTimeoutError):
            return  # nobody looks any more

    def _write(self) -> partial[None]:
        """Return the work that saves the present state."""
        self._number += 1
        drafts = [
            MountDraft(host=host, **state._asdict())
            for (host, place), state in self._states.items()
            if place is None
        ]
        return partial(self._file.write, drafts, self._number)

    def _save(self) -> None:
        if self._ready:  # until then, those of the last start would be lost
            self._run("drafts", self._write()).failed.connect(self._on_failed)

    def _on_read(self, drafts: list[MountDraft]) -> None:
        self._ready = True
        for draft in drafts:
            if draft.host not in self._touched:
                state = FormState(draft.share, draft.mount_point, draft.options, draft.read_ahead_kb)
                self._states[draft.host, None] = state
        if self._touched:
            self._pause.start()
        self.loaded.emit()

    def _on_failed(self, error: AppError) -> None:
        if not self._told:
            self._told = True
            self.failed.emit(error)
