"""Settings: a typed field for each option of the first form, the rest as text, and the command it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from advisor.dialects.linux_command import mount_command
from advisor.lint import LintContext, apply_fix, lint
from advisor.options import MountOptions, catalogue
from app.errors import AppError, ErrorKind
from app.mounts.effective import compare
from ui.models.option_form import OptionForm, asked_options
from ui.mounting import Wish
from ui.widgets.copy_as_button import CopyAsButton
from ui.widgets.findings import FindingsPanel
from ui.widgets.labels import MutedLabel, heading
from ui.widgets.option_row import (
    COLUMN_ASKED,
    COLUMN_DEFAULT,
    COLUMN_LABEL,
    COLUMN_RESET,
    COLUMN_USED,
    OptionRow,
)

if TYPE_CHECKING:
    from advisor.catalogue import Group
    from advisor.lint import Finding
    from app.mounts.model import Mount, MountReport


class SettingsPanel(QWidget):
    """Edits the options of a mount or of a draft.

    Signals:
        edited: something is another value now.
        submitted: Enter was pressed in the share or the mount point.
        dialect_chosen: the mount is wanted as this dialect writes it.
    """

    edited = Signal()
    submitted = Signal()
    dialect_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        options = [option for option in catalogue() if option.basic]
        self._form = OptionForm(option.name for option in options)
        self._original = ""
        self._mount: Mount | None = None
        self._asked: dict[tuple[str, str], str] = {}
        self._loading = False
        self._share = QLineEdit()
        self._share.setObjectName("share")
        self._share.setPlaceholderText(self.tr("server:/export, for example nas01:/export/home"))
        self._point = QLineEdit()
        self._point.setObjectName("mount-point")
        self._point.setPlaceholderText(self.tr("an empty or new directory, for example /mnt/home"))
        self._others = QLineEdit()
        self._others.setObjectName("other-options")
        self._others.setPlaceholderText(self.tr("none"))
        self._others.setToolTip(
            self.tr("Every other option of mount, as it is written after -o, with commas between.\n"
                    "Nothing that is written here is lost or changed.")
        )  # fmt: skip
        self._findings = FindingsPanel()
        self._findings.fix_chosen.connect(self._on_fix)
        self._command = QLabel()
        self._command.setObjectName("command")
        self._rows: dict[str, OptionRow] = {}
        self._place: list[QWidget] = []
        self._page = QWidget()
        self._grid = QGridLayout(self._page)
        self._used_heading = MutedLabel(self.tr("In use"))
        self._fill_grid()
        self._lay_out()
        self._share.textEdited.connect(self._on_edited)
        self._point.textEdited.connect(self._on_edited)
        self._share.returnPressed.connect(self.submitted)
        self._point.returnPressed.connect(self.submitted)
        self._others.textEdited.connect(self._on_edited)
        self._others.editingFinished.connect(self._on_others_finished)

    def _fill_grid(self) -> None:
        grid = self._grid
        grid.setContentsMargins(16, 8, 16, 12)
        grid.setHorizontalSpacing(11)
        grid.setVerticalSpacing(5)
        titles: dict[Group, str] = {
            "general": self.tr("General"), "transfer": self.tr("Transfer"), "timing": self.tr("Timing"),
            "caching": self.tr("Caching"), "security": self.tr("Security"), "advanced": self.tr("Advanced"),
        }  # fmt: skip
        row = self._add_place(0, titles["general"])
        group: Group = "general"
        for option in catalogue():
            if not option.basic:
                continue
            if option.group != group:
                group = option.group
                row = self._add_heading(row, titles[group])
            option_row = OptionRow(option, grid, row, self._page)
            option_row.changed.connect(self._on_edited)
            self._rows[option.name] = option_row
            row += 1
        row = self._add_heading(row, self.tr("Everything else"))
        self._add_line(row, self.tr("&Other options"), self._others)
        unit = self.fontMetrics().averageCharWidth()
        grid.setColumnMinimumWidth(COLUMN_ASKED, unit * 26)
        grid.setColumnStretch(COLUMN_USED, 1)
        grid.setRowStretch(row + 1, 1)

    def _add_place(self, row: int, title: str) -> int:
        self._grid.addWidget(heading(title), row, COLUMN_LABEL)
        # A mount's own share and mount point stand in the title and cannot be changed.
        self._place = [
            self._add_line(row + 1, self.tr("&Share"), self._share), self._share,
            self._add_line(row + 2, self.tr("Mount &point"), self._point), self._point,
        ]  # fmt: skip
        self._grid.addWidget(MutedLabel(self.tr("Default")), row + 3, COLUMN_DEFAULT)
        self._grid.addWidget(MutedLabel(self.tr("Asked for")), row + 3, COLUMN_ASKED)
        self._grid.addWidget(self._used_heading, row + 3, COLUMN_USED)
        return row + 4

    def _add_heading(self, row: int, title: str) -> int:
        label = heading(title)
        label.setContentsMargins(0, self.fontMetrics().height() // 2, 0, 0)
        self._grid.addWidget(label, row, COLUMN_LABEL, 1, -1)
        return row + 1

    def _add_line(self, row: int, text: str, field: QLineEdit) -> QLabel:
        label = QLabel(text)
        label.setBuddy(field)
        field.setAccessibleName(text.replace("&", ""))
        self._grid.addWidget(label, row, COLUMN_LABEL)
        self._grid.addWidget(field, row, COLUMN_DEFAULT, 1, COLUMN_RESET - COLUMN_DEFAULT)
        return label

    def _lay_out(self) -> None:
        scroll = QScrollArea()
        scroll.setWidget(self._page)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._command.setTextFormat(Qt.TextFormat.PlainText)
        self._command.setWordWrap(True)
        self._command.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._command.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._command.setAccessibleName(self.tr("Command"))
        copy_button = QPushButton(self.tr("&Copy"))
        copy_button.setAccessibleName(self.tr("Copy the command"))
        copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._command.text()))
        box = QFrame()
        box.setFrameShape(QFrame.Shape.StyledPanel)
        bottom = QHBoxLayout(box)
        bottom.setContentsMargins(12, 8, 8, 8)
        bottom.setSpacing(12)
        bottom.addWidget(MutedLabel(self.tr("Command")))
        bottom.addWidget(self._command, 1)
        bottom.addWidget(copy_button)
        copy_as = CopyAsButton()
        copy_as.dialect_chosen.connect(self.dialect_chosen)
        bottom.addWidget(copy_as)
        below = QVBoxLayout()
        below.setContentsMargins(16, 4, 16, 14)
        below.addWidget(self._findings)
        below.addWidget(box)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll, 1)
        layout.addLayout(below)

    # What the window tells

    def show_draft(self, share: str, mount_point: str) -> None:
        """Show an empty form."""
        self._mount = None
        self._show_place(editable=True)
        self._share.setText(share)
        self._point.setText(mount_point)
        self._load("")
        self._show_used()

    def show_mount(self, mount: Mount, *, keep_edits: bool) -> None:
        """Show a mount; the person's unfinished edits of the same mount may be kept."""
        edits = keep_edits and self.dirty
        self._mount = mount
        self._show_place(editable=False)
        if not edits:
            self._share.setText(mount.share)
            self._point.setText(mount.mount_point)
            self._load(self._asked_for(mount))
        self._show_used()

    def load_entry(self, share: str, mount_point: str, options: str) -> None:
        """Put an entry into the form; a mount keeps its own place."""
        original = self._original
        if self._mount is None:
            self._share.setText(share)
            self._point.setText(mount_point)
        self._load(options)
        if self._mount is not None:
            self._original = original
        self.edited.emit()

    def remember(self, wish: Wish, report: MountReport) -> None:
        """Keep what was asked for: the kernel does not tell it."""
        self._asked[report.mount.share, report.mount.mount_point] = wish.options

    def set_busy(self, *, busy: bool) -> None:
        """Let the person edit, or not."""
        for row in self._rows.values():
            row.set_enabled(enabled=not busy)
        self._others.setEnabled(not busy)
        self._findings.setEnabled(not busy)
        for field in (self._share, self._point):
            field.setEnabled(not busy)

    # What the window asks

    @property
    def dirty(self) -> bool:
        """Whether the form asks for something else than the mount was made with."""
        return self._mount is not None and self._options_text() != self._original

    @property
    def complete(self) -> bool:
        """Whether there is a share and a mount point."""
        return bool(self._share.text().strip() and self._point.text().strip())

    def problem(self) -> AppError | None:
        """Return what is wrong with a field, or None."""
        for row in self._rows.values():
            text = row.editor.problem()
            if text:
                row.editor.setFocus()
                return AppError(ErrorKind.OPTION_INVALID, text, hint=row.option.help)
        try:
            self._build()
        except ValueError as error:
            return AppError(ErrorKind.OPTION_INVALID, str(error))
        return None

    def wish(self) -> Wish:
        """Return what the form asks for."""
        return Wish(self._share.text().strip(), self._point.text().strip(), self._options_text())

    def original_wish(self, mount: Mount) -> Wish:
        """Return what the mount was asked for with."""
        return Wish(mount.share, mount.mount_point, self._asked_for(mount))

    def _show_place(self, *, editable: bool) -> None:
        for widget in self._place:
            widget.setVisible(editable)

    def _asked_for(self, mount: Mount) -> str:
        active = mount.active
        remembered = self._asked.get((mount.share, mount.mount_point))
        if active is not None and active.requested is None and remembered is not None:
            return remembered
        return asked_options(mount)

    def _load(self, text: str) -> None:
        self._loading = True
        self._form.load(text)
        for name, row in self._rows.items():
            row.show_value(self._form.value(name))
        self._others.setText(self._form.others())
        self._loading = False
        self._original = self._options_text()
        self._show_command()

    def _build(self) -> MountOptions:
        values = {name: row.editor.value() for name, row in self._rows.items()}
        return self._form.build(values, self._others.text())

    def _options_text(self) -> str:
        try:
            return str(self._build())
        except ValueError:
            return self._original

    def _show_used(self) -> None:
        active = self._mount.active if self._mount else None
        self._used_heading.setVisible(active is not None)
        used = {}
        if self._mount is not None and active is not None:
            asked = MountOptions.parse(self._asked_for(self._mount))
            used = {value.name: value for value in compare(asked, active)}
        for name, row in self._rows.items():
            row.show_used(used.get(name))

    def _show_command(self) -> None:
        share = self._share.text().strip() or self.tr("SHARE")
        point = self._point.text().strip() or self.tr("MOUNTPOINT")
        text = mount_command(share, point, MountOptions.parse(self._options_text()))
        # Long option lists may break at their commas.
        self._command.setText(text)
        self._show_findings()

    def _show_findings(self) -> None:
        mount = self._mount
        context = LintContext(
            fstab=mount is not None and mount.configured is not None,
            share=self._share.text().strip(),
            mount_point=self._point.text().strip(),
            fstype=mount.configured.fstype if mount is not None and mount.configured is not None else "nfs",
        )
        self._findings.show_findings(lint(MountOptions.parse(self._options_text()), context=context))

    def _on_fix(self, finding: Finding) -> None:
        """Put a finding's fix into the form; nothing is mounted by that."""
        original = self._original
        self._load(str(apply_fix(MountOptions.parse(self._options_text()), finding)))
        self._original = original
        self.edited.emit()

    def _on_edited(self) -> None:
        if not self._loading:
            self._show_command()
            self.edited.emit()

    def _on_others_finished(self) -> None:
        """Move what has a field of its own there."""
        if self._others.text() == self._form.others():
            return
        original = self._original
        self._load(self._options_text())
        self._original = original
        self.edited.emit()

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_rows"):
            for row in self._rows.values():
                row.colour_again()
