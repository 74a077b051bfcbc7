"""Lint: one case per rule, entries without findings, and properties for random options."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.catalogue import catalogue
from advisor.facts import ClientFacts, Facts, LinkFacts, PrerequisiteFacts, ServerFacts
from advisor.finding import Finding
from advisor.lint import SEVERITIES, LintContext, apply_fix, lint, prerequisite_findings
from advisor.lint_checks import LINT_CHECKS
from advisor.lint_rules import lint_rules
from advisor.options import MountOptions
from resources import read_toml

MADE_NOW = LintContext()
FSTAB = LintContext(fstab=True, share="nas01:/export/home", mount_point="/mnt/home")
NFS4 = LintContext(fstab=True, share="nas01:/", mount_point="/mnt", fstype="nfs4")
IPV6 = LintContext(share="[2001:db8::1]:/export")
IPV4 = LintContext(share="192.0.2.7:/export")
NO_UDP = Facts(client=ClientFacts(kernel="6.1.0-18-amd64", udp=False))
OLD_KERNEL = Facts(client=ClientFacts(kernel="4.19.0", udp=True))
GIGABIT = Facts(client=ClientFacts(udp=True), link=LinkFacts(rate_bps=1e9))
HUNDRED_MEGABIT = Facts(client=ClientFacts(udp=True), link=LinkFacts(rate_bps=1e8))
TEN_MEGABIT = Facts(client=ClientFacts(udp=True), link=LinkFacts(rate_bps=1e7))
SLOW = Facts(client=ClientFacts(), link=LinkFacts(rate_bps=1e7))
TWO = LintContext(connections={"4.2": 2})


def needs(**known: Any) -> Facts:
    """Return facts with these prerequisites, on a kernel without xprtsec."""
    kernel = "6.1.0" if "kernel_options" in known else "6.12.0"
    return Facts(client=ClientFacts(kernel=kernel), prerequisites=PrerequisiteFacts(**known))


def server(**known: Any) -> Facts:
    return Facts(client=ClientFacts(), server=ServerFacts(name="nas", address="192.0.2.7", **known))


#: rule, options with the mistake, context, facts, options without the mistake
CASES = [
    ("unknown-option", "ro,nconect=4", MADE_NOW, None, "ro,nconnect=4"),
    ("foreign-option", "ro,uid=5", MADE_NOW, None, None),
    ("bad-value", "rsize=64k", MADE_NOW, None, "rsize=65536"),
    ("version-2", "nfsvers=2", MADE_NOW, None, "nfsvers=3"),
    ("version-twice", "vers=3,nfsvers=4.2", MADE_NOW, None, "nfsvers=4.2"),
    ("minorversion-on-v3", "vers=3,minorversion=1", MADE_NOW, None, "vers=3"),
    ("minorversion-alone", "minorversion=1", MADE_NOW, None, "vers=4.1"),
    ("migration-version", "vers=4.1,migration", MADE_NOW, None, "vers=4.1"),
    ("mountd-on-v4", "vers=4.2,mountport=635", MADE_NOW, None, "vers=4.2"),
    ("address-family", "proto=tcp", IPV6, None, "proto=tcp6"),
    ("address-family", "proto=tcp6", IPV4, None, "proto=tcp"),
    ("soft-rw", "rw,soft", MADE_NOW, None, "rw,hard"),
    ("soft-rw", "softerr", MADE_NOW, None, "hard"),
    ("nosharecache", "nosharecache", MADE_NOW, None, ""),
    ("nolock-v4", "vers=4.1,nolock", MADE_NOW, None, "vers=4.1"),
    ("nolock-v4", "_netdev,nofail,nolock", NFS4, None, "_netdev,nofail"),
    ("local-lock-overruled", "lock,local_lock=flock", MADE_NOW, None, "lock"),
    ("udp-on-v4", "vers=4,udp", MADE_NOW, NO_UDP, "vers=4"),
    ("udp-not-in-kernel", "vers=3,udp", MADE_NOW, NO_UDP, "vers=3"),
    ("udp-fast-link", "proto=udp", MADE_NOW, GIGABIT, ""),
    ("udp-below-gigabit", "proto=udp", MADE_NOW, HUNDRED_MEGABIT, ""),
    ("udp", "proto=udp", MADE_NOW, None, ""),
    ("udp-large-requests", "vers=3,udp,wsize=32768", MADE_NOW, TEN_MEGABIT, "vers=3,udp,wsize=8192"),
    ("contradiction", "hard,ro,soft", MADE_NOW, None, "ro,soft"),
    ("contradiction", "resvport,noresvport", MADE_NOW, None, "noresvport"),
    ("contradiction", "timeo=100,timeo=600", MADE_NOW, None, "timeo=600"),
    ("repeated", "tcp,ro,proto=tcp", MADE_NOW, None, "ro,proto=tcp"),
    ("attribute-times-mixed", "actimeo=60,acdirmin=10", MADE_NOW, None,
     "acdirmin=10,acregmin=60,acregmax=60,acdirmax=60"),
    ("attribute-times-mixed", "acregmin=3,actimeo=60", MADE_NOW, None, "actimeo=60"),
    ("attribute-times-order", "acregmin=120", MADE_NOW, None, "acregmin=120,acregmax=120"),
    ("attribute-times-order", "acdirmax=5,acdirmin=10", MADE_NOW, None, "acdirmin=10,acdirmax=10"),
    ("noac-times", "noac,actimeo=30", MADE_NOW, None, "noac"),
    ("noac-async", "noac,async", MADE_NOW, None, "noac"),
    ("noac-price", "noac", MADE_NOW, None, "actimeo=0"),
    ("sync", "rw,sync", MADE_NOW, None, "rw"),
    ("timeo-seconds", "timeo=60", MADE_NOW, None, "timeo=600"),
    ("timeo-limit", "timeo=9000", MADE_NOW, None, "timeo=6000"),
    ("retry-minutes", "retry=10000", MADE_NOW, None, ""),
    ("retry-minutes", "retry=30,ro", MADE_NOW, None, "ro"),
    ("size-below-1024", "rsize=32", MADE_NOW, None, ""),
    ("size-rounded", "wsize=100000", MADE_NOW, None, "wsize=98304"),
    ("size-above-limit", "rsize=4194304", MADE_NOW, None, "rsize=1048576"),
    ("size-of-old-guides", "rsize=8192", MADE_NOW, None, ""),
    ("octal", "timeo=0600", MADE_NOW, None, "timeo=600"),
    ("nconnect-taken", "nconnect=8", TWO, None, None),
    ("option-newer-than-kernel", "nconnect=8", MADE_NOW, OLD_KERNEL, ""),
    ("option-newer-than-kernel", "xprtsec=tls", MADE_NOW, NO_UDP, ""),
    ("option-newer-than-kernel", "ro,softerr", MADE_NOW, OLD_KERNEL, "ro"),
    ("option-not-in-kernel", "rdirplus=force", MADE_NOW, needs(kernel_options={"rdirplus=force": False}), ""),
    ("option-not-in-kernel", "xprtsec=tls,ro", MADE_NOW, needs(kernel_options={"xprtsec": False}), "ro"),
    ("kerberos-module-missing", "sec=krb5p", MADE_NOW, needs(gss_module=False), None),
    ("kerberos-gssd-not-installed", "sec=krb5", MADE_NOW,
     needs(gssd_running=False, gssd_installed=False), None),
    ("kerberos-gssd-not-running", "sec=krb5:krb5i", MADE_NOW, needs(gssd_running=False), None),
    ("kerberos-no-pipefs", "sec=krb5", MADE_NOW, needs(pipefs=False), None),
    ("kerberos-no-keytab", "sec=krb5", MADE_NOW, needs(keytab=False), None),
    ("kerberos-keytab-without-key", "sec=krb5", MADE_NOW, needs(keytab=True, keytab_usable=False), None),
    ("kerberos-no-ticket", "sec=krb5", MADE_NOW, needs(ticket=False), None),
    ("kerberos-clock", "sec=krb5", MADE_NOW, server(clock_ahead_s=-301.0), None),
    ("kerberos-no-name", "sec=krb5", IPV4, server(reverse_name=""), None),
    ("kerberos-by-address", "sec=krb5", IPV6, server(reverse_name="nas.example"), None),
    ("kerberos-by-address", "sec=krb5", IPV4, None, None),
    ("kerberos-no-name", "sec=krb5", FSTAB, server(reverse_name=""), None),
    ("tls-not-in-kernel", "xprtsec=mtls", MADE_NOW, needs(tls_kernel=False), ""),
    ("tls-tlshd-not-installed", "xprtsec=tls", MADE_NOW,
     needs(tlshd_running=False, tlshd_installed=False), None),
    ("tls-tlshd-not-running", "xprtsec=tls", MADE_NOW, needs(tlshd_running=False), None),
    ("rdma-not-in-kernel", "rdma", MADE_NOW, needs(rdma_module=False, rdma_device=False), ""),
    ("rdma-no-device", "proto=rdma6,ro", MADE_NOW, needs(rdma_device=False), "ro"),
    ("cache-not-installed", "fsc,ro", MADE_NOW,
     needs(cachefilesd_running=False, cachefilesd_installed=False), "ro"),
    ("cache-not-running", "fsc=tag", MADE_NOW, needs(cachefilesd_running=False), None),
    ("context-comma", "context=u:object_r:nfs_t:s0:c1,c2", MADE_NOW, None, None),
    ("option-newer-than-kernel", "lookupcache=none", MADE_NOW,
     Facts(client=ClientFacts(kernel="2.6.18-398.el5")), ""),
    ("option-newer-than-kernel", "vers=4.2,ro", MADE_NOW, Facts(client=ClientFacts(kernel="3.2.0")), "ro"),
    ("option-newer-than-kernel", "vers=4,minorversion=1", MADE_NOW,
     Facts(client=ClientFacts(kernel="2.6.32-754.el6")), "vers=4"),
    ("device-words", "x-systemd.growfs,nofail", FSTAB, None, "nofail"),
    ("device-words", "x-systemd.device-timeout=9,nofail", FSTAB, None, "nofail"),
    ("intr", "ro,nointr", MADE_NOW, None, "ro"),
    ("posix", "posix", MADE_NOW, None, ""),
    ("atime", "noatime,nodiratime", MADE_NOW, None, ""),
    ("pasted-address", "addr=192.0.2.7", MADE_NOW, None, ""),
    ("default-lock-v4", "vers=4.2,local_lock=none", MADE_NOW, None, "vers=4.2"),
    ("without-effect", "vers=4.2,noacl", MADE_NOW, None, "vers=4.2"),
    ("without-effect", "vers=3,max_connect=4", MADE_NOW, None, "vers=3"),
    ("sloppy", "sloppy", MADE_NOW, None, ""),
    ("no-nofail", "_netdev", FSTAB, None, "_netdev,nofail"),
    ("no-netdev", "nofail", FSTAB, None, "nofail,_netdev"),
    ("bg-automount", "bg,x-systemd.automount", FSTAB, None, "x-systemd.automount"),
    ("bg-needed-at-boot", "bg,_netdev", replace(FSTAB, mount_point="/usr"), None, "_netdev"),
    ("bg-systemd", "bg,_netdev", FSTAB, None, "bg,_netdev,nofail"),
    ("idle-without-automount", "_netdev,nofail,x-systemd.idle-timeout=60", FSTAB, None, "_netdev,nofail"),
    ("type-nfs4", "_netdev,nofail", NFS4, None, None),
]  # fmt: skip

#: Correct entries, which must have no findings.
SANE = [
    "_netdev,nofail",
    "_netdev,nofail,hard",
    "defaults,_netdev,nofail",
    "rw,hard,vers=4.2,_netdev,nofail",
    "ro,soft,timeo=100,retrans=3,_netdev,nofail",
    "rw,vers=3,proto=tcp,hard,timeo=600,retrans=2,_netdev,nofail",
    "vers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport,_netdev,nofail",
    "vers=4.1,rsize=262144,wsize=262144,hard,nconnect=8,sec=sys,_netdev,nofail",
    "noauto,x-systemd.automount,x-systemd.idle-timeout=10min,x-systemd.mount-timeout=30s,_netdev",
    "noauto,user,vers=4.2",
    "vers=3,ro,nolock,proto=tcp,_netdev,nofail",
    "vers=4.2,sec=krb5p,_netdev,nofail",
    "vers=4.2,xprtsec=tls,_netdev,nofail",
    "rw,nosuid,nodev,noexec,_netdev,nofail",
    "vers=4.2,nocto,actimeo=600,_netdev,nofail,ro",
    "vers=3,rsize=32768,wsize=32768,bg,hard,tcp,timeo=600,actimeo=0,nofail,_netdev",
    'context="system_u:object_r:nfs_t:s0:c1,c2",_netdev,nofail',
    "vers=3,mountport=635,port=2049,mountproto=tcp,_netdev,nofail",
    "x-systemd.automount,x-systemd.requires=wg-quick@wg0.service,x-systemd.requires=tor.service,_netdev",
    "proto=rdma,port=20049,vers=4.2,_netdev,nofail",
    "vers=4.2,lookupcache=pos,nordirplus,fsc,_netdev,nofail",
    "hard,nofail,_netdev,x-systemd.mount-timeout=60,retry=1,comment=backup,x-gvfs-show",
]


def ids(text: str, context: LintContext, facts: Facts | None = None) -> list[str]:
    return [finding.rule for finding in lint(MountOptions.parse(text), context=context, facts=facts)]


def the_finding(rule: str, text: str, context: LintContext, facts: Facts | None) -> Finding:
    findings = lint(MountOptions.parse(text), context=context, facts=facts)
    return next(finding for finding in findings if finding.rule == rule)


@pytest.mark.parametrize(("rule", "text", "context", "facts", "fixed"), CASES)
def test_a_rule_fires_on_its_case_and_its_fix_takes_it_away(
    rule: str, text: str, context: LintContext, facts: Facts | None, fixed: str | None
) -> None:
    finding = the_finding(rule, text, context, facts)
    assert finding.source
    for sentence in (finding.title, finding.why):
        assert sentence.endswith((".", "?", "”."))
        assert "{" not in sentence
    assert all(
        catalogue().find(name) or rule in {"unknown-option", "foreign-option"} for name in finding.options
    )
    if fixed is None:
        assert finding.fix is None
        return
    after = apply_fix(MountOptions.parse(text), finding)
    assert str(after) == fixed
    assert rule not in ids(fixed, context, facts)


def test_every_rule_has_a_case() -> None:
    others = {
        **read_toml("rules/lint-entry.toml")["rule"],
        **read_toml("rules/lint-combinations.toml")["rule"],
    }
    assert {case[0] for case in CASES} == set(lint_rules()) - set(others)


def test_rules_name_finders_options_and_rules_that_exist() -> None:
    for rule in lint_rules().values():
        assert rule.find in LINT_CHECKS
        assert all(name in {option.name for option in catalogue()} for name in rule.options)
        assert set(rule.unless) <= set(lint_rules())
        for pattern in (*rule.when.any, *rule.when.one_of, *rule.when.all, *rule.when.none):
            assert catalogue().find(pattern.partition("=")[0]) is not None
        assert set(rule.when.versions) <= {"3", "4.0", "4.1", "4.2"}
        assert set(rule.when.missing) <= {field.name for field in fields(PrerequisiteFacts)}
        assert bool(rule.before_mount) <= bool(rule.mend)
        assert rule.before_mount != "refuse" or rule.severity == "error"


def test_the_entry_that_the_program_itself_makes_is_clean() -> None:
    for text in ("_netdev,nofail", "hard,_netdev,nofail"):
        assert ids(text, FSTAB) == []
        assert ids(text, FSTAB, NO_UDP) == []


@pytest.mark.parametrize("text", SANE)
def test_sane_entries_are_clean(text: str) -> None:
    assert ids(text, FSTAB) in ([], ["attributes-never-kept"])


@pytest.mark.parametrize(
    ("text", "facts"),
    [("proto=udp", Facts(client=ClientFacts())), ("proto=udp", None)],
)
def test_an_unknown_fact_fires_nothing(text: str, facts: Facts | None) -> None:
    assert ids(text, MADE_NOW, facts) == ["udp"]
    assert ids("nconnect=4", MADE_NOW, facts) == []


def test_small_sizes_are_right_for_slow_links_and_for_udp() -> None:
    assert ids("rsize=8192", MADE_NOW, SLOW) == []
    assert ids("rsize=8192,udp,timeo=7", MADE_NOW) == ["udp"]


def test_noac_is_free_of_its_price_where_nothing_is_written() -> None:
    assert ids("noac,ro", MADE_NOW) == ["attributes-never-kept"]  # severity info


def test_the_price_of_noac_has_its_figures() -> None:
    why = the_finding("noac-price", "noac", MADE_NOW, None).why
    assert all(figure in why for figure in ("4 min 1 s", "18.8 s", "20.6 s", "24.4 s", "5.6 s", "6.2 s"))


@pytest.mark.parametrize("text", ["noauto", "x-systemd.automount,noauto", "x-systemd.automount"])
def test_only_a_mount_at_start_up_needs_nofail(text: str) -> None:
    assert ids(text, FSTAB) == []
    assert ids("hard", MADE_NOW) == []


def test_a_root_file_system_on_nfs_must_not_be_optional() -> None:
    assert ids("hard", LintContext(fstab=True, share="nas:/", mount_point="/")) == []


@pytest.mark.parametrize(
    ("text", "connections", "fires"),
    [
        ("nconnect=4", {"4.2": 4}, False),
        ("nconnect=4", {"3": 1}, False),
        ("nconnect=4,vers=3", {"3": 1}, True),
        ("nconnect=4,vers=4.1", {"4.2": 1}, False),
        ("vers=4.2", {"4.2": 1}, False),
        ("nconnect=4", {}, False),
    ],
)
def test_connections_are_fixed_for_each_version(text: str, connections: dict[str, int], fires: bool) -> None:
    assert ("nconnect-taken" in ids(text, LintContext(connections=connections))) is fires


def test_an_option_that_cannot_be_respelled_safely_is_only_named() -> None:
    assert the_finding("unknown-option", "quux", MADE_NOW, None).fix is None
    assert the_finding("unknown-option", "nconect=99", MADE_NOW, None).fix is None
    assert the_finding("unknown-option", "nconect=4,nconnect=2", MADE_NOW, None).fix is None


def test_too_many_connections_become_the_most_that_there_are() -> None:
    fix = the_finding("bad-value", "nconnect=32", MADE_NOW, None).fix
    assert fix is not None
    assert fix.set == ("nconnect=16",)
    assert the_finding("bad-value", "timeo=0", MADE_NOW, None).fix is None


@pytest.mark.parametrize(
    "text", ["sec=sys", "sec=krb5:sys", "xprtsec=none", "proto=tcp", "vers=4.2", "nosharecache"]
)
def test_what_is_not_needed_may_be_missing(text: str) -> None:
    nothing = {field.name: False for field in fields(PrerequisiteFacts) if field.name.islower()}
    facts = needs(**{name: no for name, no in nothing.items() if name not in {"kernel_options", "sources"}})
    assert prerequisite_findings(MountOptions.parse(text), context=IPV4, facts=facts) == []


def test_what_is_not_known_is_no_finding() -> None:
    text = "sec=krb5,xprtsec=tls,proto=rdma,noac"
    for facts in (None, needs(), Facts(client=ClientFacts())):
        assert prerequisite_findings(MountOptions.parse(text), context=FSTAB, facts=facts) == [
            finding
            for finding in lint(MountOptions.parse(text), context=FSTAB, facts=facts)
            if finding.rule == "kerberos-by-address"
        ]


def test_an_option_that_a_distributor_brought_to_an_older_kernel_is_right() -> None:
    assert ids("xprtsec=tls", MADE_NOW, needs(kernel_options={"xprtsec": True})) == []


def test_a_finding_has_what_was_found_and_the_command_that_mends_it() -> None:
    finding = the_finding("kerberos-no-name", "sec=krb5", IPV4, server(reverse_name=""))
    assert finding.values == {"host": "192.0.2.7", "address": "192.0.2.7"}
    assert finding.mend == ("getent hosts 192.0.2.7",)
    assert finding.before_mount == "tell"
    finding = the_finding(
        "option-not-in-kernel", "xprtsec=tls", MADE_NOW, needs(kernel_options={"xprtsec": False})
    )
    assert finding.values == {"name": "xprtsec", "since": "6.5", "kernel": "6.1.0"}
    assert finding.before_mount == "refuse"


def test_errors_come_first() -> None:
    findings = lint(MountOptions.parse("intr,timeo=7,soft,noac"), context=FSTAB)
    places = [SEVERITIES.index(finding.severity) for finding in findings]
    assert places == sorted(places)
    assert len(set(places)) == 3


WORDS = sorted(
    {case[1] for case in CASES}
    | {item for case in CASES for item in case[1].split(",")}
    | {"", "=", '"', 'context="a', "rsize=", "rsize=0", "hard=1", "x=\0", "vers=", "minorversion=x", "proto=",
       "timeo=08", "rsize=0x1000", "nconnect=99999999999999999999999", "{name}", "\udcff", "softreval", "ro",
       "acregmin=010", "acregmax=1"}
)  # fmt: skip
ITEMS = st.one_of(st.sampled_from(WORDS), st.text(max_size=8))
CONTEXTS = st.sampled_from([MADE_NOW, FSTAB, NFS4, IPV6, IPV4, TWO])
FACTS = st.sampled_from([None, NO_UDP, OLD_KERNEL, GIGABIT, SLOW])


@given(st.lists(ITEMS, max_size=8).map(",".join), CONTEXTS, FACTS)
def test_any_options_can_be_judged_and_mended(text: str, context: LintContext, facts: Facts | None) -> None:
    options = MountOptions.parse(text)
    for finding in lint(options, context=context, facts=facts):
        assert finding.title
        after = apply_fix(options, finding)
        assert str(options) == text
        assert apply_fix(after, finding) == after
        if finding.fix is None:
            assert after == options
        else:
            left = [(f.rule, f.options) for f in lint(after, context=context, facts=facts)]
            assert (finding.rule, finding.options) not in left


def test_access_times_are_not_said_to_save_nothing() -> None:
    (finding,) = lint(MountOptions.parse("noatime"), context=MADE_NOW)
    assert "saves hardly anything" in finding.why
