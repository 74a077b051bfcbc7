"""Database table of findings about options from tests and experiments; they outrank the advice rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.recommendation import MeasuredOption

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.history.database import Database


class FindingTable:
    """Methods of HistoryStore for findings about the mount options of a share."""

    _database: Database

    def learn(self, share: str, link: str, findings: Iterable[MeasuredOption]) -> None:
        """Save findings about options of a share; a finding replaces the earlier one of its option.

        An undecided finding (status "untested") does not replace a decided one.

        Args:
            share: server:/export.
            link: name of the lab's emulated link, "" for a real link.
            findings: findings to save, one for each option.

        Raises:
            AppError: a database error, see Database.
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
        """Return the findings about options of a share over a link.

        Raises:
            AppError: a database error, see Database.
        """
        query = "SELECT option, value, status, text FROM findings WHERE share = ? AND link = ?"
        with self._database.reading() as connection:
            found = connection.execute(query, (share, link)).fetchall()
        return tuple(MeasuredOption(option=o, value=v, status=s, text=t) for o, v, s, t in found)

    def delete_findings(self, share: str, link: str) -> None:
        """Delete the findings about options of a share over a link.

        Raises:
            AppError: a database error, see Database.
        """
        with self._database.writing() as connection:
            connection.execute("DELETE FROM findings WHERE share = ? AND link = ?", (share, link))
