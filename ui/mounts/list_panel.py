"""List of mounts: all NFS mounts of the host, grouped by server, with a filter and a row for the draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QItemSelection, QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLineEdit,
    QListView,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.kernel.utab import plain_share
from app.mounts.model import MountTable
from ui.common.labels import MutedLabel, plain_tip
from ui.mounts.delegate import MountDelegate
from ui.mounts.list_model import MountListModel, MountRole

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from app.mounts.model import Mount


class DraftRow(QPushButton):
    """Button above the list for the draft of a new mount; checked while the draft is shown."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self.setObjectName("draft")
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_draft(self, name: str | None, *, chosen: bool) -> None:
        """Show the name of the draft, or hide the row for None."""
        self.setVisible(name is not None)
        self.setChecked(chosen)
        self._text = self.tr("Draft: {name}").format(name=name or self.tr("new mount"))
        self.setAccessibleName(self._text)
        self.setToolTip(plain_tip(self._text))
        self._elide()

    def nextCheckState(self) -> None:
        """Qt: keep the check state on a click; :meth:`show_draft` sets it."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: elide the name to the new width."""
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        available = self.width() - 3 * self.fontMetrics().averageCharWidth()
        text = self.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideMiddle, available)
        self.setText(text.replace("&", "&&"))


