"""Findings about options of a share, from tests and experiments: the advice trusts them above every rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.recommend import MeasuredOption

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.history.database import Database


class FindingTable:
    """The part of the history that keeps findings; see HistoryStore."""

    _database: Database

    def learn(self, share: str, link: str, findings: Iterable[MeasuredOption]) -> None:
        """Keep findings of a share; of each option the newest counts.

        What was not decided takes nothing back that was.

        Args:
            share: server:/export.
            link: name of the lab's link, "" on a real one.
            findings: of options.

        Raises:
            AppError: as the database says.
        """
        rows = [(share, link, one.option, one.value, one.status, one.text) for one in findings]
        with self._database.writing() as connection:
            connection.executemany(
                "INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
                " SET value = excluded.value, status = excluded.status, text = excluded.text"
                " WHERE excluded.status != 'untested' OR findings.status = 'untested'",
                rows,
            )

    def learned(self, share: str, link: str) -> tuple[MeasuredOption, ...]:
        """Return the findings of a share over a link.

        Raises:
            AppError: as the database says.
        """
        query = "SELECT option, value, status, text FROM findings WHERE share = ? AND link = ?"
        with self._database.reading() as connection:
            found = connection.execute(query, (share, link)).fetchall()
        return tuple(MeasuredOption(option=o, value=v, status=s, text=t) for o, v, s, t in found)

    def delete_findings(self, share: str, link: str) -> None:
        """Forget the findings of a share over a link.

        Raises:
            AppError: as the database says.
        """
        with self._database.writing() as connection:
            connection.execute("DELETE FROM findings WHERE share = ? AND link = ?", (share, link))
