"""Terminal text of mounts, mount reports, facts, links and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from advisor.speeds import format_rate, format_speed
from app.cli.table import table
from app.cli.test import bottleneck_lines, figures_lines, grid_rows
from app.speedtest.analysis import unmeasured_effects
from app.text.message import message_text
from app.text.mounts import choices_text, mount_state_text, trouble_text
from app.text.units import format_duration, format_size

if TYPE_CHECKING:
    from advisor.facts import Facts, LinkFacts
    from app.mounts.model import Mount, MountReport, MountTable
    from app.speedtest.model import TestResult, Transfer

#: State of a mount after the next boot, in the column LASTS.
_AT_BOOT = {
    "mounted": "at boot",
    "on-demand": "on demand",
    "by-hand": "manually",
    "gone": "until restart",
}


def terminal_safe(text: str) -> str:
    """Return a text with terminal control characters escaped."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)


def mounts_text(mounts: MountTable) -> str:
    """Return the table of mounts, with their problems and interrupted changes below."""
    lines: list[str] = []
    if mounts.mounts:
        rows = [["SHARE", "MOUNT POINT", "STATE", "SAVED", "CONFIGURED IN", "READAHEAD", "OPTIONS IN USE"]]
        rows += [
            [
                mount.share,
                mount.mount_point,
                mount_state_text(mount, mounts.now),
                _AT_BOOT[mount.after_boot],
                mount.configured.origin if mount.configured else "—",
                _read_ahead(mount),
                mount.active.options if mount.active else "—",
            ]
            for mount in mounts.mounts
        ]
        lines.append(table(rows))
        for mount in mounts.mounts:
            lines += _trouble_lines(mount, mounts.now)
    else:
        lines.append("No NFS mounts, neither active nor in /etc/fstab, a systemd unit or an autofs map.")
    for change in mounts.interrupted:
        lines += ["", terminal_safe(change.message), terminal_safe(change.hint), terminal_safe(change.detail)]
    return "\n".join([*lines, *mounts.warnings])


def _trouble_lines(mount: Mount, now: float) -> list[str]:
    text = trouble_text(mount, now)
    if text is None:
        return []
    return [
        "",
        terminal_safe(text.message),
        *(f"  {terminal_safe(line)}" for line in choices_text(text, mount.mount_point)),
    ]


def _read_ahead(mount: Mount) -> str:
    """Return the readahead of a mount, and how long the setting lasts."""
    active = mount.active
    if active is None or active.read_ahead_kb is None:
        return "—"
    size = format_size(active.read_ahead_kb * 1024)
    lasts = {"saved": " (saved)", "nfs.conf": " (nfs.conf)", "until-unmounted": " (until unmounted)"}
    return size + lasts.get(active.read_ahead_state, "")


def report_text(report: MountReport) -> str:
    """Return the messages of a mount, and a table of requested options and those in use."""
    rows = [["OPTION", "REQUESTED", "IN USE", ""]]
    rows += [
        [value.name, _plain(value.requested), _plain(value.effective), message_text(value.note)]
        for value in report.values
    ]
    heading = f"Mounted {report.mount.share} at {report.mount.mount_point}."
    return "\n".join([heading, *report.messages, "", table(rows)])


def _plain(value: str | None) -> str:
    return "—" if value is None else value or "yes"


def facts_text(facts: Facts) -> str:
    """Return a table of facts with their sources; for an unknown fact the source is the reason."""
    rows = [["FACT", "VALUE", "HOW IT IS KNOWN"]]
    parts = (
        ("client", facts.client),
        ("client", facts.prerequisites),
        ("server", facts.server),
        ("link", facts.link),
    )
    for title, part in parts:
        if part is None:
            continue
        for name in part.__dataclass_fields__:
            if name == "sources":
                continue
            value = getattr(part, name)
            source = part.sources.get(name, "")
            if value is None and not source:
                continue
            rows.append([f"{title} {_fact_name(name)}", _fact(name, value), source])
    return table(rows)


