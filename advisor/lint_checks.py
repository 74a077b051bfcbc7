"""Finders: the looks that a rule of the lint takes where a list of options in force does not say enough.

Each yields one Match for everything it finds. What it finds depends on the rule's ``options``, ``min``,
``max`` and ``ignore``.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from typing import TYPE_CHECKING

from advisor.kernel_numbers import kernel_number, rounded_io_size
from advisor.lint_entry_checks import ENTRY_FINDERS
from advisor.lint_rules import Fix, Match
from advisor.option_check import bytes_of, check_item, close_spelling
from advisor.options import ATTRIBUTE_TIMES, NO, YES, catalogue, is_comment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from advisor.lint_rules import Rule
    from advisor.lint_situation import Situation
    from advisor.option_check import OptionProblem

#: What Kerberos accepts if nobody has set another value (krb5.conf(5), clockskew), seconds.
CLOCK_SKEW_S = 300.0
#: A soft mount that gives up sooner does not outlast a server that restarts a service, tenths of a second.
_SOFT_LEAST_DS = 100
#: One that takes longer hangs nearly as a hard one does, tenths of a second.
_SOFT_MOST_DS = 36000
#: timeo of guides for UDP and of people who take it for seconds.
_SHORT_TIMER_DS = 20


def _whole(_situation: Situation, rule: Rule) -> Iterator[Match]:
    """The conditions say it all."""
    yield Match(rule.options, {})


def _written(situation: Situation, rule: Rule) -> Iterator[Match]:
    """The conditions say it all, and the texts name items as they are written."""
    words = {name: items[-1] for name, items in situation.written.items()}
    yield Match(rule.options, words | {"mount_point": situation.context.mount_point})


def _given(situation: Situation, rule: Rule) -> Iterator[Match]:
    """Options of the rule that are given."""
    for name in rule.options:
        if name in situation.values:
            yield Match((name,), _words(situation, name))


def _switched_on(situation: Situation, rule: Rule) -> Iterator[Match]:
    """Options of the rule that are given and not negated."""
    for name in rule.options:
        if situation.values.get(name) == YES:
            yield Match((name,), _words(situation, name))


def _number(situation: Situation, rule: Rule) -> Iterator[Match]:
    """Options of the rule whose number lies within the rule's bounds."""
    for name in rule.options:
        number = kernel_number(situation.values.get(name, ""))
        if number is not None and rule.min <= number <= rule.max:
            yield Match((name,), _words(situation, name))


def _rounded(situation: Situation, rule: Rule) -> Iterator[Match]:
    """Sizes that the kernel rounds."""
    for match in _number(situation, rule):
        if match.words["number"] != match.words["rounded"]:
            yield match


def _ineffective(situation: Situation, rule: Rule) -> Iterator[Match]:
    """Options of the rule that none of the possible versions heeds."""
    for name in rule.options:
        if name in situation.values and not situation.versions & set(catalogue()[name].versions):
            yield Match((name,), _words(situation, name))


def _unknown(situation: Situation, rule: Rule) -> Iterator[Match]:
    """Options that the catalogue does not have."""
    for problem in _first(situation, {"unknown"}):
        if problem.name not in rule.ignore and not _is_cut_off(situation, problem.item):
            fix = _respelled(situation, problem)
            yield Match((problem.name,), {"problem": problem.message, "hint": problem.hint}, fix)


def _is_cut_off(situation: Situation, item: str) -> bool:
    """Whether it is the rest of a value that the finder of security contexts tells of."""
    return _CATEGORY.fullmatch(item) is not None and not _CONTEXTS.isdisjoint(situation.values)


