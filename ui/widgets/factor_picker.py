"""The list of all that an experiment can vary: searched, ticked, and each described."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from ui.common import theme
from ui.common.labels import MutedLabel
from ui.experiments.factor_picker import factor_choices, find_factors

if TYPE_CHECKING:
    from collections.abc import Collection

_NAME = Qt.ItemDataRole.UserRole


class FactorPicker(QWidget):
    """Ticks factors; Space or a double click ticks the present one.

    Signals:
        picked: a factor's name, and whether it is to be varied.
    """

    picked = Signal(str, bool)

    def __init__(self) -> None:
        super().__init__()
        self._search = QLineEdit()
        self._search.setObjectName("factor-search")
        self._search.setPlaceholderText(self.tr("Find, for example “readahead”"))
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._filter)
        self._list = QListWidget()
        self._list.setObjectName("factor-list")
        self._list.setAccessibleName(self.tr("What can be varied"))
        self._list.setUniformItemSizes(True)
        self._list.setItemDelegate(_SeenBoxes(self._list))
        for choice in factor_choices():
            item = QListWidgetItem(choice.label)
            item.setData(_NAME, choice.name)
            item.setFlags(
                Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
            )
            item.setCheckState(Qt.CheckState.Unchecked)
            item.setToolTip(f"{choice.label} ({choice.name})")
            item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, choice.help)
            self._list.addItem(item)
        self._help = MutedLabel(wrap=True)
        self._help.setObjectName("factor-help")
        self._help.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._list.itemChanged.connect(self._on_changed)
        self._list.itemDoubleClicked.connect(_turn)
        self._list.currentItemChanged.connect(self._on_current)
        self._search.returnPressed.connect(self._on_return)
        self._lay_out()
        self._list.setCurrentRow(0)

    def _lay_out(self) -> None:
        label = QLabel(self.tr("&Vary"))
        label.setBuddy(self._search)
        about = QScrollArea()
        about.setWidget(self._help)
        about.setWidgetResizable(True)
        about.setFrameShape(QScrollArea.Shape.NoFrame)
        about.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        about.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        about.setFixedHeight(self.fontMetrics().lineSpacing() * 8)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(label)
        layout.addWidget(self._search)
        layout.addWidget(self._list, 1)
        layout.addWidget(about)

    def show_picked(self, names: Collection[str]) -> None:
        """Tick these and no others."""
        self._list.blockSignals(True)  # noqa: FBT003
        for item in self._items():
            chosen = item.data(_NAME) in names
            item.setCheckState(Qt.CheckState.Checked if chosen else Qt.CheckState.Unchecked)
        self._list.blockSignals(False)  # noqa: FBT003

    def _items(self) -> list[QListWidgetItem]:
        return [self._list.item(row) for row in range(self._list.count())]

    def _filter(self, query: str) -> None:
        found = find_factors(query)
        for item in self._items():
            item.setHidden(item.data(_NAME) not in found)
        shown = [item for item in self._items() if not item.isHidden()]
        if query and shown:
            self._list.setCurrentItem(min(shown, key=lambda item: _distance(item, query.casefold().strip())))

    def _on_return(self) -> None:
        """Enter in the search ticks what was found first."""
        current = self._list.currentItem()
        if not current.isHidden():
            _turn(current)

    def _on_changed(self, item: QListWidgetItem) -> None:
        self.picked.emit(item.data(_NAME), item.checkState() == Qt.CheckState.Checked)

    def _on_current(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            choice = next(one for one in factor_choices() if one.name == item.data(_NAME))
            self._help.setText(choice.help)


class _SeenBoxes(QStyledItemDelegate):
    """Lets the boxes be seen in the dark, where the style paints them in the colour of the list."""

    # Qt overrides

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt: prepare a line."""
        super().initStyleOption(option, index)
        colours = theme.colours()
        if colours is theme.DARK:
            palette: QPalette = option.palette
            palette.setColor(QPalette.ColorRole.Base, QColor(colours.border))
            option.palette = palette


def _turn(item: QListWidgetItem) -> None:
    ticked = item.checkState() == Qt.CheckState.Checked
    item.setCheckState(Qt.CheckState.Unchecked if ticked else Qt.CheckState.Checked)


def _distance(item: QListWidgetItem, query: str) -> int:
    """Return how far from the query an item is: what is called so comes before what speaks of it."""
    name, title = item.data(_NAME), item.text().casefold()
    return [name == query, title.startswith(query), query in title or query in name, True].index(True)
