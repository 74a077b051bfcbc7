"""Option grid: all options of the catalogue as a form, in groups; each row is created when first shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QToolButton, QWidget

from advisor.catalogue import NO, YES, catalogue
from advisor.dialects.entry import mount_time_of
from ui.common.labels import MutedLabel, enlarge, heading
from ui.common.option_text import help_line
from ui.settings.option_rows import (
    COLUMN_DEFAULT,
    COLUMN_IN_USE,
    COLUMN_LABEL,
    COLUMN_RECOMMENDED,
    COLUMN_REQUESTED,
    GRID_ROWS,
    MOUNT_TIME_OPTIONS,
    MountTimeRow,
    OptionRow,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from advisor.catalogue import Option, OptionGroup
    from advisor.finding import Finding
    from advisor.options import MountOptions
    from app.mounts.model import OptionValue
    from ui.settings.option_rows import RecommendedValue


class OptionSection(QObject):
    """One group of options, with a button that expands and collapses the less common ones.

    Args:
        title: title of the group.
        options: all options of the group, in display order.
        always: names of the options that are always shown. If it is empty, the button replaces the heading.
        parent: the Qt parent.

    Attributes:
        always: options that are always shown.
        more: options shown only while the section is expanded.
        is_open: whether the section is expanded.
        label: heading of the group, or None if the button replaces it.
        button: button that expands and collapses the section.

    Signals:
        toggled: the user expanded or collapsed the section.
    """

    toggled = Signal()

    def __init__(
        self, title: str, options: Iterable[Option], always: frozenset[str], parent: QObject
    ) -> None:
        super().__init__(parent)
        options = list(options)
        self.always = [option for option in options if option.name in always]
        self.more = [option for option in options if option.name not in always]
        self.is_open = False
        self._pinned = False
        self.label: QLabel | None = heading(title) if self.always else None
        self.button = QToolButton()
        self.button.setObjectName(f"more-{options[0].group}")
        self.button.setAutoRaise(True)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._text = title if self.label is None else self.tr("More of {group}").format(group=title)
        if self.label is None:
            enlarge(self.button, 1.15, bold=True)
        self.button.clicked.connect(self._on_clicked)
        self.show_counts(0)
        self._show()

    def names(self) -> set[str]:
        """Return the names of all options of the group."""
        return {option.name for option in (*self.always, *self.more)}

    def open(self) -> None:
        """Expand the section."""
        self.is_open = True
        self._show()

    def collapse(self) -> None:
        """Collapse the section, unless the user expanded it."""
        self.is_open = self._pinned
        self._show()

    def show_counts(self, count: int) -> None:
        """Show the number of options on the button, and ``count``, the number of those with a value."""
        text = f"{self._text} ({len(self.more)})"
        self.button.setText(
            text if not count else self.tr("{text}, {count} set").format(text=text, count=count)
        )

    def _show(self) -> None:
        state = self.tr("opened") if self.is_open else self.tr("closed")
        self.button.setAccessibleDescription(state)
        self.button.setArrowType(Qt.ArrowType.DownArrow if self.is_open else Qt.ArrowType.RightArrow)

    def _on_clicked(self) -> None:
        self.is_open = self._pinned = not self.is_open
        self._show()
        self.toggled.emit()


_IDLE_TIMEOUT = "x-systemd.idle-timeout"
#: Options always shown in addition to the basic ones.
_SHOWN_WITHOUT_CLICK = frozenset({_IDLE_TIMEOUT, "proto", "nconnect", "sec", "xprtsec"})
#: Options that the note of the mount time explains, so that their section is not expanded for them.
_EXPLAINED_BY_MOUNT_TIME = frozenset({"nofail", "_netdev"})


#: Minimum width of the form that has room for every column, characters.
_WIDE = 100
#: Width of the column of editors in a wide and in a narrow form, characters.
_EDITOR_LETTERS, _NARROW_EDITOR_LETTERS = 26, 20


class OptionGrid(QWidget):
    """Form of all options; it shows values and reports edits, but the owner stores the values.

    Args:
        place_fields: labels and fields for share and mount point, shown above the options.

    Attributes:
        rows: rows created so far, by canonical option name.
        when: row of the mount time.

    Signals:
        edited: canonical name of an option, and the value that the user entered.
        when_edited: the MountTime that the user selected.
        row_made: input widget of a new row, and its help text.
    """

    edited = Signal(str, object)
    when_edited = Signal(str)
    row_made = Signal(object, str)

    def __init__(self, place_fields: Sequence[tuple[str, QWidget]]) -> None:
        super().__init__()
        self.rows: dict[str, OptionRow] = {}
        self._place_rows: list[QWidget] = []
        self._place_shown = True
        self._when_shown = True
        self._values: dict[str, str] = {}
        self._original_values: dict[str, str] = {}
        self._values_in_use: dict[str, OptionValue] = {}
        self._refused: frozenset[str] = frozenset()
        self._advice: Mapping[str, RecommendedValue] = {}
        self._version_and_transport = ("", "")
        self._search_hits: frozenset[str] | None = None
        self._sections: list[OptionSection] = []
        self._grid_rows: dict[str, int] = {}
        self._tab_order: list[QWidget | str] = []
        self._grid = QGridLayout(self)
        self._narrow = False
        self._default_heading = MutedLabel(self.tr("Default"))
        self._used_heading = MutedLabel(self.tr("In use"))
        self._advised_heading = MutedLabel(self.tr("Advised"))
        self._advised_heading.hide()
        self._fill(place_fields)

    # Construction

    def _fill(self, place_fields: Sequence[tuple[str, QWidget]]) -> None:
        grid = self._grid
        grid.setContentsMargins(6, 8, 16, 12)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(4)
        titles: dict[OptionGroup, str] = {
            "general": self.tr("General"), "transfer": self.tr("Transfer"), "timing": self.tr("Timing"),
            "caching": self.tr("Caching"), "security": self.tr("Security"), "advanced": self.tr("Advanced"),
        }  # fmt: skip
        row = 0
        for group, title in titles.items():
            options = [o for o in catalogue() if o.group == group and o.name not in MOUNT_TIME_OPTIONS]
            always = frozenset(o.name for o in options if _is_always_shown(o))
            section = OptionSection(title, options, always, self)
            section.toggled.connect(self._on_toggled)
            self._sections.append(section)
            row = self._add_section(row, section, place_fields if group == "general" else ())
        grid.setColumnMinimumWidth(COLUMN_REQUESTED, self._editor_width())
        grid.setColumnStretch(COLUMN_DEFAULT, 2)
        grid.setColumnStretch(COLUMN_IN_USE, 3)
        grid.setRowStretch(row, 1)

    def _add_section(
        self, row: int, section: OptionSection, place_fields: Sequence[tuple[str, QWidget]]
    ) -> int:
        if section.label is not None:
            if row:
                section.label.setContentsMargins(0, self.fontMetrics().height() // 2, 0, 0)
            self._grid.addWidget(section.label, row, COLUMN_LABEL, 1, -1)
            row += 1
        for text, field in place_fields:
            self._add_place(row, text, field)
            row += 1
        if place_fields:
            row = self._add_headings(row)
        for option in section.always:
            row = self._reserve_row(row, option)
        self._grid.addWidget(section.button, row, COLUMN_LABEL, 1, -1)
        self._tab_order.append(section.button)
        row += 1
        for option in section.more:
            row = self._reserve_row(row, option)
        return row

    def _add_place(self, row: int, text: str, field: QWidget) -> None:
        label = QLabel(text)
        label.setBuddy(field)
        field.setAccessibleName(text.replace("&", ""))
        self._grid.addWidget(label, row, COLUMN_LABEL)
        self._grid.addWidget(field, row, COLUMN_DEFAULT, 1, COLUMN_RECOMMENDED - COLUMN_DEFAULT)
        self._place_rows += [label, field]
        self._tab_order.append(field)

    def _add_headings(self, row: int) -> int:
        self._grid.addWidget(self._default_heading, row, COLUMN_DEFAULT)
        self._grid.addWidget(MutedLabel(self.tr("Asked for")), row, COLUMN_REQUESTED)
        self._grid.addWidget(self._used_heading, row, COLUMN_IN_USE)
        self._grid.addWidget(self._advised_heading, row, COLUMN_RECOMMENDED)
        self.when = MountTimeRow(self._grid, row + 1, self)
        self.when.edited.connect(self.when_edited)
        self._tab_order.append("")
        return row + 1 + GRID_ROWS

    def _reserve_row(self, row: int, option: Option) -> int:
        self._grid_rows[option.name] = row
        self._tab_order.append(option.name)
        return row + GRID_ROWS

    def _make_row(self, option: Option) -> OptionRow:
        row = OptionRow(option, self._grid, self._grid_rows[option.name], self)
        row.edited.connect(self.edited)
        self.rows[option.name] = row
        row.cells.set_narrow(narrow=self._narrow)
        self._show_row(row)
        self.row_made.emit(row.editor.field, help_line(option))
        return row

    def _order_tabs(self) -> None:
        """Set the Tab order from row to row; without this, new widgets come last."""
        previous: QWidget | None = None
        for entry in self._tab_order:
            for widget in self._tab_widgets(entry):
                if previous is not None:
                    QWidget.setTabOrder(previous, widget)
                previous = widget

    def _tab_widgets(self, entry: QWidget | str) -> list[QWidget]:
        if isinstance(entry, QWidget):
            return [entry]
        cells = self.when.cells if not entry else self.rows[entry].cells if entry in self.rows else None
        return cells.focus_chain() if cells is not None else []

    # Called by the panel

    def set_available_width(self, width: int) -> None:
        """Set the available width, px; a narrow form hides the defaults and shrinks other columns."""
        narrow = width < self.fontMetrics().averageCharWidth() * _WIDE
        if narrow == self._narrow:
            return
        self._narrow = narrow
        self._default_heading.setVisible(not narrow)
        self._grid.setColumnMinimumWidth(COLUMN_REQUESTED, self._editor_width())
        for cells in (self.when.cells, *(row.cells for row in self.rows.values())):
            cells.set_narrow(narrow=narrow)

    def _editor_width(self) -> int:
        return self.fontMetrics().averageCharWidth() * (
            _NARROW_EDITOR_LETTERS if self._narrow else _EDITOR_LETTERS
        )

    def show_place(self, *, visible: bool) -> None:
        """Show or hide the fields above the options."""
        self._place_shown = visible
        self._show_rows()

    def show_when(self, *, visible: bool) -> None:
        """Show or hide the mount time; it is hidden for a mount that is not saved."""
        self._when_shown = visible
        self._show_rows()

    def show_options(self, options: MountOptions, was: MountOptions, *, fresh: bool) -> None:
        """Show the requested options.

        Args:
            options: the requested options.
            was: the options before the user's edits.
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
        for section in self._sections:
            if fresh:
                section.collapse()
            given = [option.name for option in section.more if option.name in values]
            section.show_counts(len(given))
            if any(name in new and not self._is_explained(name) for name in given):
                section.open()
        waits = values.get("nofail") != YES
        self.when.show_value(mount_time_of(options), mount_time_of(was), waits=waits)
        for row in self.rows.values():
            self._show_row(row)
        self._show_rows()

    def show_in_use(self, values: Iterable[OptionValue], refused: Iterable[str], *, active: bool) -> None:
        """Set the values in use; the next call of :meth:`show_options` shows them.

        Args:
            values: options with their values in use.
            refused: names of options whose requested value is not in use.
            active: whether the share is mounted.
        """
        self._values_in_use = {value.name: value for value in values}
        self._refused = frozenset(refused)
        in_use = [self._values_in_use.get(name) for name in ("vers", "proto")]
        version, transport = (value.effective or "" if value else "" for value in in_use)
        self._version_and_transport = version, transport
        self._used_heading.setVisible(active)

    def show_recommended(self, advice: Mapping[str, RecommendedValue]) -> None:
        """Show recommended values by canonical name; the column is hidden if there are none."""
        self._advice = advice
        self._advised_heading.setVisible(bool(advice))
        for row in self.rows.values():
            row.show_recommended(advice.get(row.option.name))

    def show_findings(self, findings: Iterable[Finding]) -> None:
        """Mark the rows with findings, which are sorted by severity; a row shows its first one."""
        first: dict[str, Finding] = {}
        for finding in findings:
            for name in finding.options:
                first.setdefault(name, finding)
        for name, row in self.rows.items():
            if name in first:
                row.cells.show_finding(first[name].severity, first[name].title)
            else:
                row.cells.show_finding(None)

    def show_hits(self, names: frozenset[str] | None) -> int:
        """Show only these options, or all for None; return the number of rows."""
        self._search_hits = names
        self._show_rows()
        if names is None:
            return len(self._grid_rows) + self._when_shown
        return len(names & self._grid_rows.keys()) + (self._when_shown and bool(names & MOUNT_TIME_OPTIONS))

    def focus_first(self) -> None:
        """Set the focus to the first visible row."""
        for entry in self._tab_order:
            row = self.rows.get(entry) if isinstance(entry, str) else None
            if row is not None and not row.editor.isHidden():
                row.editor.setFocus()
                return

    def problem(self) -> OptionRow | None:
        """Return the first row with invalid input, or None."""
        return next(
            (self.rows[name] for name in self._grid_rows if name in self.rows and self.rows[name].problem()),
            None,
        )

    # Internals

    def _is_explained(self, name: str) -> bool:
        return name in _EXPLAINED_BY_MOUNT_TIME and self._values.get(name) == YES

    def _show_row(self, row: OptionRow) -> None:
        name = row.option.name
        row.show_value(self._values.get(name), self._original_values.get(name))
        row.show_in_use(self._values_in_use.get(name), refused=name in self._refused)
        if row.option.defaults:
            row.show_default(*self._version_and_transport)
        row.show_recommended(self._advice.get(name))

    def _show_rows(self) -> None:
        row_count = len(self.rows)
        self.setUpdatesEnabled(False)  # avoids a repaint for each of hundreds of widgets
        for widget in self._place_rows:
            widget.setVisible(self._place_shown and self._search_hits is None)
        hit = self._search_hits is None or bool(self._search_hits & MOUNT_TIME_OPTIONS)
        self.when.cells.set_visible(visible=self._when_shown and hit)
        for section in self._sections:
            hits = self._search_hits
            if section.label is not None:
                section.label.setVisible(
                    hits is None or bool(hits & section.names()) or self._mount_time_is_hit(section)
                )
            section.button.setVisible(hits is None)
            for option in section.always:
                self._show_option(option, is_visible=self._is_shown(option))
            for option in section.more:
                self._show_option(option, is_visible=section.is_open)
        self.setUpdatesEnabled(True)
        if len(self.rows) != row_count:
            self._order_tabs()

    def _mount_time_is_hit(self, section: OptionSection) -> bool:
        first = section is self._sections[0] and self._when_shown
        return first and bool((self._search_hits or frozenset()) & MOUNT_TIME_OPTIONS)

    def _is_shown(self, option: Option) -> bool:
        if option.name != _IDLE_TIMEOUT:
            return True
        on_demand = self._values.get("x-systemd.automount") not in {None, NO}
        return on_demand or _IDLE_TIMEOUT in self._values

    def _show_option(self, option: Option, *, is_visible: bool) -> None:
        is_visible = is_visible if self._search_hits is None else option.name in self._search_hits
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
            for cells in (self.when.cells, *(row.cells for row in self.rows.values())):
                cells.update_colors()


def _is_always_shown(option: Option) -> bool:
    return option.basic or option.name in _SHOWN_WITHOUT_CLICK
