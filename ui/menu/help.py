"""Help: the pages of the documentation inside the program."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QImage, QTextCursor, QTextDocument
from PySide6.QtWidgets import (
    QDialog,
    QListWidget,
    QListWidgetItem,
    QSplitter,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from app.errors import AppError
from app.files.documentation import read_document, read_picture
from ui.common.dialogs import add_buttons

if TYPE_CHECKING:
    from ui.common.bridge import RunInThread

_NAME_ROLE = Qt.ItemDataRole.UserRole
#: Space around the text, px.
_MARGIN = 16.0


class HelpDialog(QDialog):
    """Window of its own with the pages of the documentation; the main window stays usable.

    Args:
        parent: the window.
        run: reads pages on a thread.
    """

    def __init__(self, parent: QWidget, run: RunInThread) -> None:
        super().__init__(parent)
        self.setObjectName("help")
        self.setWindowTitle(self.tr("Help"))
        self._run = run
        self._shown = ""
        self._pages = QListWidget()
        self._pages.setObjectName("help-pages")
        self._pages.setAccessibleName(self.tr("Pages of the help"))
        for name, title in (
            ("user-guide", self.tr("User Guide")),
            ("experiments", self.tr("Experiments")),
            ("history", self.tr("History")),
            ("lab", self.tr("Lab")),
            ("command-line", self.tr("Command Line")),
            ("install", self.tr("Install")),
            ("limits", self.tr("Limits")),
            ("security", self.tr("Security")),
        ):
            item = QListWidgetItem(title)
            item.setData(_NAME_ROLE, name)
            self._pages.addItem(item)
        self._pages.currentItemChanged.connect(self._on_page)
        self._text = _MarkdownView()
        self._text.setObjectName("help-text")
        self._text.page_chosen.connect(self.show_page)
        splitter = QSplitter()
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self._pages)
        splitter.addWidget(self._text)
        splitter.setStretchFactor(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.addWidget(splitter, 1)
        add_buttons(self, layout, self.tr("&Close"), [], None)
        metrics = self.fontMetrics()
        self._pages.setMinimumWidth(metrics.averageCharWidth() * 20)
        self.resize(metrics.averageCharWidth() * 120, metrics.lineSpacing() * 38)

    def show_page(self, name: str, section: str = "") -> None:
        """Show a page, scrolled to a section.

        Args:
            name: file name without extension.
            section: heading, "" for the beginning.
        """
        if name == self._shown:
            self._text.scroll_to(section)
            return
        self._shown = name
        for row in range(self._pages.count()):
            item = self._pages.item(row)
            if item.data(_NAME_ROLE) == name:
                self._pages.blockSignals(True)  # noqa: FBT003 - the page is being shown already
                self._pages.setCurrentItem(item)
                self._pages.blockSignals(False)  # noqa: FBT003
        call = self._run("help", partial(_read_page, name))
        call.succeeded.connect(partial(self._on_read, name, section))
        call.failed.connect(partial(self._on_failed, name))

    def _on_page(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.show_page(str(item.data(_NAME_ROLE)))

    def _on_read(self, name: str, section: str, page: tuple[str, dict[str, bytes]]) -> None:
        if name == self._shown:
            text, pictures = page
            self._text.show_markdown(text, pictures)
            self._text.scroll_to(section)

    def _on_failed(self, name: str, error: AppError) -> None:
        if name == self._shown:
            self._text.setPlainText(f"{error.message}\n{error.hint}\n{error.detail}".strip())


def _read_page(name: str) -> tuple[str, dict[str, bytes]]:
    """Return the text of a page and its pictures by name; a missing picture is left out."""
    text = read_document(name)
    pictures: dict[str, bytes] = {}
    for part in text.split("](")[1:]:
        picture = part.partition(")")[0]
        if picture.endswith(".png"):
            try:
                pictures[picture] = read_picture(picture)
            except AppError:
                continue
    return text, pictures


class _MarkdownView(QTextBrowser):
    """Page in Markdown; links to other pages are followed, and those to the web open in the browser.

    Signals:
        page_chosen: name of the page of a link.
    """

    page_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Text of the help"))
        self.setOpenLinks(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)  # pictures fit beside it
        self.document().setDocumentMargin(_MARGIN)
        self.anchorClicked.connect(self._on_link)
        self._pictures: dict[str, bytes] = {}

    def show_markdown(self, text: str, pictures: dict[str, bytes]) -> None:
        """Show a text with its pictures, by name."""
        self._pictures = pictures
        self.setMarkdown(text)
        self.document().setDocumentMargin(_MARGIN)

    def scroll_to(self, section: str) -> None:
        """Scroll to a heading, or to the beginning for "" and for an unknown one."""
        block = self.document().begin()
        while block.isValid():
            if section and block.blockFormat().headingLevel() and block.text() == section:
                top = self.document().documentLayout().blockBoundingRect(block).top()
                self.verticalScrollBar().setValue(round(top))
                self.setTextCursor(QTextCursor(block))
                return
            block = block.next()
        self.verticalScrollBar().setValue(0)

    def _on_link(self, url: QUrl) -> None:
        if url.scheme() in {"http", "https"}:
            QDesktopServices.openUrl(url)
        elif url.path().endswith(".md"):
            self.page_chosen.emit(url.path().removesuffix(".md"))

    # Qt overrides

    def loadResource(self, kind: int, name: QUrl | str) -> Any:
        """Qt: return a picture, not wider than the view."""
        if kind == QTextDocument.ResourceType.ImageResource.value:
            path = name.path() if isinstance(name, QUrl) else name
            data = self._pictures.get(path)
            if data is not None:
                image = QImage.fromData(data)
                width = self.viewport().width() - 2 * round(_MARGIN) - 2
                if image.width() > width > 0:
                    image = image.scaledToWidth(width, Qt.TransformationMode.SmoothTransformation)
                return image
        return super().loadResource(kind, name)