def _fact_name(name: str) -> str:
    """Return the name of a field without its unit, which the value has."""
    for suffix in ("_bps", "_bytes", "_s"):
        name = name.removesuffix(suffix)
    return name.replace("_", " ")


def _fact(name: str, value: object) -> str:
    text = "unknown"
    if isinstance(value, bool):
        text = "yes" if value else "no"
    elif name == "loss" and isinstance(value, float):
        text = f"{100 * value:.3g}%"
    elif isinstance(value, (int, float)):
        text = str(value)
        for suffix, form in (("_bps", format_rate), ("_s", format_duration), ("_bytes", format_size)):
            if name.endswith(suffix):
                text = form(value)
                break
    elif isinstance(value, dict):
        flags = cast("dict[str, bool]", value)
        text = (
            ", ".join(f"{key}: {'yes' if flag else 'no'}" for key, flag in flags.items()) or "none to ask for"
        )
    elif isinstance(value, tuple):
        text = ", ".join(map(str, cast("tuple[object, ...]", value))) or "none"
    elif value is not None:
        text = str(value)
    return text


def link_text(link: LinkFacts) -> str:
    """Return adapter, rate, round-trip time and loss of a link in one line."""
    parts = [part for part in (link.adapter or link.interface or link.name,) if part]
    if link.rate_bps:
        up = "" if link.up_bps is None or link.up_bps == link.rate_bps else f", {format_rate(link.up_bps)} up"
        parts.append(format_rate(link.rate_bps) + up)
    if link.rtt_s is not None:
        parts.append(f"round-trip time {format_duration(link.rtt_s)}")
    if link.loss:
        parts.append(f"loss {link.loss:.2%}")
    return ", ".join(parts) or "unknown"


def test_text(result: TestResult) -> str:
    """Return the figures of a test, its bottleneck, and notes on their limits."""
    place = f" at {result.path}" if result.path else ", private mount"
    lines = [f"{result.share}{place}" if result.nfs else result.path]
    if result.link is not None:
        lines.append(f"Link: {link_text(result.link)}")
    if result.grid:
        lines += ["", table(grid_rows(result.grid)), "", *_meaning_lines(result)]
        return "\n".join([*lines, *unmeasured_effects(result), *result.notes])
    rows = [["", "SPEED", "BYTES", "TRANSFER", "FSYNC", "CLOSE", "TIMEOUTS", "RETRANSMITTED", "OUT OF ORDER"]]
    if result.write is not None:
        rows.append(["write", *_transfer_cells(result.write), "—"])
    if result.read is not None:
        # The client cannot count retransmissions of the server, but sees segments out of order.
        disorder = result.read.disorder
        rows.append(
            ["read", *_transfer_cells(result.read), "—" if disorder is None else f"{100 * disorder:.2g}%"]
        )
    if result.small_read is not None:
        disorder = result.small_read.disorder
        cells = _transfer_cells(result.small_read)
        rows.append(["small reads", *cells, "—" if disorder is None else f"{100 * disorder:.2g}%"])
    lines += ["", table(rows), ""]
    lines += figures_lines(result)
    lines += _meaning_lines(result)
    if result.cache is not None:
        lines.append(result.cache.note)
    return "\n".join([*lines, *unmeasured_effects(result), *result.notes])


def _meaning_lines(result: TestResult) -> list[str]:
    """Return the uses that a test's speed is enough for, and its bottleneck."""
    enough = ["Enough for", *(f"  {line}" for line in result.enough)] if result.enough else []
    return enough + (bottleneck_lines(result.bottleneck) if result.bottleneck is not None else [])


def _transfer_cells(transfer: Transfer) -> list[str]:
    speed = format_speed(transfer.bytes_per_s) + (" (cached)" if transfer.cached else "")
    retransmissions = "—" if transfer.retransmissions_from == "none" else str(transfer.retransmissions)
    return [
        speed,
        format_size(transfer.bytes),
        format_duration(transfer.transfer_s),
        format_duration(transfer.fsync_s),
        format_duration(transfer.close_s),
        "—" if transfer.server_bytes is None else str(transfer.timeouts),
        retransmissions,
    ]
