"""Lint checks of mount options, for rules that need more than conditions on single options.

Each check yields one match per problem. The rule's ``options``, ``min``, ``max`` and ``ignore`` are the
check's parameters. Checks follow nfs(5), mount(8) and fs/nfs/fs_context.c.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from typing import TYPE_CHECKING

from advisor.finding import Fix
from advisor.lint_entry_checks import ENTRY_CHECKS
from advisor.lint_rules import LintMatch
from advisor.lint_systemd_checks import SYSTEMD_CHECKS
from advisor.options import (
    ATTRIBUTE_TIMES,
    NO,
    YES,
    catalogue,
    check_item,
    close_spelling,
    is_comment,
    size_in_bytes,
)
from advisor.share import is_share
from advisor.transfer_sizes import kernel_number, rounded_io_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from advisor.lint_rules import LintInput, LintRule
    from advisor.options import OptionProblem

#: Default clock difference that Kerberos accepts, seconds (krb5.conf(5), clockskew).
CLOCK_SKEW_S = 300.0
#: Shortest timeout of a soft mount that outlasts the restart of a service, tenths of a second.
_SOFT_TIMEOUT_MIN_DS = 100
#: Longest useful timeout of a soft mount; with a longer one it hangs like a hard mount, tenths of a second.
_SOFT_TIMEOUT_MAX_DS = 36000
#: Greatest timeo that counts as a mistake over TCP: copied from guides for UDP, or meant as seconds;
#: tenths of a second.
_SHORT_TIMEO_DS = 20


def _conditions_only(_situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match whenever the rule's conditions hold."""
    yield LintMatch(rule.options, {})


