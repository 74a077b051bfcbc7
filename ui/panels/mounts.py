"""The list at the left: all NFS mounts of the host, by server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelection, QModelIndex, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QFrame, QTreeView, QVBoxLayout, QWidget

from ui.models.mounts_model import MountRole, MountsModel
from ui.widgets.labels import MutedLabel
from ui.widgets.mount_delegate import MountDelegate

if TYPE_CHECKING:
    from app.mounts.model import Mount, MountTable


class MountsPanel(QWidget):
    """Shows the mounts and says which one is chosen.

    Signals:
        chosen: the Mount that the person, or the program for them, selected.
        changed: the chosen Mount, after a snapshot changed it.
        vanished: the chosen mount is gone.
    """

    chosen = Signal(object)
    changed = Signal(object)
    vanished = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._model = MountsModel(self)
        self._view = QTreeView()
        self._view.setObjectName("mounts")
        self._view.setAccessibleName(self.tr("Mounts"))
        self._view.setModel(self._model)
        self._view.setItemDelegate(MountDelegate(self._view))
        self._view.setHeaderHidden(True)
        self._view.setRootIsDecorated(False)
        self._view.setItemsExpandable(False)
        self._view.setIndentation(0)
        self._view.setMouseTracking(True)
        self._view.setFrameShape(QFrame.Shape.NoFrame)
        self._view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._warnings = MutedLabel(wrap=True)
        self._warnings.setContentsMargins(8, 4, 8, 8)
        self._warnings.hide()
        self._current: Mount | None = None
        self._applying = False
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._view, 1)
        layout.addWidget(self._warnings)
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 32)
        self._view.selectionModel().selectionChanged.connect(self._on_selection)

    @property
    def model(self) -> MountsModel:
        """The model shown."""
        return self._model

    def current(self) -> Mount | None:
        """Return the chosen mount."""
        return self._current

    def apply(self, table: MountTable) -> None:
        """Show a snapshot and keep the choice where it was."""
        before = self._current
        # Qt moves the selection when its row goes; what is chosen is decided below, when all is in place.
        self._applying = True
        self._model.apply(table)
        self._applying = False
        self._view.expandAll()
        self._warnings.setText("\n".join(table.warnings))
        self._warnings.setVisible(bool(table.warnings))
        if before is not None:
            self._find_again(before)

    def choose(self, share: str, mount_point: str) -> bool:
        """Select a mount; return whether it is in the list."""
        return self._select(self._model.find(share, mount_point))

    def choose_first(self) -> bool:
        """Select the first mount; return whether there is one."""
        return self._select(self._model.first())

    def clear_choice(self) -> None:
        """Select nothing."""
        self._current = None
        self._view.selectionModel().clear()

    def _find_again(self, before: Mount) -> None:
        index = self._model.find(before.share, before.mount_point)
        if not index.isValid():
            self.clear_choice()
            self.vanished.emit()
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
