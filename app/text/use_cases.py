"""Sentences about use cases for which a measured speed is sufficient: video, backup, virtual machines.

For repeated measurements the caller passes the lower end of the confidence interval.
"""

from __future__ import annotations

from advisor.speeds import format_rate
from app.text.translate import gettext as _
from app.text.translate import mark, ngettext

#: Bit rates of video streams, bit/s: streaming services require 15 to 25 Mbit/s for 4K, 5 Mbit/s for HD.
_STREAM_RATES = (("4K", 25e6), ("HD", 5e6))
#: Usable fraction of the speed for video; playback on a full link stutters.
_USABLE_SHARE = 0.8
_BACKUP_HOURS = 8
#: Sequential flushed small writes per second: a hard disk makes one per rotation at 7200 per minute.
_HARD_DISK_WRITES_PER_S = 120
_SSD_WRITES_PER_S = 1000


def use_case_texts(
    *,
    read: float | None = None,
    write: float | None = None,
    flushes: float | None = None,
    small_files: float | None = None,
    small_writes: float | None = None,
) -> list[str]:
    """Return a sentence for each use case that the given figures cover.

    Args:
        read: read speed, bytes per second.
        write: write speed with flush, bytes per second.
        flushes: small files created, written and flushed one after the other, per second.
        small_files: write speed with flush of small files, bytes per second.
        small_writes: random writes of a few kilobytes with flush, per second.
    """
    found: list[str] = []
    if read is not None:
        found.append(_video_text(read))
    if write is not None:
        found.append(
            _backup_text(
                write, _("Backup: about {size} in a night of {hours} hours, if the files are large.")
            )
        )
    if small_files is not None:
        found.append(
            _backup_text(
                small_files, _("Backup: about {size} in a night of {hours} hours, of files like these.")
            )
        )
    if flushes is not None:
        found.append(_disk_text(flushes, _FLUSHED_FILES))
    if small_writes is not None:
        found.append(_disk_text(small_writes, _RANDOM_WRITES))
    return found


def _video_text(read: float) -> str:
    for name, rate_bps in _STREAM_RATES:
        count = int(read * 8 * _USABLE_SHARE / rate_bps)
        if count:
            text = ngettext(
                "Video: one film in {format} ({rate} for each).",
                "Video: about {count} films in {format} in parallel ({rate} for each).",
                count,
            )
            return text.format(count=count, format=name, rate=format_rate(rate_bps))
    return _("Video: too slow for a film in HD (5 Mbit/s).")


def _backup_text(write: float, template: str) -> str:
    """Return a sentence about the size of a nightly backup, in decimal units, as for disks."""
    amount = write * 3600 * _BACKUP_HOURS
    unit, size = ("TB", 1e12) if amount >= 1e12 else ("GB", 1e9)
    rounded = float(f"{amount / size:.2g}")  # 290, not 2.9e+02
    return template.format(size=f"{rounded:g} {unit}", hours=_BACKUP_HOURS)


#: Sentences on flushed small files, and on random writes: as fast as an SSD, as a hard disk, or slower.
_FLUSHED_FILES = (
    mark("Virtual machines: {rate:.0f} small files made and flushed a second are enough "
         "for virtual disks, even of "
         "databases: as quick as a simple SSD."),
    mark("Virtual machines: {rate:.0f} small files made and flushed a second are enough "
         "for virtual disks of quiet "
         "machines: between a hard disk and an SSD."),
    mark("Virtual machines: {rate:.0f} small files made and flushed a second are enough "
         "for no virtual disks: slower "
         "than one hard disk."),
)  # fmt: skip
_RANDOM_WRITES = (
    mark("Virtual machines: {rate:.0f} small writes at random a second are enough for virtual disks, even of "
         "databases: as quick as a simple SSD."),
    mark("Virtual machines: {rate:.0f} small writes at random a second are enough for virtual disks of quiet "
         "machines: between a hard disk and an SSD."),
    mark("Virtual machines: {rate:.0f} small writes at random a second are enough for no "
         "virtual disks: slower than "
         "one hard disk."),
)  # fmt: skip


def _disk_text(rate: float, sentences: tuple[str, str, str]) -> str:
    fast, medium, slow = sentences
    if rate >= _SSD_WRITES_PER_S:
        return _(fast).format(rate=rate)
    return _(medium if rate >= _HARD_DISK_WRITES_PER_S else slow).format(rate=rate)
