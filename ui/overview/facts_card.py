"""Facts about the link and the server, and how each was determined."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QVBoxLayout, QWidget

from advisor.facts import FACT_LABELS, unknown_facts
from advisor.identify import network_cards, server_kinds
from advisor.speeds import format_rate
from app.text.units import format_duration
from ui.common.cards import text_button
from ui.common.labels import MutedLabel, plain_label, plain_tip
from ui.common.translation import tr

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from advisor.facts import ClientFacts, FactGroup, Facts, LinkFacts, ServerFacts


class FactText(NamedTuple):
    """One fact: its name, its value ("" if unknown), and how it was determined or why it is unknown."""

    label: str
    value: str
    how: str


def fact_rows(facts: Facts) -> list[FactText]:
    """Return the most important facts about the link and the server."""
    rows: list[FactText] = []
    if facts.link is not None:
        rows += _link_rows(facts.link)
    if facts.server is not None:
        rows += _server_rows(facts.server, facts.client)
    return rows


def unknown_reasons(facts: Facts) -> dict[str, list[str]]:
    """Return each reason why facts are unknown, with the names of those facts."""
    reasons: dict[str, list[str]] = {}
    for part, name, why in unknown_facts(facts):
        reasons.setdefault(why, []).append(_labels(part)[name])
    return reasons


def _link_rows(link: LinkFacts) -> list[FactText]:
    duplex = {"half": tr("half"), "full": tr("full")}
    card = network_cards().get(link.card or "")
    loss = tr("{percent} %").format(percent=f"{link.loss * 100:.3g}") if link.loss else ""
    values = {
        "interface": link.interface or "",
        "adapter": link.adapter or (card.title if card is not None else ""),
        "driver": link.driver or "",
        "rate_bps": "" if link.rate_bps is None else format_rate(link.rate_bps),
        "duplex": duplex.get(link.duplex or "", link.duplex or ""),
        "mtu": "" if link.mtu is None else tr("{count} bytes").format(count=link.mtu),
        "rtt_s": "" if link.rtt_s is None else format_duration(link.rtt_s),
    }
    via = ", ".join(link.via or ())
    # Shown only if the rates of the two directions differ.
    up = "" if link.up_bps is None or link.up_bps == link.rate_bps else format_rate(link.up_bps)
    values |= {name: text for name, text in (("up_bps", up), ("loss", loss), ("via", via)) if text}
    rows = _texts(values, _labels("link"), link.sources)
    if link.emulated:
        rows.insert(0, FactText(tr("Link"), tr("{name}, emulated").format(name=link.name), tr("the lab")))
    return rows


def _server_rows(server: ServerFacts, client: ClientFacts | None) -> list[FactText]:
    kind = server_kinds().get(server.kind or "")
    udp = tr("UDP, which this kernel cannot mount") if client is not None and client.udp is False else "UDP"
    versions = [
        f"{', '.join(offered)} ({name})"
        for name, offered in (("TCP", server.tcp_versions), (udp, server.udp_versions))
        if offered
    ]
    was_probed = server.tcp_versions is not None or server.udp_versions is not None
    values = {
        "kind": kind.title if kind is not None else server.implementation or server.kind or "",
        "tcp_versions": "; ".join(versions) or (tr("none that it tells of") if was_probed else ""),
    }
    return _texts(values, _labels("server"), server.sources)


def _texts(values: dict[str, str], labels: dict[str, str], sources: dict[str, str]) -> list[FactText]:
    return [FactText(labels[name], value, sources.get(name, "")) for name, value in values.items()]


def _labels(part: FactGroup) -> dict[str, str]:
    return {name: tr(text) for name, text in FACT_LABELS[part].items()}


#: Number of columns; one less in a card narrower than _WIDE characters.
_COLUMNS, _WIDE = 3, 84


class FactsTable(QWidget):
    """Facts about the link and the server, in two or three columns, and a button to determine them again.

    Signals:
        refresh_clicked: determine the facts again.
    """

    refresh_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("facts-card")
        self._facts: Facts | None = None
        self._columns = _COLUMNS
        self._refresh = text_button(self.tr("Refresh"))
        self._refresh.setObjectName("refresh-facts")
        self._refresh.setToolTip(self.tr("Examine the link and the server again."))
        self._refresh.clicked.connect(self.refresh_clicked)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)
        self._cells = QWidget()
        self._layout.addWidget(self._cells)
        self._layout.addWidget(self._refresh, 0, Qt.AlignmentFlag.AlignLeft)
        self.show_facts(None)

    def show_facts(self, facts: Facts | None) -> None:
        """Show these facts, None for none."""
        self._facts = facts
        self._show()

    def _show(self) -> None:
        facts = self._facts
        self._layout.removeWidget(self._cells)
        self._cells.setParent(None)
        self._cells.deleteLater()
        self._cells = QWidget()
        rows = fact_rows(facts) if facts is not None else []
        grid = QGridLayout(self._cells)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(3)
        for number, row in enumerate(rows):
            self._add(grid, number, row)
        for column in range(self._columns):
            grid.setColumnStretch(2 * column + 1, 1)
        self._layout.insertWidget(0, self._cells)

    def _add(self, grid: QGridLayout, number: int, row: FactText) -> None:
        line, column = divmod(number, self._columns)
        name = MutedLabel(row.label)
        value = plain_label(row.value, wrap=True) if row.value else MutedLabel(self.tr("Unknown"))
        value.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        value.setAccessibleName(f"{row.label}: {value.text()}")
        for label in (name, value):
            label.setToolTip(plain_tip(self._source_text(row)))
            label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(name, line, 2 * column)
        grid.addWidget(value, line, 2 * column + 1)

    def _source_text(self, row: FactText) -> str:
        if not row.how:
            return self.tr("Source unknown") if row.value else self.tr("Reason unknown")
        known = self.tr("Known from: {how}.") if row.value else self.tr("Unknown: {how}.")
        return known.format(how=row.how.rstrip("."))

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: use fewer columns in a narrow window."""
        super().resizeEvent(event)
        columns = _COLUMNS if self.width() >= self.fontMetrics().averageCharWidth() * _WIDE else _COLUMNS - 1
        if columns != self._columns:
            self._columns = columns
            self._show()
