"""Prerequisites of Kerberos, TLS, RDMA and new options, and the findings when they are missing."""

import struct
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from advisor.facts import ClientFacts, Facts, PrerequisiteFacts
from advisor.lint import LintContext, prerequisite_findings
from advisor.options import MountOptions
from app.errors import ErrorKind
from app.facts import missing_prerequisites as checks
from app.facts import prerequisites
from app.kernel import fsconfig
from app.kernel.netlink import has_generic_family, parse_family_presence
from app.mounts.findings import finding_text, lint_mount, merge_findings, refusal_error
from app.process import ProcessOutcome

OLD = Facts(
    client=ClientFacts(kernel="6.1.0"), prerequisites=PrerequisiteFacts(kernel_options={"xprtsec": False})
)


def keytab(*names: str, hole: int = 0) -> bytes:
    """Return a keytab of format version 2, with a deleted entry of ``hole`` bytes at the beginning."""
    data = b"\x05\x02"
    if hole:
        data += struct.pack(">i", -hole) + bytes(hole)
    for name in names:
        parts = ["EXAMPLE.ORG", *name.split("/")]
        entry = struct.pack(">H", len(parts) - 1)
        entry += b"".join(struct.pack(">H", len(part)) + part.encode() for part in parts)
        entry += struct.pack(">IIBHH", 1, 0, 1, 18, 4) + b"keys"
        data += struct.pack(">i", len(entry)) + entry
    return data


def put(root: Path, relative_path: str, content: bytes = b"") -> None:
    path = root / relative_path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("content", "there", "usable"),
    [
        (None, False, None),
        (b"", False, None),
        (b"\x05\x02", False, None),
        (keytab("nfs/here.example.org"), True, True),
        (keytab("HTTP/www.example.org", "HERE$"), True, True),
        (keytab("HTTP/www.example.org", "ann", hole=40), True, False),
        (keytab("host/here", hole=3), True, True),
        (keytab("nfs/here")[:-15], True, True),
        (keytab("nfs/here")[:9], True, False),
        (b"\x05\x01" + bytes(30), True, None),
        (b"\x05\x02\x7f\xff\xff\xff\xff\xff", True, False),
    ],
)
def test_a_keytab(tmp_path: Path, content: bytes | None, there: bool, usable: bool | None) -> None:
    if content is not None:
        put(tmp_path, "etc/krb5.keytab", content)
    assert prerequisites.read_keytab(str(tmp_path))[:2] == (there, usable)


@pytest.mark.parametrize(
    ("path", "text"),
    [("etc/nfs.conf", "[gssd]\nkeytab-file=/srv/k\n"), ("etc/krb5.conf.d/x", " default_keytab_name = /k\n")],
)
def test_a_keytab_at_another_path_is_not_reported_missing(tmp_path: Path, path: str, text: str) -> None:
    put(tmp_path, path, text.encode())
    assert prerequisites.read_keytab(str(tmp_path)) == (None, None, f"/{path} names another one")


def test_the_services_that_run(tmp_path: Path) -> None:
    assert prerequisites.running_services(str(tmp_path)) is None  # /proc hides them
    put(tmp_path, "proc/1/comm", b"init\n")
    put(tmp_path, "proc/33/comm", b"rpc.gssd\n")
    (tmp_path / "proc/self").mkdir()
    assert prerequisites.running_services(str(tmp_path)) == {"init", "rpc.gssd"}


