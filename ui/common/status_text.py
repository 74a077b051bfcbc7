"""Status texts: a mount at the next boot, facts of a link, the result of an apply, option values, times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from advisor.options import catalogue
from advisor.speeds import format_rate
from app.links import load_links
from app.mounts.option_comparison import overridden_options
from app.text.message import message_text
from app.text.units import format_duration
from ui.common.option_text import value_text
from ui.common.translation import tr

if TYPE_CHECKING:
    from advisor.facts import Facts, LinkFacts
    from app.mounts.change_model import ApplyReport
    from app.mounts.model import AddedOption, Mount


def boot_text(mount: Mount) -> str:
    """Return how a mount is mounted at the next boot, in words."""
    return {
        "mounted": tr("At boot"),
        "on-demand": tr("On demand"),
        "by-hand": tr("Manually"),
        "gone": tr("Until restart"),
    }[mount.after_boot]


def added_lines(added: list[AddedOption]) -> list[str]:
    """Return the options that nfsmount.conf(5) adds to a mount, one line per option."""
    template = tr("{item}: line {line} of {file}, section {section}")
    lines: list[str] = []
    for option in added:
        text = template.format(item=option.item, line=option.line, file=option.file, section=option.section)
        if option.beats:
            text = tr("{text}. It overrides “{other}”.").format(text=text, other=option.beats)
        lines.append(text)
    return lines


def link_line(facts: Facts | None) -> str:
    """Return a link in one line: interface, adapter, rate, duplex, round-trip time, loss."""
    if facts is None or facts.link is None:
        return tr("Link: not known yet")
    return "  ·  ".join([_link_name(facts.link), *link_figures(facts.link)])


def link_title(name: str) -> str:
    """Return the title of an emulated link; one given by its values is called by them."""
    link = load_links().get(name)
    return link.title if link is not None else name


def link_figures(link: LinkFacts) -> list[str]:
    """Return the figures of a link: rate, round-trip time, and loss if there is any."""
    parts: list[str] = []
    if link.rate_bps is None:
        parts.append(tr("speed unknown"))
    else:
        parts.append(format_rate(link.rate_bps) + (f" {link.duplex} duplex" if link.duplex else ""))
    if link.rtt_s is None:
        parts.append(tr("round trip unknown"))
    else:
        parts.append(tr("round trip {time}").format(time=format_duration(link.rtt_s)))
    if link.loss:
        parts.append(tr("{percent} % lost").format(percent=f"{link.loss * 100:.3g}"))
    return parts


def applied_text(report: ApplyReport) -> tuple[str, str, str]:
    """Return the result of an apply: a sentence, warnings (one per line, or ""), and details (or "")."""
    point = report.plan.mount_point
    mounted, written = report.report is not None, bool(report.diff)
    files = " and ".join(diff_files(report.diff))
    if mounted and written:
        message = tr("{path} is mounted with these settings, and they are saved in {files}.").format(
            path=point, files=files
        )
    elif mounted:
        message = tr("{path} is mounted with these settings.").format(path=point)
    else:
        message = tr("The settings of {path} are saved in {files}. The active mount is unchanged.").format(
            path=point, files=files
        )
    values = overridden_options(report.report.values) if report.report is not None else []
    names = {value.name for value in values}
    warnings = [
        *report.warnings,
        *(message_text(one) for one in report.differences if one.params.get("option") not in names),
    ]
    for value in values:
        requested = value_label(value.name, value.requested)
        if value.effective is None:
            sentence = tr("{name}: {asked} was requested. {note}").format(
                name=value.name, asked=requested, note=message_text(value.note))  # fmt: skip
        else:
            used = value_label(value.name, value.effective)
            sentence = tr("{name}: {asked} was requested, {used} is in use. {note}").format(
                name=value.name, asked=requested, used=used, note=message_text(value.note)
            )
        warnings.append(sentence.strip())
    details = [tr("The file as it was: {path}").format(path=report.backup)] if report.backup else []
    messages = report.report.messages if report.report is not None else []
    return message, "\n".join(warnings), "\n".join([*details, *messages])


def diff_files(diff: str) -> list[str]:
    """Return the files that a unified diff changes."""
    return [line.removeprefix("--- ") for line in diff.splitlines() if line.startswith("--- /")]


def value_label(name: str, value: str | None) -> str:
    """Format a value of an option, None as “nothing”."""
    option = catalogue().find(name)
    if value is None:
        return tr("nothing")
    return (value_text(option, value) if option is not None else value) or tr("given")


def local_time(started_at: str) -> str:
    """Format a time (ISO 8601, UTC) in the local time zone."""
    return datetime.fromisoformat(started_at).astimezone().strftime("%Y-%m-%d %H:%M")


def moment_text(started_at: str, now: datetime | None = None) -> str:
    """Format a time (ISO 8601, UTC) in the local time zone, with the day in words if it is near.

    Args:
        started_at: the time.
        now: the present, None for that of the clock.
    """
    moment = datetime.fromisoformat(started_at).astimezone()
    present = (now or datetime.now(UTC)).astimezone()
    clock = moment.strftime("%H:%M")
    days = (present.date() - moment.date()).days
    if days == 0:
        return tr("Today {time}").format(time=clock)
    if days == 1:
        return tr("Yesterday {time}").format(time=clock)
    return tr("{date} {time}").format(date=moment.strftime("%Y-%m-%d"), time=clock)


def _link_name(link: LinkFacts) -> str:
    if link.emulated:
        return tr("Emulated link: {title}").format(title=link_title(link.name))
    names = [part for part in (link.interface or link.name, link.adapter) if part]
    return tr("Link: {name}").format(name=", ".join(names) or tr("interface unknown"))