class MountListPanel(QWidget):
    """Filterable list of mounts with a single selection.

    Signals:
        chosen: the Mount that the user or the program selected.
        changed: the selected Mount, after a new mount table changed it.
        vanished: the selected mount is no longer in the mount table.
        draft_chosen: the user clicked the row of the draft.
    """

    chosen = Signal(object)
    changed = Signal(object)
    vanished = Signal()
    draft_chosen = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._model = MountListModel(self)
        self._view = QListView()
        self._view.setObjectName("mounts")
        self._view.setAccessibleName(self.tr("Mounts"))
        self._view.setModel(self._model)
        self._view.setItemDelegate(MountDelegate(self._view))
        # All rows have the same height, so that the view measures only one of them.
        self._view.setUniformItemSizes(True)
        self._view.setMouseTracking(True)
        self._view.setFrameShape(QFrame.Shape.NoFrame)
        self._view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._warnings = MutedLabel(wrap=True)
        self._warnings.setContentsMargins(8, 4, 8, 8)
        self._warnings.hide()
        self._filter = _FilterField()
        self._filter.setObjectName("filter")
        self._filter.setAccessibleName(self.tr("Find a mount"))
        self._filter.setPlaceholderText(self.tr("Find a mount (Ctrl+L)"))
        self._filter.setClearButtonEnabled(True)
        self._filter.textChanged.connect(self._on_filter)
        focus = QShortcut(QKeySequence("Ctrl+L"), self)
        focus.activated.connect(self._filter.setFocus)
        self._count = MutedLabel(wrap=True)
        self._count.setObjectName("filter-count")
        self._count.setContentsMargins(8, 4, 8, 4)
        self._count.hide()
        self._draft = DraftRow()
        self._draft.clicked.connect(self.draft_chosen)
        self._current: Mount | None = None
        self._applying = False
        self._table = MountTable(mounts=[])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        top = QVBoxLayout()
        top.setContentsMargins(8, 8, 8, 4)
        top.addWidget(self._filter)
        layout.addLayout(top)
        layout.addWidget(self._count)
        draft = QVBoxLayout()
        draft.setContentsMargins(8, 0, 8, 4)
        draft.addWidget(self._draft)
        layout.addLayout(draft)
        layout.addWidget(self._view, 1)
        layout.addWidget(self._warnings)
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 26)
        self._view.selectionModel().selectionChanged.connect(self._on_selection)

    @property
    def model(self) -> MountListModel:
        """Model of the view."""
        return self._model

    def current(self) -> Mount | None:
        """Return the selected mount, or None."""
        return self._current

    def show_draft(self, name: str | None, *, chosen: bool) -> None:
        """Show the row of the draft above the mounts.

        Args:
            name: share of the draft, or None to hide the row.
            chosen: whether the page shows the draft.
        """
        self._draft.show_draft(name, chosen=chosen)

    def apply(self, table: MountTable) -> None:
        """Show a mount table and keep the selection."""
        before = self._current
        self._table = table
        self._show(table, replace=False)
        self._warnings.setText("\n".join(table.warnings))
        self._warnings.setVisible(bool(table.warnings))
        if before is not None:
            self._restore_selection(before)

    def _show(self, table: MountTable, *, replace: bool) -> None:
        """Show the mounts of a table that match the filter; ``replace`` resets the model."""
        words = self._filter.text().casefold().split()
        matching = (
            [mount for mount in table.mounts if self._matches_filter(mount, words)] if words else table.mounts
        )
        shown = MountTable(mounts=matching)
        # Qt moves the selection when its row is removed. That is ignored; apply() restores the selection.
        self._applying = True
        self._view.setUpdatesEnabled(False)
        if replace or not self._model.rowCount():
            self._model.replace_all(shown)
        else:
            self._model.apply(shown)
        self._view.setUpdatesEnabled(True)
        self._applying = False
        found, total = len(matching), len(table.mounts)
        text = self.tr("{found} of {total}") if found else self.tr("None of the {total} mounts has this.")
        self._count.setText(text.format(found=found, total=total))
        self._count.setVisible(bool(words))

    def _matches_filter(self, mount: Mount, words: list[str]) -> bool:
        origin = mount.configured.origin if mount.configured is not None else ""
        text = f"{mount.share}\n{mount.mount_point}\n{self._model.state_word(mount)}\n{origin}".casefold()
        return all(word in text for word in words)

    def _on_filter(self, _text: str) -> None:
        self._show(self._table, replace=True)
        if self._current is not None:
            index = self._model.find(self._current.share, self._current.mount_point)
            if index.isValid():
                self._applying = True  # the mount is selected already: emit no signal
                self._view.setCurrentIndex(index)
                self._applying = False

    def filter_by(self, text: str) -> None:
        """Show only mounts with all words of this text in their share, mount point, state or source file."""
        self._filter.setText(text)

    def choose(self, share: str, mount_point: str) -> bool:
        """Select a mount, and clear a filter that hides it; return whether the table has the mount."""
        plain = plain_share(share)  # the kernel prints a share without a trailing slash
        for mount in self._table.mounts:
            if mount.mount_point == mount_point and plain_share(mount.share) == plain:
                if not self._model.find(mount.share, mount_point).isValid():
                    self._filter.clear()
                return self._select(self._model.find(mount.share, mount_point))
        return False

    def choose_first(self) -> bool:
        """Select the first mount, and clear a filter that hides all; return whether there is any mount."""
        if not self._model.first().isValid():
            self._filter.clear()
        return self._select(self._model.first())

    def clear_choice(self) -> None:
        """Clear the selection."""
        self._current = None
        self._view.selectionModel().clear()

    def _restore_selection(self, before: Mount) -> None:
        index = self._model.find(before.share, before.mount_point)
        if not index.isValid():
            hidden = (
                m
                for m in self._table.mounts
                if (m.share, m.mount_point) == (before.share, before.mount_point)
            )
            still_present = next(hidden, None)
            if still_present is None:
                self.clear_choice()
                self.vanished.emit()
            elif still_present != before:
                self._current = still_present
                self.changed.emit(still_present)
            return
        mount: Mount = index.data(MountRole)
        self._current = mount
        if not self._view.selectionModel().isSelected(index):
            self._view.setCurrentIndex(index)
        elif mount != before:
            self.changed.emit(mount)

    def _select(self, index: QModelIndex) -> bool:
        if index.isValid():
            self._view.setCurrentIndex(index)
        return index.isValid()

    def _on_selection(self, _selected: QItemSelection, _deselected: QItemSelection) -> None:
        if self._applying:
            return
        indexes = self._view.selectionModel().selectedIndexes()
        if indexes:
            mount: Mount = indexes[0].data(MountRole)
            self._current = mount
            self.chosen.emit(mount)


class _FilterField(QLineEdit):
    """Line edit that Esc clears; if it is empty, the window's shortcut gets the key."""

    # Qt overrides

    def event(self, event: QEvent) -> bool:
        """Qt: clear the text on Esc, and keep the key from the window's shortcut."""
        kinds = {QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress}
        escape = event.type() in kinds and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if not escape or not self.text():
            return super().event(event)
        if event.type() == QEvent.Type.KeyPress:
            self.clear()
        event.accept()
        return True
