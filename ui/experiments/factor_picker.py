"""Factor picker: searchable check list of the factors that an experiment can vary, with help and levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from advisor.catalogue import NO
from advisor.options import catalogue
from app.experiment.factors import (
    BLOCK_SIZE,
    CACHE_MODE,
    DEFAULT,
    FILE_SIZE,
    PATTERN,
    READ_AHEAD,
    RECORD_SIZE,
    STREAMS,
    TRANSFER_SIZE,
    YES_LEVEL,
    factor_label,
)
from ui.common.labels import MutedLabel
from ui.common.option_search import find_options
from ui.common.option_text import help_line, value_text
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Collection

    from advisor.catalogue import Option

#: Options that cannot be varied: on a read-only mount no test file can be written.
_EXCLUDED_OPTIONS = frozenset({"ro"})
#: Levels that show most with few trials; the user can type others.
_STARTING_LEVELS = {
    "rsize": ("65536", "262144", "1048576"), "wsize": ("65536", "262144", "1048576"),
    "nconnect": ("1", "2", "4", "8"), "timeo": ("10", "100", "600"), "retrans": ("2", "5"),
    "vers": ("3", "4.2"), "proto": ("tcp", "udp"), "actimeo": (DEFAULT, "0", "60"),
    "sec": ("sys", "krb5"), "lookupcache": ("all", "none"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorChoice:
    """One factor that the recipe form offers.

    Attributes:
        name: name of the factor in recipe files.
        label: name for the user, a few plain words.
        help: effect of the factor, in sentences.
        offered: all possible levels, () if levels are typed.
        start: levels of a factor that was just added.
        hint: description of the levels that can be typed, "" if all levels are offered.
    """

    name: str
    label: str
    help: str
    offered: tuple[str, ...] = ()
    start: tuple[str, ...]
    hint: str = ""

    def text_of(self, level: str) -> str:
        """Return a level as the form shows it."""
        if level == DEFAULT:
            return tr("default")
        option = catalogue().find(self.name)
        return level if option is None or self.name == CACHE_MODE else value_text(option, level)


@cache
def factor_choices() -> tuple[FactorChoice, ...]:
    """Return all factors: the combined and workload factors first, then options in catalogue order."""
    options = [
        option
        for option in catalogue()
        if option.scope != "fstab" and option.helper and option.name not in _EXCLUDED_OPTIONS
    ]
    return (*_combined_and_workload_choices(), *map(_option_choice, options))


def choice_of(name: str) -> FactorChoice:
    """Return the choice of a factor; a factor that the list does not offer has typed levels."""
    for choice in factor_choices():
        if choice.name == name:
            return choice
    return FactorChoice(
        name=name, label=factor_label(name), help="", start=(), hint=tr("Levels, with commas between")
    )


def find_factors(query: str) -> frozenset[str]:
    """Return the names of the factors in which every word of the query occurs."""
    words = query.casefold().split()
    own = {
        choice.name
        for choice in factor_choices()
        if all(word in f"{choice.label} {choice.name} {choice.help}".casefold() for word in words)
    }
    return find_options(query) | own


def _option_choice(option: Option) -> FactorChoice:
    offered: tuple[str, ...] = ()
    if option.kind == "flag":
        offered = (YES_LEVEL, NO)
    elif option.values:
        offered = tuple(value for value in option.values if value not in option.synonyms)
    start = _STARTING_LEVELS.get(option.name) or offered[:2] or (DEFAULT,)
    return FactorChoice(
        name=option.name,
        label=option.label,
        help=help_line(option),
        offered=(*offered, DEFAULT) if offered else (),
        start=start,
        hint="" if offered else _range_text(option),
    )


def _range_text(option: Option) -> str:
    """Return a hint for the values that can be typed."""
    if option.kind == "size":
        return tr("Sizes with commas between, such as 64k, 256k, 1M; or default")
    if not option.is_number:
        return tr("Values with commas between; or default")
    low, high = option.minimum or 0, option.maximum or 0
    numbers = tr("Numbers from {low} to {high}").format(low=low, high=high)
    if high >= _NO_UPPER_BOUND:
        numbers = tr("Numbers from {low} up").format(low=low)
    unit = tr(" ({unit})").format(unit=option.unit) if option.unit else ""
    return tr("{numbers}{unit}, with commas between; or default").format(numbers=numbers, unit=unit)


#: Maximum from which on the hint names none: it is only the range of the kernel's integer type.
_NO_UPPER_BOUND = 10**6


def _combined_and_workload_choices() -> tuple[FactorChoice, ...]:
    sizes = tr("Sizes with commas between, such as 4k, 64k, 1M")
    numbers = tr("Numbers with commas between, such as {example}")
    entries: list[tuple[str, str, tuple[str, ...], tuple[str, ...], str]] = [
        (TRANSFER_SIZE,
         tr("rsize and wsize together: how much one request reads or writes."),
         (), ("64k", "256k", "1M"), tr("Sizes with commas between, such as 64k, 256k, 1M; or default")),
        (READ_AHEAD,
         tr("How far the kernel reads ahead of a program, in KiB; 128 is what a new mount has."),
         (), ("128", "1024", "4096"), numbers.format(example="128, 1024, 4096")),
        (CACHE_MODE,
         tr("How long what is known of files is believed: as usual, never and with synchronous writing "
             "(noac), or never with writing as usual (actimeo=0)."),
         (DEFAULT, "noac", "actimeo=0"), (DEFAULT, "noac", "actimeo=0"), ""),
        (STREAMS,
         tr("How many files are copied at once, each by a process of its own."),
         (), ("1", "4"), numbers.format(example="1, 4, 16")),
        (FILE_SIZE, tr("The size of the file; it replaces the size of the workloads."),
         (), ("1M", "16M"), sizes),
        (BLOCK_SIZE, tr("How much a program reads or writes with one call."), (), ("4k", "1M"), sizes),
        (RECORD_SIZE, tr("How much is read or written at a place of the file at a time."),
         (), ("4k", "64k"), sizes),
        (PATTERN, tr("Whether the records of a file are read and written in order or at random."),
         ("sequential", "random"), ("sequential", "random"), ""),
    ]  # fmt: skip
    return tuple(
        FactorChoice(name=name, label=factor_label(name), help=text, offered=offered, start=start, hint=hint)
        for name, text, offered, start, hint in entries
    )


_NAME = Qt.ItemDataRole.UserRole


class FactorPicker(QWidget):
    """Check list of factors with a search field; Space or a double click checks the current factor.

    Signals:
        picked: name of a factor, and whether it was checked.
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
        self._list.itemDoubleClicked.connect(_toggle)
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

    def show_selected(self, names: Collection[str]) -> None:
        """Check exactly the factors of these names."""
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
        """Check or uncheck the best match when the user presses Enter in the search field."""
        current = self._list.currentItem()
        if not current.isHidden():
            _toggle(current)

    def _on_changed(self, item: QListWidgetItem) -> None:
        self.picked.emit(item.data(_NAME), item.checkState() == Qt.CheckState.Checked)

    def _on_current(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            choice = next(offered for offered in factor_choices() if offered.name == item.data(_NAME))
            self._help.setText(choice.help)


def _toggle(item: QListWidgetItem) -> None:
    ticked = item.checkState() == Qt.CheckState.Checked
    item.setCheckState(Qt.CheckState.Unchecked if ticked else Qt.CheckState.Checked)


def _distance(item: QListWidgetItem, query: str) -> int:
    """Return the rank of a match: 0 for the exact name, 3 for a match in the help text only."""
    name, title = item.data(_NAME), item.text().casefold()
    return [name == query, title.startswith(query), query in title or query in name, True].index(True)
