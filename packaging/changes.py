"""Changelog: parses CHANGELOG.md, and prints it as debian/changelog and as AppStream releases."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).absolute().parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"
MAINTAINER = "The Mountwright developers <developers@mountwright.invalid>"
_HEADING = re.compile(r"^## (\S+) - (\d{4}-\d{2}-\d{2}|in development)$")


@dataclass(frozen=True)
class Release:
    """Release of the program.

    Attributes:
        version: version number.
        date: date of the release, YYYY-MM-DD; "" for the version in development.
        changes: changes of the release, one line each.
    """

    version: str
    date: str
    changes: tuple[str, ...]


def version() -> str:
    """Return the program's version from app/version.py, "" if it is not found."""
    found = re.search(r'^VERSION = "([0-9.]+)"$', (ROOT / "app" / "version.py").read_text(), re.MULTILINE)
    return found[1] if found is not None else ""


def releases(text: str) -> list[Release]:
    """Parse a changelog; return its releases, newest first.

    Raises:
        ValueError: if a heading is malformed.
    """
    found: list[tuple[str, str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("## "):
            heading = _HEADING.match(line)
            if heading is None:
                raise ValueError(f"CHANGELOG.md: “{line}” is not “## VERSION - YYYY-MM-DD”")
            found.append((heading[1], "" if heading[2] == "in development" else heading[2], []))
        elif line.startswith("- ") and found:
            found[-1][2].append(line[2:])
        elif line.startswith("  ") and found and found[-1][2]:
            found[-1][2][-1] += " " + line.strip()
    return [Release(number, date, tuple(changes)) for number, date, changes in found]


def for_rpm(found: list[Release], epoch: int) -> str:
    """Return the entries of an rpm's %changelog, newest first.

    Args:
        found: releases, newest first.
        epoch: time of the build, s since 1970: the date of a version in development.
    """
    entries: list[str] = []
    for release in found:
        if release.date:
            day = datetime.fromisoformat(release.date).replace(tzinfo=UTC)
        else:
            day = datetime.fromtimestamp(epoch, UTC)
        lines = "".join(f"- {change.replace('%', '%%')}\n" for change in release.changes)
        entries.append(f"* {day:%a %b %d %Y} {MAINTAINER} - {release.version}-1\n{lines}")
    return "\n".join(entries)


def for_debian(found: list[Release], suffix: str, epoch: int) -> str:
    """Return debian/changelog (deb-changelog(5)).

    Args:
        found: releases to print.
        suffix: suffix of each version, such as "-1~deb13".
        epoch: date of a release in development, s since 1970.
    """
    parts = []
    for release in found:
        moment = datetime.fromtimestamp(epoch, UTC)
        if release.date:
            moment = datetime.fromisoformat(release.date).replace(hour=12, tzinfo=UTC)
        changes = "\n".join(f"  * {_folded(change)}" for change in release.changes)
        parts.append(
            f"mountwright ({release.version}{suffix}) unstable; urgency=medium\n\n{changes}\n\n"
            f" -- {MAINTAINER}  {format_datetime(moment)}\n"
        )
    return "\n".join(parts)


def _folded(text: str, width: int = 76) -> str:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n    ".join(lines)


def for_appstream(found: list[Release], epoch: int) -> str:
    """Return the element “releases” of the metainfo file (freedesktop.org, AppStream, section 2.1.4).

    Args:
        found: releases to print.
        epoch: date of a release in development, s since 1970.
    """
    parts = ["  <releases>"]
    for release in found:
        date = release.date or datetime.fromtimestamp(epoch, UTC).date().isoformat()
        kind = "stable" if release.date else "development"
        parts.append(f'    <release version="{release.version}" date="{date}" type="{kind}">')
        items = "".join(f"\n          <li>{escape(change)}</li>" for change in release.changes)
        parts.append(f"      <description>\n        <ul>{items}\n        </ul>\n      </description>")
        parts.append("    </release>")
    return "\n".join([*parts, "  </releases>"])
