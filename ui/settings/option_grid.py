"""Option grid: all options of the catalogue as a form, in groups; each row is created when first shown."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QToolButton, QWidget

from advisor.catalogue import NO, YES, catalogue
from advisor.dialects.entry import mount_time_of
from ui.common.labels import enlarge
from ui.common.option_search import find_options
from ui.settings.option_rows import (
    COLUMN_ASIDE,
    COLUMN_LABEL,
    COLUMN_MARK,
    COLUMN_VALUE,
    GRID_ROWS,
    MOUNT_TIME_OPTIONS,
    READAHEAD,
    MountTimeRow,
    OptionRow,
    ReadaheadRow,
)
from ui.settings.share_field import ShareField

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from advisor.catalogue import Option, OptionGroup
    from advisor.finding import Finding
    from advisor.options import MountOptions
    from app.mounts.model import Active, OptionValue
    from ui.settings.option_rows import OptionCells, RecommendedValue


class ShownOptions(Enum):
    """Which rows the form shows."""

    SET = auto()
    ALL = auto()


class OptionSection(QObject):
    """One group of options below a button that expands and collapses it.

    Args:
        title: title of the group.
        options: options of the group, in display order.
        parent: the Qt parent.

    Attributes:
        options: options of the group.
        is_open: whether the section is expanded.
        button: button that expands and collapses the section.

    Signals:
        toggled: the user expanded or collapsed the section.
    """

    toggled = Signal()

    def __init__(self, title: str, options: Iterable[Option], parent: QObject) -> None:
        super().__init__(parent)
        self.options = list(options)
        self.is_open = False
        self._title = title
        self.button = QToolButton()
        self.button.setObjectName(f"more-{self.options[0].group}")
        self.button.setAutoRaise(True)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        enlarge(self.button, 1.0, bold=True)
        self.button.clicked.connect(self._on_clicked)
        self.show_counts(0)
        self._show()

    def open(self) -> None:
        """Expand the section."""
        self.is_open = True
        self._show()

    def collapse(self) -> None:
        """Collapse the section."""
        self.is_open = False
        self._show()

    def show_counts(self, count: int) -> None:
        """Show the number of options on the button, and ``count``, the number of those with a value."""
        text = self.tr("{title} ({total}, {count} set)") if count else self.tr("{title} ({total})")
        self.button.setText(text.format(title=self._title, total=len(self.options), count=count))

    def _show(self) -> None:
        state = self.tr("Expanded") if self.is_open else self.tr("Collapsed")
        self.button.setAccessibleDescription(state)
        self.button.setArrowType(Qt.ArrowType.DownArrow if self.is_open else Qt.ArrowType.RightArrow)

    def _on_clicked(self) -> None:
        self.is_open = not self.is_open
        self._show()
        self.toggled.emit()


_IDLE_TIMEOUT = "x-systemd.idle-timeout"
#: Options that the note of the mount time explains, so that they need no rows of their own.
_EXPLAINED_BY_MOUNT_TIME = frozenset({"nofail", "_netdev"})
#: Entries of the Tab order and of the display order for the rows that stand for no single option.
_WHEN, _READAHEAD = "", READAHEAD

#: Minimum width of the form that has room for wide editors, characters.
_WIDE = 108
#: Width of the column of editors in a wide and in a narrow form, characters.
_EDITOR_LETTERS, _NARROW_EDITOR_LETTERS = 30, 25


class OptionGrid(QWidget):
    """Form of all options; it shows values and reports edits, but the owner stores the values.

    Args:
        place_fields: labels and fields for share and mount point, shown above the options.

    Attributes:
        rows: rows created so far, by canonical option name.
        when: row of the mount time.
        readahead: row of the readahead.

    Signals:
        edited: canonical name of an option, and the value that the user entered.
        when_edited: the MountTime that the user selected.
        readahead_edited: the requested readahead, KiB; None to leave it unchanged.
        fix_chosen: the Finding whose fix the user wants in the form.
        row_made: input widget of a new row, and the cells of the row.
    """

    edited = Signal(str, object)
    when_edited = Signal(str)
    readahead_edited = Signal(object)
    fix_chosen = Signal(object)
    row_made = Signal(object, object)

    def __init__(self, place_fields: Sequence[tuple[str, QWidget]]) -> None:
        super().__init__()
        self.rows: dict[str, OptionRow] = {}
        self._shown = ShownOptions.SET
        self._place_rows: list[QWidget] = []
        self._place_shown = True
        self._when_shown = True
        self._values: dict[str, str] = {}
        self._original_values: dict[str, str] = {}
        self._values_in_use: dict[str, OptionValue] = {}
        self._refused: frozenset[str] = frozenset()
        self._advice: Mapping[str, RecommendedValue] = {}
        #: Findings by the row that shows them.
        self._findings: dict[str, list[Finding]] = {}
        #: Options that were set at any time since the form was loaded: their rows stay.
        self._seen_set: set[str] = set()
        self._version_and_transport = ("", "")
        self._search_words = ""
        self._search_hits: frozenset[str] | None = None
        self._sections: list[OptionSection] = []
        self._grid_rows: dict[str, int] = {}
        self._tab_order: list[QWidget | str] = []
        self._grid = QGridLayout(self)
        self._narrow = False
        self._fill(place_fields)

    # Construction

    def _fill(self, place_fields: Sequence[tuple[str, QWidget]]) -> None:
        grid = self._grid
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        titles: dict[OptionGroup, str] = {
            "general": self.tr("General"), "transfer": self.tr("Transfer"), "timing": self.tr("Timing"),
            "caching": self.tr("Caching"), "security": self.tr("Security"), "advanced": self.tr("Advanced"),
        }  # fmt: skip
        row = 0
        for text, field in place_fields:
            self._add_place(row, text, field)
            row += 1
        self.readahead = ReadaheadRow(grid, row, self)
        self.readahead.edited.connect(self.readahead_edited)
        self._tab_order.append(_READAHEAD)
        row += GRID_ROWS
        self.when = MountTimeRow(grid, row, self)
        self.when.edited.connect(self.when_edited)
        self._tab_order.append(_WHEN)
        row += GRID_ROWS
        for cells in (self.readahead.cells, self.when.cells):
            cells.fix_chosen.connect(self.fix_chosen)
        for group, title in titles.items():
            options = [o for o in catalogue() if o.group == group and o.name not in MOUNT_TIME_OPTIONS]
            section = OptionSection(title, options, self)
            section.toggled.connect(self._on_toggled)
            self._sections.append(section)
            grid.addWidget(section.button, row, 0, 1, -1)
            self._tab_order.append(section.button)
            row += 1
            for option in options:
                row = self._reserve_row(row, option)
        grid.setColumnMinimumWidth(COLUMN_MARK, self.fontMetrics().height())
        grid.setColumnMinimumWidth(COLUMN_VALUE, self._editor_width())
        grid.setColumnStretch(COLUMN_ASIDE, 1)
        grid.setRowStretch(row, 1)

    def _add_place(self, row: int, text: str, field: QWidget) -> None:
        label = QLabel(text)
        label.setBuddy(field)
        field.setAccessibleName(text.replace("&", ""))
        self._grid.addWidget(label, row, COLUMN_LABEL)
        self._grid.addWidget(field, row, COLUMN_VALUE, 1, -1)
        self._place_rows += [label, field]
        self._tab_order.append(field)

    def _reserve_row(self, row: int, option: Option) -> int:
        self._grid_rows[option.name] = row
        self._tab_order.append(option.name)
        return row + GRID_ROWS

    def _make_row(self, option: Option) -> OptionRow:
        row = OptionRow(option, self._grid, self._grid_rows[option.name], self)
        row.edited.connect(self.edited)
        row.cells.fix_chosen.connect(self.fix_chosen)
        self.rows[option.name] = row
        row.cells.set_narrow(narrow=self._narrow)
        self._show_row(row)
        row.cells.show_findings(self._findings.get(option.name, []))
        self.row_made.emit(row.editor.field, row.cells)
        return row

    def order_tabs(self, previous: QWidget | None = None) -> QWidget | None:
        """Set the Tab order from row to row after ``previous``; return the last widget of the form."""
        for entry in self._tab_order:
            for widget in self._tab_widgets(entry):
                if previous is not None:
                    QWidget.setTabOrder(previous, widget)
                previous = widget
        return previous

    def _tab_widgets(self, entry: QWidget | str) -> list[QWidget]:
        if isinstance(entry, QWidget):
            chain: list[QWidget] = entry.focus_chain() if isinstance(entry, ShareField) else [entry]
            return chain
        cells = self._cells_of(entry)
        return cells.focus_chain() if cells is not None else []

    def _cells_of(self, entry: str) -> OptionCells | None:
        """Return the cells of a row by its entry of the Tab order, None if the row was not created yet."""
        if entry == _WHEN:
            return self.when.cells
        if entry == _READAHEAD:
            return self.readahead.cells
        row = self.rows.get(entry)
        return row.cells if row is not None else None

    def _all_cells(self) -> list[OptionCells]:
        return [self.readahead.cells, self.when.cells, *(row.cells for row in self.rows.values())]

    # Called by the panel

    def set_available_width(self, width: int) -> None:
        """Set the available width, px; a narrow form has smaller editors."""
        narrow = width < self.fontMetrics().averageCharWidth() * _WIDE
        if narrow != self._narrow:
            self._narrow = narrow
            self._grid.setColumnMinimumWidth(COLUMN_VALUE, self._editor_width())
            for cells in self._all_cells():
                cells.set_narrow(narrow=narrow)

    def _editor_width(self) -> int:
        return self.fontMetrics().averageCharWidth() * (
            _NARROW_EDITOR_LETTERS if self._narrow else _EDITOR_LETTERS
        )

    @property
    def is_bare(self) -> bool:
        """Whether the form shows no option, because none is set or recommended."""
        nothing = self._shown is ShownOptions.SET and self._search_hits is None
        return nothing and not any(row.cells.is_visible for row in self.rows.values())

    def show_only(self, shown: ShownOptions) -> None:
        """Select which rows the form shows."""
        self._shown = shown
        self._show_rows()

    def show_place(self, *, visible: bool) -> None:
        """Show or hide the fields above the options."""
        self._place_shown = visible
        self._show_rows()

    def show_when(self, *, visible: bool) -> None:
        """Show or hide the mount time; it is hidden for a mount that is not saved."""
        self._when_shown = visible
        self._show_rows()

    def show_options(
        self, options: MountOptions, was: MountOptions, read_ahead_kb: int | None, *, fresh: bool
    ) -> None:
        """Show the requested options.

        Args:
            options: the requested options.
            was: the options before the user's edits.
            read_ahead_kb: requested readahead, KiB; None to leave it unchanged.
            fresh: whether another mount is shown, so that the sections collapse.
        """
        values = options.values()
        new = set(values) - (set() if fresh else set(self._values))
        self._values, self._original_values = values, was.values()
        self._version_and_transport = (
            self._version_and_transport
            if self._values_in_use
            else (values.get("vers", ""), values.get("proto", ""))
        )
        if fresh:
            self._seen_set = set()
        for section in self._sections:
            if fresh:
                section.collapse()
            given = [option.name for option in section.options if option.name in values]
            section.show_counts(len(given))
            if not fresh and any(name in new and not self._is_explained(name) for name in given):
                section.open()
        waits = values.get("nofail") != YES
        self.when.show_value(mount_time_of(options), mount_time_of(was), waits=waits)
        self.readahead.show_value(read_ahead_kb)
        for row in self.rows.values():
            self._show_row(row)
        self._show_rows()

    def show_in_use(
        self, values: Iterable[OptionValue], refused: Iterable[str], active: Active | None
    ) -> None:
        """Set the values in use; the next call of :meth:`show_options` shows them.

        Args:
            values: options with their values in use.
            refused: names of options whose requested value is not in use.
            active: the active mount, None if the share is not mounted.
        """
        self._values_in_use = {value.name: value for value in values}
        self._refused = frozenset(refused)
        in_use = [self._values_in_use.get(name) for name in ("vers", "proto")]
        version, transport = (value.effective or "" if value else "" for value in in_use)
        self._version_and_transport = version, transport
        self.readahead.show_in_use(active)

    def show_recommended(self, advice: Mapping[str, RecommendedValue]) -> None:
        """Show recommended values by the name of the option or of the tunable."""
        self._advice = advice
        self.readahead.show_recommended(advice.get(READAHEAD))
        for row in self.rows.values():
            row.show_recommended(advice.get(row.option.name))
        self._show_rows()

    def show_findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """Show each finding below the row of its first option; return those that belong to no row."""
        self._findings = {}
        others: list[Finding] = []
        for finding in findings:
            name = self._row_of(finding)
            if name is None:
                others.append(finding)
            else:
                self._findings.setdefault(name, []).append(finding)
        changed = False
        for name, row in self.rows.items():
            changed |= row.cells.show_findings(self._findings.get(name, []))
        changed |= self.when.cells.show_findings(self._findings.get(_WHEN, []))
        self._show_rows(reorder=changed)
        return others

    def _row_of(self, finding: Finding) -> str | None:
        """Return the row for a finding, preferably that of an option which is set; None if there is none."""
        names = [
            _WHEN if name in MOUNT_TIME_OPTIONS and self._when_shown else name
            for name in finding.options
            if name in self._grid_rows or (name in MOUNT_TIME_OPTIONS and self._when_shown)
        ]
        given = [name for name in names if name in self._values]
        return next(iter([*given, *names]), None)

    def search(self, words: str) -> int:
        """Show only the rows that have to do with these words, "" for no search; return their number."""
        self._search_words = words
        self._search_hits = find_options(words) if words else None
        self._show_rows()
        return sum(cells.is_visible for cells in self._all_cells())

    def focus_first(self) -> None:
        """Set the focus to the first visible row."""
        for entry in self._tab_order:
            cells = self._cells_of(entry) if isinstance(entry, str) else None
            if cells is not None and cells.is_visible:
                cells.focus_chain()[0].setFocus()
                return

    def field(self, name: str) -> QWidget | None:
        """Return the editor of the row of an option or of the readahead, if the row is shown."""
        cells = self._cells_of(_WHEN if name in MOUNT_TIME_OPTIONS else name)
        return cells.focus_chain()[0] if cells is not None and cells.is_visible else None

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Return these options in the order of the rows."""
        wanted = set(names)
        order = [READAHEAD, *MOUNT_TIME_OPTIONS, *self._grid_rows]
        return [name for name in order if name in wanted]

    def problem(self) -> tuple[QWidget, str, str] | None:
        """Return field, problem and help of the first row with invalid input, or None."""
        if self.readahead.problem():
            return self.readahead.combo, self.readahead.problem(), self.readahead.help
        for name in self._grid_rows:
            row = self.rows.get(name)
            if row is not None and row.problem():
                return row.editor, row.problem(), row.option.help
        return None

    # Internals

    def _is_explained(self, name: str) -> bool:
        return name in _EXPLAINED_BY_MOUNT_TIME and self._values.get(name) == YES and self._when_shown

    def _show_row(self, row: OptionRow) -> None:
        name = row.option.name
        row.show_default(*self._version_and_transport)
        row.show_value(self._values.get(name), self._original_values.get(name))
        row.show_in_use(self._values_in_use.get(name), refused=name in self._refused)
        row.show_recommended(self._advice.get(name))

    def _show_rows(self, *, reorder: bool = False) -> None:
        row_count = len(self.rows)
        self.setUpdatesEnabled(False)  # avoids a repaint for each of hundreds of widgets
        hits = self._search_hits
        for widget in self._place_rows:
            widget.setVisible(self._place_shown and hits is None)
        when = hits is None or bool(hits & MOUNT_TIME_OPTIONS)
        self.when.cells.set_visible(visible=self._when_shown and when)
        self.readahead.cells.set_visible(visible=hits is None or self.readahead.is_hit(self._search_words))
        self._seen_set |= self._grid_rows.keys() & (self._values.keys() | self._original_values.keys())
        for section in self._sections:
            section.button.setVisible(hits is None and self._shown is ShownOptions.ALL)
            for option in section.options:
                self._show_option(option, is_visible=self._is_shown(section, option.name))
        self.setUpdatesEnabled(True)
        if len(self.rows) != row_count or reorder:
            self.order_tabs()

    def _matters(self, name: str) -> bool:
        """Return whether an option is or was set, is recommended, or has a finding."""
        if name in self._advice or name in self._findings:
            return True
        if name == _IDLE_TIMEOUT:
            on_demand = self._values.get("x-systemd.automount") not in {None, NO}
            return on_demand or name in self._values
        return name in self._seen_set and not self._is_explained(name)

    def _is_shown(self, section: OptionSection, name: str) -> bool:
        if self._search_hits is not None:
            return name in self._search_hits
        if self._shown is ShownOptions.ALL:
            return section.is_open
        return self._matters(name)

    def _show_option(self, option: Option, *, is_visible: bool) -> None:
        row = self.rows.get(option.name)
        if is_visible and row is None:
            row = self._make_row(option)
        if row is not None:
            row.cells.set_visible(visible=is_visible)

    def _on_toggled(self) -> None:
        self._show_rows()

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "when"):
            for cells in self._all_cells():
                cells.update_colors()