def test_a_module_is_loaded_or_listed_or_missing_or_unknown(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert prerequisites.has_module("rpcrdma", "6.1", root) is None
    listed = b"kernel/net/sunrpc/xprtrdma/rpcrdma.ko.xz: kernel/net/sunrpc/sunrpc.ko\nkernel/a-b.ko:\n"
    put(tmp_path, "lib/modules/6.1/modules.dep", listed)
    put(tmp_path, "lib/modules/6.1/modules.builtin", b"kernel/net/tls/tls.ko\n")
    assert prerequisites.has_module("rpcrdma", "6.1", root) is True
    assert prerequisites.has_module("a_b", "6.1", root) is True
    assert prerequisites.has_module("tls", "6.1", root) is True
    assert prerequisites.has_module("sunrpc", "6.1", root) is False
    (tmp_path / "sys/module/sunrpc").mkdir(parents=True)
    assert prerequisites.has_module("sunrpc", "6.1", root) is True


@pytest.mark.parametrize(
    ("outcome", "uid", "answer"),
    [
        (ProcessOutcome(("k",), 0, "", ""), 1000, True),
        (ProcessOutcome(("k",), 1, "", ""), 1000, False),
        (ProcessOutcome(("k",), None, "", ""), 1000, None),
        (ProcessOutcome(("k",), 1, "", ""), 0, None),
    ],
)
def test_a_ticket_is_the_persons(
    monkeypatch: pytest.MonkeyPatch, outcome: ProcessOutcome, uid: int, answer: bool | None
) -> None:
    given: list[dict[str, str]] = []

    def run(_argv: list[str], *, timeout: float, env: dict[str, str]) -> ProcessOutcome:
        assert timeout <= 1
        given.append(env)
        return outcome

    monkeypatch.setattr(prerequisites, "find_program", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(prerequisites, "run", run)
    monkeypatch.setattr("os.geteuid", lambda: uid)
    monkeypatch.setenv("KRB5CCNAME", "KEYRING:x")
    assert prerequisites._ticket()[0] is answer
    assert given == ([] if uid == 0 else [{"KRB5CCNAME": "KEYRING:x"}])


def test_every_prerequisite_has_a_source() -> None:
    facts = prerequisites.prerequisite_facts()
    names = {field.name for field in fields(PrerequisiteFacts)} - {"sources"}
    assert set(facts.sources) == names
    assert all(facts.sources.values())


def test_the_kernel_reports_its_generic_netlink_families() -> None:
    assert has_generic_family("nlctrl") is True
    assert has_generic_family("mountwright") is False
    for message in (b"", bytes(7), bytes(16), struct.pack("=IHHII", 20, 2, 0, 1, 0)):
        assert parse_family_presence(message) is None


def test_only_options_newer_than_the_release_are_queried(monkeypatch: pytest.MonkeyPatch) -> None:
    queried: list[Any] = []

    def answer(questions: Any) -> dict[str, bool]:
        queried.extend(questions)
        return {"alignwrite": False, "rdirplus": False}

    monkeypatch.setattr(prerequisites, "_kernel_options", answer)
    known = prerequisites.newer_options("6.5.0-1-amd64")
    assert known == {"alignwrite": False, "rdirplus=force": False}
    assert ("rdirplus", "force") in queried
    assert ("xprtsec", "none") not in queried
    assert ("alignwrite", "") in queried
    assert prerequisites.newer_options("99.0") == {}
    queried.clear()
    prerequisites.newer_options("6.1.0")
    assert ("xprtsec", "none") in queried


def test_a_kernel_that_cannot_be_queried_gives_no_result() -> None:
    # The kernel may lack the NFS client or forbid user namespaces; then the result is empty.
    assert prerequisites._query_kernel((("nconnect", "4"),)) in ({}, {"nconnect": True})
    with pytest.raises(OSError, match="fsopen"):
        fsconfig.known_options([], "no-such-file-system")


def test_a_query_that_timed_out_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [None, {"alignwrite": False}]
    monkeypatch.setattr(prerequisites, "_answers", {})
    monkeypatch.setattr(prerequisites, "_query_kernel", lambda _queries: answers.pop(0))
    assert prerequisites.newer_options("6.5.0") == {}
    assert prerequisites.newer_options("6.5.0") == {"alignwrite": False}
    assert prerequisites.newer_options("6.5.0") == {"alignwrite": False}


# Before a mount


def test_a_mount_without_prerequisites_gathers_no_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    def gather(*_args: object, **_kwargs: object) -> Any:
        raise AssertionError("something was looked at")

    for name in ("client_facts", "gather_facts", "prerequisite_facts"):
        monkeypatch.setattr(checks, name, gather)
    assert checks.missing_prerequisites("nas:/a", "/mnt/a", "vers=4.2,soft,rsize=65536,_netdev,sec=sys") == []


def test_only_kerberos_queries_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    queried: list[str] = []

    def gather(share: str) -> Facts:
        queried.append(share)
        return Facts(client=ClientFacts(), prerequisites=PrerequisiteFacts(gssd_running=False))

    monkeypatch.setattr(checks, "gather_facts", gather)
    monkeypatch.setattr(checks, "client_facts", lambda: ClientFacts(kernel="6.1.0"))
    monkeypatch.setattr(
        checks, "prerequisite_facts", lambda: PrerequisiteFacts(rdma_module=True, rdma_device=False)
    )
    found = checks.missing_prerequisites("nas.example:/a", "/mnt/a", "sec=krb5p")
    assert [finding.rule for finding in found] == ["kerberos-gssd-not-running"]
    assert queried == ["nas.example:/a"]
    found = checks.missing_prerequisites("nas.example:/a", "/mnt/a", "rdma")
    assert [finding.rule for finding in found] == ["rdma-no-device"]
    assert queried == ["nas.example:/a"]


def test_prerequisites_that_timed_out_are_gathered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "gather_facts", lambda _share: Facts(client=ClientFacts()))
    monkeypatch.setattr(checks, "prerequisite_facts", lambda: PrerequisiteFacts(keytab=False))
    found = checks.missing_prerequisites("nas.example:/a", "/mnt/a", "sec=krb5")
    assert [finding.rule for finding in found] == ["kerberos-no-keytab"]


def test_an_option_missing_in_the_kernel_is_an_error_with_a_hint() -> None:
    options = "ro,xprtsec=tls"
    found = prerequisite_findings(MountOptions.parse(options), context=LintContext(), facts=OLD)
    error = refusal_error(found, options)
    assert error is not None
    assert error.kind is ErrorKind.OPTION_REJECTED
    assert "came with Linux 6.5, and this is 6.1.0" in error.message
    assert "“ro”" in error.hint
    assert error.detail.splitlines()[0] == "option-not-in-kernel"
    assert finding_text(found[0]).splitlines()[-1] == "uname -r"


def test_uncertain_findings_do_not_refuse_a_mount() -> None:
    facts = Facts(client=ClientFacts(), prerequisites=PrerequisiteFacts(keytab=False, gssd_running=False))
    found = prerequisite_findings(MountOptions.parse("sec=krb5"), context=LintContext(), facts=facts)
    assert len(found) == 2
    assert refusal_error(found, "sec=krb5") is None


def test_merged_findings_have_no_duplicates() -> None:
    options = MountOptions.parse("sec=krb5,soft")
    context = LintContext(share="192.0.2.7:/a", mount_point="/mnt/a")
    lacking = prerequisite_findings(options, context=context, facts=None)
    risky = lint_mount(options, saved=True, share="192.0.2.7:/a", mount_point="/mnt/a")
    rules = [finding.rule for finding in merge_findings(lacking, risky)]
    assert rules.count("kerberos-by-address") == 1
    assert "soft-rw" in rules