def _foreign(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """Options of other systems, and what the kernel refuses although a manual names it."""
    for problem in _first(situation, {"foreign"}):
        fix = _respelled(situation, problem)
        yield Match((problem.name,), {"problem": problem.message, "hint": problem.hint}, fix)


def _bad_value(situation: Situation, rule: Rule) -> Iterator[Match]:
    """Values that mount or the kernel refuses."""
    for problem in _first(situation, {"missing", "value", "range", "text"}):
        value = problem.item.partition("=")[2]
        if problem.item in rule.ignore or problem.name in rule.ignore or _is_odd_number(value):
            continue
        if is_comment(problem.item):
            continue  # it never reaches mount.nfs: the finder of systemd's words looks at it
        option = catalogue().find(problem.name)
        fix = None
        if option is not None and option.is_number and situation.written[option.name][-1] == problem.item:
            size = bytes_of(value)
            if size is None and problem.code == "range" and option.name in rule.options:
                size = min(int(value[:20]), option.maximum or 0)
            if size and check_item(f"{option.name}={size}", catalogue()) is None:
                fix = Fix(set=(f"{option.name}={size}",))
        yield Match((problem.name,), {"problem": problem.message, "hint": problem.hint}, fix)


def _octal(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """Numbers with a leading 0."""
    for name, value in situation.values.items():
        option = catalogue().find(name)
        if option is None or not option.is_number or not _has_leading_zero(value):
            continue
        number = kernel_number(value)
        means = "refuses it" if number is None else f"takes it for {number}"
        words = _words(situation, name) | {"means": means, "plain": value.lstrip("0")[:20] or "0"}
        yield Match((name,), words)


def _different(situation: Situation, rule: Rule) -> Iterator[Match]:
    """Options that are given several times with different values."""
    for name, items in situation.written.items():
        values = {catalogue().read_item(item)[2] for item in items}
        if name not in rule.ignore and len(values) > 1:
            words = _words(situation, name) | {"items": _listed(dict.fromkeys(items))}
            yield Match((name,), words, Fix(set=(items[-1],)))


def _repeated(situation: Situation, rule: Rule) -> Iterator[Match]:
    """Options that are given several times with the same value."""
    for name, items in situation.written.items():
        values = {catalogue().read_item(item)[2] for item in items}
        if name not in rule.ignore and len(items) > 1 and len(values) == 1:
            yield Match((name,), _words(situation, name), Fix(set=(items[-1],)))


def _twice(situation: Situation, rule: Rule) -> Iterator[Match]:
    """Options of the rule that are given more than once."""
    for name in rule.options:
        items = situation.written.get(name, [])
        if len(items) > 1:
            yield Match((name,), {"items": _listed(items)}, Fix(set=(items[-1],)))


def _order(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """Attribute times whose minimum is above the maximum, which may be the default."""
    for least, most in (("acregmin", "acregmax"), ("acdirmin", "acdirmax")):
        texts = [situation.implied.get(name) or catalogue()[name].default or "" for name in (least, most)]
        low, high = (kernel_number(text) for text in texts)
        if low is not None and high is not None and low > high:
            given = tuple(name for name in (least, most) if name in situation.values)
            words = {"least": f"{least}={low}", "most": f"{most}={high}"}
            # Taken out first, so that it is written behind an actimeo.
            yield Match(given, words, Fix((most,), (f"{most}={low}",)))


def _actimeo(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """The time for all beside times for one: which of them counts depends on their order."""
    beside = [name for name in ATTRIBUTE_TIMES if name in situation.values]
    if "actimeo" not in situation.values or not beside:
        return
    times = {name: situation.implied[name] for name in ATTRIBUTE_TIMES}
    if len(set(times.values())) == 1:
        fix = Fix(remove=tuple(beside))
    else:
        fix = Fix(remove=("actimeo",), set=tuple(f"{name}={value}" for name, value in times.items()))
    in_force = ", ".join(f"{name}={value}" for name, value in times.items())
    yield Match(("actimeo", *beside), {"in_force": in_force}, fix)


def _family(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """A netid of one address family with an address of the other."""
    item = situation.written.get("proto", [""])[-1]
    key, _, netid = item.partition("=")
    try:
        version = ipaddress.ip_address(situation.host.partition("%")[0]).version
    except ValueError:
        return
    if key != "proto" or netid not in catalogue()["proto"].values:
        return
    fitting = netid.removesuffix("6") + ("6" if version == 6 else "")
    if netid != fitting:
        yield Match(("proto",), {"netid": netid, "fitting": fitting, "family": f"IPv{version}"})


def _taken(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """A number of connections other than the one that mounts in use have fixed."""
    asked = kernel_number(situation.values.get("nconnect", ""))
    if asked is None:
        return
    for version, count in situation.context.connections.items():
        # Without a version the newest one is negotiated, so only 4.2 is sure to be met.
        sure = situation.versions == frozenset({version}) or (
            version == "4.2" and version in situation.versions
        )
        if sure and count not in {0, asked}:
            yield Match(("nconnect",), {"asked": str(asked), "count": str(count), "version": version})


def _overruled_lock(situation: Situation, rule: Rule) -> Iterator[Match]:
    """A lock or nolock beside a local_lock that says something else."""
    lock, local = situation.values.get("lock"), situation.values.get("local_lock")
    if lock is not None and local is not None and local != ("all" if lock == NO else "none"):
        yield Match(rule.options, {})


def _patience(situation: Situation) -> tuple[int, int, int] | None:
    """Return timeo, retrans, and after how many tenths of a second a soft mount gives up; None if unclear."""
    udp = situation.values.get("proto", "").startswith("udp")
    timeo, retrans = (
        kernel_number(situation.values.get(name) or catalogue()[name].default_for("3", proto) or "")
        for name, proto in (("timeo", "udp" if udp else "tcp"), ("retrans", "udp" if udp else "tcp"))
    )
    if timeo is None or retrans is None or timeo < 1:
        return None
    # Over UDP the time doubles with each retry (nfs(5), timeo).
    return timeo, retrans, timeo * (2 ** (min(retrans, 30) + 1) - 1 if udp else retrans + 1)


def _soft_timer(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """A soft mount that gives up within ten seconds, or at the first lost request."""
    given = tuple(name for name in ("timeo", "retrans") if name in situation.values)
    patience = _patience(situation)
    if not given or patience is None:
        return
    timeo, retrans, total = patience
    udp = situation.values.get("proto", "").startswith("udp")
    if total < _SOFT_LEAST_DS or retrans == 0 or (timeo <= _SHORT_TIMER_DS and not udp):
        words = {"seconds": f"{total / 10:g}", "timeo": str(timeo), "retrans": str(retrans)}
        yield Match((*given, "hard"), words, Fix(remove=given))


def _soft_endless(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """A soft mount that gives up after an hour or later."""
    patience = _patience(situation)
    if patience is not None and patience[2] >= _SOFT_MOST_DS:
        timeo, retrans, total = patience
        given = tuple(name for name in ("timeo", "retrans") if name in situation.values)
        words = {"minutes": f"{total / 600:.0f}", "timeo": str(timeo), "retrans": str(retrans)}
        yield Match(given, words, Fix(remove=("retrans",)) if retrans > 2 else Fix(remove=given))


def _long_times(situation: Situation, rule: Rule) -> Iterator[Match]:
    """Attribute times of at least the rule's number of seconds."""
    for match in _number(situation, rule):
        minutes = f"{int(match.words['number']) // 60}"
        name = match.options[0]
        yield Match(match.options, match.words | {"minutes": minutes}, Fix(remove=(name,)))
        return


def _no_times(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """All four attribute times are 0."""
    given = tuple(name for name in ("ac", "actimeo", *ATTRIBUTE_TIMES) if name in situation.values)
    if given and all(situation.implied.get(name) == "0" for name in ATTRIBUTE_TIMES):
        yield Match(given, {})


def _mixed_flavors(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """Flavors with and without Kerberos in one list."""
    flavors = situation.values.get("sec", "").split(":")
    secure = [flavor for flavor in flavors if flavor.startswith("krb5")]
    if secure and not set(flavors) - set(secure) <= {""}:
        yield Match(("sec",), _words(situation, "sec") | {"secure": ":".join(secure)})


def _flavor_gone(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """Flavors whose names the kernel knows, and nothing else of them."""
    flavors = situation.values.get("sec", "").split(":")
    for gone in [flavor for flavor in flavors if flavor.startswith(("lkey", "spkm3"))][:1]:
        left = [flavor for flavor in flavors if not flavor.startswith(("lkey", "spkm3"))]
        fix = Fix(set=(f"sec={':'.join(left)}",)) if left else Fix(remove=("sec",))
        yield Match(("sec",), {"flavor": gone}, fix)


def _families(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """Two netids of different address families."""
    written = [situation.written.get(name, [""])[-1] for name in ("proto", "mountproto")]
    if all("=" in item for item in written) and written[0].endswith("6") is not written[1].endswith("6"):
        netid = situation.values["mountproto"].removesuffix("6") + ("6" if written[0].endswith("6") else "")
        words = {"first": written[0], "second": written[1]}
        yield Match(("mountproto", "proto"), words, Fix(set=(f"mountproto={netid}",)))


def _callback_address(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """An address of this computer that no server can reach."""
    value = situation.values.get("clientaddr", "")
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return
    if address.is_link_local or address.is_loopback:
        yield Match(("clientaddr",), {"address": value})


def _remount(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """Options that a remount cannot change."""
    named = [items[-1] for name, items in situation.written.items() if catalogue()[name].change == "mount"]
    if named:
        yield Match(("remount",), {"items": _listed(named)})


def _remount_both(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """A remount that names share and mount point."""
    context = situation.context
    if context.share and context.mount_point:
        yield Match(("remount",), {"share": context.share, "point": context.mount_point})


def _context_comma(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """A security context whose categories are cut off by a comma, as quotation marks are missing."""
    items = list(situation.options)
    for before, item in itertools.pairwise(items):
        name, equals, label = before.partition("=")
        if equals and name in _CONTEXTS and '"' not in label and _CATEGORY.fullmatch(item):
            yield Match((name,), {"item": before, "rest": item, "name": name})


_CONTEXTS = frozenset({"context", "fscontext", "defcontext", "rootcontext"})
#: A category of SELinux, or a range of them (c0.c1023).
_CATEGORY = re.compile(r"c[0-9]+(?:\.c[0-9]+)?")


def _empty_option(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """Nothing between two commas."""
    items = list(situation.options)
    if len(items) > 1 and "" in items:
        yield Match((), {})


def _newer(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """Options that came with a later kernel than this one, and that it is not known to have all the same."""
    yield from _newer_options(situation, answers={None})


def _not_in_kernel(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """Options that came with a later kernel than this one, and that it has said not to know."""
    yield from _newer_options(situation, answers={False})


def _newer_options(situation: Situation, answers: set[bool | None]) -> Iterator[Match]:
    facts = situation.facts
    release = facts.client.kernel if facts is not None else ""
    asked = (
        facts.prerequisites.kernel_options if facts is not None and facts.prerequisites is not None else {}
    )
    for name in situation.written:
        option = catalogue()[name]
        if option.newer_than(release) and asked.get(name) in answers:
            yield Match((name,), {"name": name, "since": option.since, "kernel": release}, Fix((name,)))
        since = option.newer_values(release).get(situation.values[name])
        word = option.word_for(situation.values[name]) or situation.written[name][-1]
        if since and asked.get(word) in answers:
            yield Match((name,), {"name": word, "since": since, "kernel": release}, Fix((name,)))


def _clock(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """A clock that Kerberos does not accept."""
    server = situation.facts.server if situation.facts is not None else None
    ahead = server.clock_ahead_s if server is not None else None
    if ahead is not None and abs(ahead) > CLOCK_SKEW_S:
        yield Match(("sec",), {"seconds": f"{abs(ahead):.0f}"})


def _no_name(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """A server by its address, or by a short name, for which the name service has no full name."""
    server = situation.facts.server if situation.facts is not None else None
    short = "." not in situation.host
    if server is not None and server.reverse_name == "" and (short or _is_address(situation.host)):
        yield Match(("sec",), {"host": situation.host, "address": server.address or situation.host})


def _empty_value(situation: Situation, _rule: Rule) -> Iterator[Match]:
    """An equals sign and nothing behind it, where any text would do."""
    for name, items in situation.written.items():
        item = items[-1]
        option = catalogue()[name]
        if item.endswith("=") and option.kind == "string" and not is_comment(item):
            yield Match((name,), {"item": item}, Fix((name,)))


def _named_by_address(situation: Situation, rule: Rule) -> Iterator[Match]:
    """A server by its address."""
    if _is_address(situation.host):
        server = situation.facts.server if situation.facts is not None else None
        name = server.reverse_name if server is not None else None
        yield Match(rule.options, {"host": situation.host, "known": f": {name}" if name else ""})


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


FINDERS: dict[str, Callable[[Situation, Rule], Iterator[Match]]] = {
    **ENTRY_FINDERS,
    "whole": _whole,
    "written": _written,
    "given": _given,
    "switched-on": _switched_on,
    "number": _number,
    "rounded": _rounded,
    "ineffective": _ineffective,
    "unknown": _unknown,
    "foreign": _foreign,
    "bad-value": _bad_value,
    "octal": _octal,
    "different": _different,
    "repeated": _repeated,
    "twice": _twice,
    "order": _order,
    "actimeo": _actimeo,
    "family": _family,
    "taken": _taken,
    "overruled-lock": _overruled_lock,
    "soft-timer": _soft_timer,
    "soft-endless": _soft_endless,
    "empty-value": _empty_value,
    "long-times": _long_times,
    "no-times": _no_times,
    "mixed-flavors": _mixed_flavors,
    "flavor-gone": _flavor_gone,
    "families": _families,
    "callback-address": _callback_address,
    "remount": _remount,
    "remount-both": _remount_both,
    "context-comma": _context_comma,
    "empty-option": _empty_option,
    "newer-than-kernel": _newer,
    "not-in-kernel": _not_in_kernel,
    "clock": _clock,
    "no-name": _no_name,
    "by-address": _named_by_address,
}


def _words(situation: Situation, name: str) -> dict[str, str]:
    """Return what the rules' texts may say of an option that is given."""
    value = situation.values[name]
    items = situation.written.get(name)
    words = {"name": name, "value": value, "item": items[-1] if items else name}
    words["versions"] = "4" if len(situation.versions) == 3 else " or ".join(sorted(situation.versions))
    number = kernel_number(value)
    if number is not None:
        words |= {"number": str(number), "seconds": f"{number / 10:g}"}
        words["rounded"] = str(rounded_io_size(number, situation.values.get("proto", "tcp")))
    return words


def _listed(items: Iterable[str]) -> str:
    return " and ".join(f"“{item}”" for item in items)


def _first(situation: Situation, codes: set[str]) -> list[OptionProblem]:
    """Return the problems of these kinds, one for each option."""
    return list({p.name: p for p in reversed(situation.problems) if p.code in codes}.values())[::-1]


def _respelled(situation: Situation, problem: OptionProblem) -> Fix | None:
    """Return the fix that writes the option with the spelling that is closest to what is written."""
    spelling = close_spelling(problem.name, catalogue())
    if spelling is None:
        return None
    _, equals, value = problem.item.partition("=")
    item = spelling + equals + value
    option, name, _ = catalogue().read_item(item)
    if option is None or check_item(item, catalogue()) is not None or name in situation.values:
        return None
    return Fix(remove=(problem.name,), set=(item,))


def _has_leading_zero(value: str) -> bool:
    return value != "0" and value.startswith("0") and value.isascii() and value.isdigit()


def _is_odd_number(value: str) -> bool:
    """Whether it is a number that the kernel reads though it is not a plain decimal, or one for _octal."""
    return _has_leading_zero(value) or (value[:2] in {"0x", "0X"} and kernel_number(value) is not None)