def _written_items(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match whenever the rule's conditions hold; the texts quote the options as written."""
    words = {name: items[-1] for name, items in situation.written.items()}
    yield LintMatch(rule.options, words | {"mount_point": situation.context.mount_point})


def _given_options(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match each option of the rule that is present."""
    for name in rule.options:
        if name in situation.values:
            yield LintMatch((name,), _template_values(situation, name))


def _switched_on(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match each option of the rule that is present and not negated."""
    for name in rule.options:
        if situation.values.get(name) == YES:
            yield LintMatch((name,), _template_values(situation, name))


def _numbers_in_range(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match each option of the rule whose number lies between the rule's min and max."""
    for name in rule.options:
        number = kernel_number(situation.values.get(name, ""))
        if number is not None and rule.min <= number <= rule.max:
            yield LintMatch((name,), _template_values(situation, name))


def _rounded_sizes(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match each rsize or wsize that the kernel rounds."""
    for match in _numbers_in_range(situation, rule):
        if match.words["number"] != match.words["rounded"]:
            yield match


def _ineffective_options(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match each option of the rule that has no effect in any possible NFS version."""
    for name in rule.options:
        if name in situation.values and not situation.versions & set(catalogue()[name].versions):
            yield LintMatch((name,), _template_values(situation, name))


def _unknown_options(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match options that are missing from the option catalogue."""
    for problem in _first_problems(situation, {"unknown"}):
        variable = situation.context.place == "command" and problem.item.startswith("$")
        known = problem.name in rule.ignore or variable
        if not known and not _is_cut_off(situation, problem.item):
            fix = _corrected_spelling(situation, problem)
            yield LintMatch((problem.name,), {"problem": problem.message, "hint": problem.hint}, fix)


def _is_cut_off(situation: LintInput, item: str) -> bool:
    """Whether an item is the rest of a security context, which _context_comma reports."""
    return _CATEGORY.fullmatch(item) is not None and not _CONTEXTS.isdisjoint(situation.values)


def _foreign_options(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match options of other operating systems, and documented options that the kernel rejects."""
    for problem in _first_problems(situation, {"foreign"}):
        fix = _corrected_spelling(situation, problem)
        yield LintMatch((problem.name,), {"problem": problem.message, "hint": problem.hint}, fix)


def _bad_values(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match values that mount.nfs or the kernel rejects."""
    for problem in _first_problems(situation, {"missing", "value", "range", "text"}):
        value = problem.item.partition("=")[2]
        if problem.item in rule.ignore or problem.name in rule.ignore or _is_unusual_number(value):
            continue
        if situation.context.place == "command" and "$" in problem.item:
            continue  # a variable of the shell
        if is_comment(problem.item):
            continue  # an x-* option does not reach mount.nfs; _systemd_options checks it
        option = catalogue().find(problem.name)
        fix = None
        if option is not None and option.is_number and situation.written[option.name][-1] == problem.item:
            size = size_in_bytes(value)
            if size is None and problem.code == "range" and option.name in rule.options:
                size = min(int(value[:20]), option.maximum or 0)
            if size and check_item(f"{option.name}={size}", catalogue()) is None:
                fix = Fix(set=(f"{option.name}={size}",))
        yield LintMatch((problem.name,), {"problem": problem.message, "hint": problem.hint}, fix)


def _octal_numbers(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match numbers with a leading 0, which the kernel reads as octal."""
    for name, value in situation.values.items():
        option = catalogue().find(name)
        if option is None or not option.is_number or not _has_leading_zero(value):
            continue
        number = kernel_number(value)
        means = "refuses it" if number is None else f"takes it for {number}"
        words = _template_values(situation, name) | {"means": means, "plain": value.lstrip("0")[:20] or "0"}
        yield LintMatch((name,), words)


def _conflicting_values(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match options that are present several times with different values."""
    for name, items in situation.written.items():
        values = {catalogue().read_item(item)[2] for item in items}
        if name not in rule.ignore and len(values) > 1:
            words = _template_values(situation, name) | {"items": _quoted_list(dict.fromkeys(items))}
            yield LintMatch((name,), words, Fix(set=(items[-1],)))


def _repeated_values(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match options that are present several times with the same value."""
    for name, items in situation.written.items():
        values = {catalogue().read_item(item)[2] for item in items}
        if name not in rule.ignore and len(items) > 1 and len(values) == 1:
            yield LintMatch((name,), _template_values(situation, name), Fix(set=(items[-1],)))


def _given_twice(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match each option of the rule that is present more than once."""
    for name in rule.options:
        items = situation.written.get(name, [])
        if len(items) > 1:
            yield LintMatch((name,), {"items": _quoted_list(items)}, Fix(set=(items[-1],)))


def _attribute_time_order(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match attribute cache times whose minimum exceeds the maximum, given or default."""
    for least, most in (("acregmin", "acregmax"), ("acdirmin", "acdirmax")):
        texts = [situation.implied.get(name) or catalogue()[name].default or "" for name in (least, most)]
        low, high = (kernel_number(text) for text in texts)
        if low is not None and high is not None and low > high:
            given = tuple(name for name in (least, most) if name in situation.values)
            words = {"least": f"{least}={low}", "most": f"{most}={high}"}
            # The fix removes the option first, so that it is written after an actimeo.
            yield LintMatch(given, words, Fix((most,), (f"{most}={low}",)))


def _actimeo_with_single_times(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match actimeo together with single attribute cache times; the later option takes effect."""
    single_times = [name for name in ATTRIBUTE_TIMES if name in situation.values]
    if "actimeo" not in situation.values or not single_times:
        return
    times = {name: situation.implied[name] for name in ATTRIBUTE_TIMES}
    if len(set(times.values())) == 1:
        fix = Fix(remove=tuple(single_times))
    else:
        fix = Fix(remove=("actimeo",), set=tuple(f"{name}={value}" for name, value in times.items()))
    in_force = ", ".join(f"{name}={value}" for name, value in times.items())
    yield LintMatch(("actimeo", *single_times), {"in_force": in_force}, fix)


def _address_family(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a netid in proto whose address family differs from that of the server's address."""
    item = situation.written.get("proto", [""])[-1]
    key, _, netid = item.partition("=")
    server = _address(situation.host)
    if server is None or key != "proto" or netid not in catalogue()["proto"].values:
        return
    fitting = netid.removesuffix("6") + ("6" if server.version == 6 else "")
    if netid != fitting:
        yield LintMatch(("proto",), {"netid": netid, "fitting": fitting, "family": f"IPv{server.version}"})


def _other_nconnect(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match an nconnect other than the number of connections that active mounts of the server use."""
    requested = kernel_number(situation.values.get("nconnect", ""))
    if requested is None:
        return
    for version, count in situation.context.connections.items():
        # Without vers= the newest common version is negotiated, so only 4.2 is a safe assumption.
        certain = situation.versions == frozenset({version}) or (
            version == "4.2" and version in situation.versions
        )
        if certain and count not in {0, requested}:
            words = {"asked": str(requested), "count": str(count), "version": version}
            yield LintMatch(("nconnect",), words)


def _overruled_lock(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match lock or nolock together with a local_lock of a different meaning."""
    lock, local = situation.values.get("lock"), situation.values.get("local_lock")
    if lock is not None and local is not None and local != ("all" if lock == NO else "none"):
        yield LintMatch(rule.options, {})


def _soft_timeout(situation: LintInput) -> tuple[int, int, int] | None:
    """Return timeo, retrans and the timeout of a soft mount, tenths of a second; None if unclear."""
    udp = situation.values.get("proto", "").startswith("udp")
    timeo, retrans = (
        kernel_number(situation.values.get(name) or catalogue()[name].default_for("3", proto) or "")
        for name, proto in (("timeo", "udp" if udp else "tcp"), ("retrans", "udp" if udp else "tcp"))
    )
    if timeo is None or retrans is None or timeo < 1:
        return None
    # Over UDP the timeout doubles with each retry (nfs(5), timeo).
    return timeo, retrans, timeo * (2 ** (min(retrans, 30) + 1) - 1 if udp else retrans + 1)


def _short_soft_timeout(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a soft mount that times out within ten seconds, or at the first lost request."""
    given = tuple(name for name in ("timeo", "retrans") if name in situation.values)
    timeout = _soft_timeout(situation)
    if not given or timeout is None:
        return
    timeo, retrans, total = timeout
    udp = situation.values.get("proto", "").startswith("udp")
    if total < _SOFT_TIMEOUT_MIN_DS or retrans == 0 or (timeo <= _SHORT_TIMEO_DS and not udp):
        words = {"seconds": f"{total / 10:g}", "timeo": str(timeo), "retrans": str(retrans)}
        yield LintMatch((*given, "hard"), words, Fix(remove=given))


def _long_soft_timeout(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a soft mount that times out after an hour or later."""
    timeout = _soft_timeout(situation)
    if timeout is not None and timeout[2] >= _SOFT_TIMEOUT_MAX_DS:
        timeo, retrans, total = timeout
        given = tuple(name for name in ("timeo", "retrans") if name in situation.values)
        words = {"minutes": f"{total / 600:.0f}", "timeo": str(timeo), "retrans": str(retrans)}
        yield LintMatch(given, words, Fix(remove=("retrans",)) if retrans > 2 else Fix(remove=given))


def _long_attribute_times(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match the first attribute cache time of at least the rule's number of seconds."""
    for match in _numbers_in_range(situation, rule):
        minutes = f"{int(match.words['number']) // 60}"
        name = match.options[0]
        yield LintMatch(match.options, match.words | {"minutes": minutes}, Fix(remove=(name,)))
        return


def _zero_attribute_times(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match if all four attribute cache times are 0."""
    given = tuple(name for name in ("ac", "actimeo", *ATTRIBUTE_TIMES) if name in situation.values)
    if given and all(situation.implied.get(name) == "0" for name in ATTRIBUTE_TIMES):
        yield LintMatch(given, {})


def _noac_with_times(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match attribute cache times beside noac that are not 0."""
    if any(situation.values.get(name, "0") != "0" for name in ("actimeo", *ATTRIBUTE_TIMES)):
        yield LintMatch(rule.options, {})


def _mixed_flavors(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a sec list that mixes security flavors with and without Kerberos."""
    flavors = situation.values.get("sec", "").split(":")
    secure = [flavor for flavor in flavors if flavor.startswith("krb5")]
    if secure and not set(flavors) - set(secure) <= {""}:
        yield LintMatch(("sec",), _template_values(situation, "sec") | {"secure": ":".join(secure)})


def _anonymous_flavor(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match the flavor none in a list of flavors without Kerberos, which _mixed_flavors reports."""
    flavors = situation.values.get("sec", "").split(":")
    if "none" in flavors and not any(flavor.startswith("krb5") for flavor in flavors):
        remaining = ":".join(flavor for flavor in flavors if flavor != "none")
        fix = Fix(set=(f"sec={remaining}",)) if remaining else Fix(remove=("sec",))
        yield LintMatch(("sec",), _template_values(situation, "sec"), fix)


def _obsolete_flavor(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match obsolete security flavors, which the kernel parses but does not implement."""
    flavors = situation.values.get("sec", "").split(":")
    for obsolete in [flavor for flavor in flavors if flavor.startswith(("lkey", "spkm3"))][:1]:
        remaining = [flavor for flavor in flavors if not flavor.startswith(("lkey", "spkm3"))]
        fix = Fix(set=(f"sec={':'.join(remaining)}",)) if remaining else Fix(remove=("sec",))
        yield LintMatch(("sec",), {"flavor": obsolete}, fix)


def _mixed_address_families(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a mountproto of another address family than proto, or than the server's address."""
    mountproto = situation.written.get("mountproto", [""])[-1]
    first, version = _requested_family(situation)
    if "=" not in mountproto or version is None:
        return
    netid = situation.values["mountproto"].removesuffix("6") + ("6" if version == 6 else "")
    if netid != situation.values["mountproto"]:
        words = {"first": first, "second": mountproto}
        yield LintMatch(("mountproto", "proto"), words, Fix(set=(f"mountproto={netid}",)))


def _requested_family(situation: LintInput) -> tuple[str, int | None]:
    """Return what decides on the address family, as written, and the IP version: 4, 6 or None if open."""
    proto = situation.written.get("proto", [""])[-1]
    if "=" in proto:
        return proto, 6 if proto.endswith("6") else 4
    server = _address(situation.host)
    return situation.host, server.version if server is not None else None


def _client_family(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match addresses in options that are of another family than the connection to the server."""
    first, version = _requested_family(situation)
    for name in rule.options:
        address = _address(situation.values.get(name, ""))
        if address is not None and version not in {None, address.version}:
            words = {"item": situation.written[name][-1], "first": first, "version": f"IPv{version}"}
            yield LintMatch((name,), words, Fix((name,)))


def _callback_address(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a clientaddr that no server can reach: loopback, link-local, multicast, or the server's own."""
    value = situation.values.get("clientaddr", "")
    address = _address(value)
    if address is None:
        return
    if (
        address.is_link_local
        or address.is_loopback
        or address.is_multicast
        or address == _address(situation.host)
    ):
        yield LintMatch(("clientaddr",), {"address": value})


def _mount_host(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a mounthost that is neither a name nor an address."""
    value = situation.values.get("mounthost", "")
    if not value or _address(value) is not None:
        return
    # A share accepts brackets around an address, and a path after the colon.
    if value.startswith("[") or ":" in value or not is_share(f"{value}:/"):
        yield LintMatch(("mounthost",), {"host": value})


#: Ports of other services (IANA; 635, 4045: mountd and lock service of NetApp, nlockmgr of Solaris).
_OTHER_SERVICES = {
    21: "FTP", 22: "SSH", 80: "HTTP", 111: "rpcbind", 139: "SMB", 443: "HTTPS", 445: "SMB", 548: "AFP",
    873: "rsync", 3260: "iSCSI",
}  # fmt: skip
_SIDE_SERVICES = {635: "mountd", 4045: "the lock service", 20048: "mountd"}


def _other_service_port(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match ports that belong to another service than NFS (port) or mountd (mountport)."""
    shared = situation.values.get("port") == situation.values.get("mountport")
    services = {
        "port": _OTHER_SERVICES | _SIDE_SERVICES,
        "mountport": _OTHER_SERVICES if shared else _OTHER_SERVICES | {2049: "NFS"},
    }
    for name, known in services.items():
        service = known.get(kernel_number(situation.values.get(name, "")) or 0)
        if service is not None:
            words = {"item": situation.written[name][-1], "service": service}
            yield LintMatch((name,), words, Fix((name,)))


_TRUE_WORDS = frozenset({"yes", "on", "true", "1", "y", "enable", "enabled"})
_FALSE_WORDS = frozenset({"no", "off", "false", "0", "n", "none", "disable", "disabled"})


def _cache_tag(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a tag of fsc that is meant to switch the cache on or off."""
    tag = situation.values.get("fsc", "").lower()
    if tag in _TRUE_WORDS or tag.startswith("/"):
        yield LintMatch(("fsc",), _template_values(situation, "fsc"), Fix(set=("fsc",)))
    elif tag in _FALSE_WORDS and "=" in situation.written["fsc"][-1]:
        yield LintMatch(("fsc",), _template_values(situation, "fsc"), Fix(("fsc",)))


def _value_after_comma(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match an option that is meant as a second value of the option before it."""
    for before, item in itertools.pairwise(situation.options):
        option, name, _ = catalogue().read_item(before)
        other = catalogue().find(item)
        meant = option is not None and "=" in before and item in option.values
        if meant and other is not None and other is not option:
            yield LintMatch((name,), {"before": before, "item": item, "name": name})


def _context_form(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a security context with fewer parts than user, role and type."""
    for name in sorted(_CONTEXTS):
        label = situation.values.get(name, "").strip('"')
        if label and label.count(":") < 2 and not label.startswith("@"):
            yield LintMatch((name,), _template_values(situation, name))


def _items_in_force(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match each item of the rule's condition ``any`` that is in force."""
    for item in rule.when.any:
        if situation.in_force(item):
            name = catalogue().read_item(item)[1]
            yield LintMatch((name,), _template_values(situation, name), Fix((name,)))


def _not_remountable(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a remount with options that a remount cannot change."""
    named = [items[-1] for name, items in situation.written.items() if catalogue()[name].change == "mount"]
    if named:
        yield LintMatch(("remount",), {"items": _quoted_list(named)})


def _remount_both(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a remount that specifies both share and mount point."""
    context = situation.context
    if context.share and context.mount_point:
        yield LintMatch(("remount",), {"share": context.share, "point": context.mount_point})


def _overridden_by_user(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match exec, suid and dev before user, users, owner or group, which imply their negations."""
    items = list(situation.options)
    user = situation.written.get("user", [""])[-1]
    if user in {"", "nouser"}:
        return
    early = [item for item in items[: items.index(user)] if item in {"exec", "suid", "dev"}]
    if early:
        names = tuple(catalogue().read_item(item)[1] for item in early)
        yield LintMatch((*names, "user"), {"item": early[0], "user": user}, Fix(names, tuple(early)))


def _context_comma(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match an unquoted security context whose categories are cut off at a comma."""
    items = list(situation.options)
    for before, item in itertools.pairwise(items):
        name, equals, label = before.partition("=")
        if equals and name in _CONTEXTS and '"' not in label and _CATEGORY.fullmatch(item):
            yield LintMatch((name,), {"item": before, "rest": item, "name": name})


_CONTEXTS = frozenset({"context", "fscontext", "defcontext", "rootcontext"})
#: An SELinux category (c0), or a range of them (c0.c1023).
_CATEGORY = re.compile(r"c[0-9]+(?:\.c[0-9]+)?")


def _empty_option(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match an empty option between two commas."""
    items = list(situation.options)
    if len(items) > 1 and "" in items:
        yield LintMatch((), {})


def _newer_than_kernel(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match options of a later kernel release, unless this kernel is known to support them anyway."""
    yield from _newer_options(situation, answers={None})


def _not_in_kernel(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match options of a later kernel release that this kernel has rejected as unknown."""
    yield from _newer_options(situation, answers={False})


def _newer_options(situation: LintInput, answers: set[bool | None]) -> Iterator[LintMatch]:
    """Match options newer than the kernel whose support is in ``answers``; None stands for unknown."""
    facts = situation.facts
    release = facts.client.kernel if facts is not None else ""
    supported = (
        facts.prerequisites.kernel_options if facts is not None and facts.prerequisites is not None else {}
    )
    for name in situation.written:
        option = catalogue()[name]
        if option.newer_than(release) and supported.get(name) in answers:
            yield LintMatch((name,), {"name": name, "since": option.since, "kernel": release}, Fix((name,)))
        since = option.newer_values(release).get(situation.values[name])
        item = situation.written[name][-1]
        word = option.word_for(situation.values[name]) or item
        if since and supported.get(word) in answers:
            yield LintMatch((name,), {"name": item, "since": since, "kernel": release}, Fix((name,)))


def _clock_skew(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a clock difference to the server that Kerberos does not accept."""
    server = situation.facts.server if situation.facts is not None else None
    offset_s = server.clock_ahead_s if server is not None else None
    if offset_s is not None and abs(offset_s) > CLOCK_SKEW_S:
        yield LintMatch(("sec",), {"seconds": f"{abs(offset_s):.0f}"})


def _no_reverse_name(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a server given by address or short name whose address has no reverse DNS name."""
    server = situation.facts.server if situation.facts is not None else None
    short = "." not in situation.host
    if server is not None and server.reverse_name == "" and (short or _is_address(situation.host)):
        yield LintMatch(("sec",), {"host": situation.host, "address": server.address or situation.host})


def _empty_value(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a text option with an equals sign but no value."""
    for name, items in situation.written.items():
        item = items[-1]
        option = catalogue()[name]
        if item.endswith("=") and option.kind == "string" and not is_comment(item):
            yield LintMatch((name,), {"item": item}, Fix((name,)))


def _server_by_address(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match a server that the share gives by its address."""
    if _is_address(situation.host):
        server = situation.facts.server if situation.facts is not None else None
        name = server.reverse_name if server is not None else None
        yield LintMatch(rule.options, {"host": situation.host, "known": f": {name}" if name else ""})


def _is_address(host: str) -> bool:
    return _address(host) is not None


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address in a text, which may have a zone; None for other texts."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


LINT_CHECKS: dict[str, Callable[[LintInput, LintRule], Iterator[LintMatch]]] = {
    **ENTRY_CHECKS,
    **SYSTEMD_CHECKS,
    "whole": _conditions_only,
    "written": _written_items,
    "given": _given_options,
    "switched-on": _switched_on,
    "number": _numbers_in_range,
    "rounded": _rounded_sizes,
    "ineffective": _ineffective_options,
    "unknown": _unknown_options,
    "foreign": _foreign_options,
    "bad-value": _bad_values,
    "octal": _octal_numbers,
    "different": _conflicting_values,
    "repeated": _repeated_values,
    "twice": _given_twice,
    "order": _attribute_time_order,
    "actimeo": _actimeo_with_single_times,
    "family": _address_family,
    "taken": _other_nconnect,
    "overruled-lock": _overruled_lock,
    "soft-timer": _short_soft_timeout,
    "soft-endless": _long_soft_timeout,
    "empty-value": _empty_value,
    "long-times": _long_attribute_times,
    "no-times": _zero_attribute_times,
    "noac-times": _noac_with_times,
    "mixed-flavors": _mixed_flavors,
    "flavor-gone": _obsolete_flavor,
    "flavor-none": _anonymous_flavor,
    "families": _mixed_address_families,
    "callback-address": _callback_address,
    "client-family": _client_family,
    "mount-host": _mount_host,
    "service-port": _other_service_port,
    "cache-tag": _cache_tag,
    "value-after-comma": _value_after_comma,
    "context-form": _context_form,
    "in-force": _items_in_force,
    "remount": _not_remountable,
    "remount-both": _remount_both,
    "context-comma": _context_comma,
    "user-order": _overridden_by_user,
    "empty-option": _empty_option,
    "newer-than-kernel": _newer_than_kernel,
    "not-in-kernel": _not_in_kernel,
    "clock": _clock_skew,
    "no-name": _no_reverse_name,
    "by-address": _server_by_address,
}


def _template_values(situation: LintInput, name: str) -> dict[str, str]:
    """Return the values for placeholders in the rules' texts, for an option that is present."""
    value = situation.values[name]
    items = situation.written.get(name)
    words = {"name": name, "value": value, "item": items[-1] if items else name}
    words["versions"] = "4" if len(situation.versions) == 3 else " or ".join(sorted(situation.versions))
    number = kernel_number(value)
    if number is not None:
        words |= {"number": str(number), "seconds": f"{number / 10:g}"}
        words["rounded"] = str(rounded_io_size(number, situation.values.get("proto", "tcp")))
    return words


def _quoted_list(items: Iterable[str]) -> str:
    return " and ".join(f"“{item}”" for item in items)


def _first_problems(situation: LintInput, codes: set[str]) -> list[OptionProblem]:
    """Return the problems with these codes, the first one of each option."""
    return list({p.name: p for p in reversed(situation.problems) if p.code in codes}.values())[::-1]


def _corrected_spelling(situation: LintInput, problem: OptionProblem) -> Fix | None:
    """Return the fix that corrects an option's name to the closest known spelling, or None."""
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


def _is_unusual_number(value: str) -> bool:
    """Whether a value is a hexadecimal number, or one with a leading 0, which _octal_numbers reports."""
    return _has_leading_zero(value) or (value[:2] in {"0x", "0X"} and kernel_number(value) is not None)
