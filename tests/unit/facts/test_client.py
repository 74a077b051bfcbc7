"""Client facts: values and sources."""

from dataclasses import fields
from pathlib import Path

import pytest

from advisor.facts import ClientFacts, Facts, LinkFacts
from app.cli.text import facts_text
from app.facts import client
from app.process import ProcessOutcome


def put(root: Path, relative_path: str, content: bytes) -> None:
    path = root / relative_path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_every_field_has_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "run", lambda argv, **_kw: ProcessOutcome(tuple(argv), 1, "", ""))
    facts = client.client_facts()
    assert set(facts.sources) == {field.name for field in fields(ClientFacts)} - {"sources"}
    assert facts.memory_bytes
    assert facts.hostname


@pytest.mark.parametrize(
    ("outcome", "version", "words"),
    [
        (ProcessOutcome(("x",), 0, "mount.nfs: (linux nfs-utils 2.6.2)\n", ""), "2.6.2", "mount.nfs -V"),
        (
            ProcessOutcome(("x",), 0, "", "mount.nfs: (linux nfs-utils 2.8.3-rc1)\n"),
            "2.8.3-rc1",
            "mount.nfs -V",
        ),
        (ProcessOutcome(("x",), None, "", ""), None, "did not answer"),
        (ProcessOutcome(("x",), 1, "help!", ""), None, "not understood"),
    ],
)
def test_the_version_of_mount_nfs(
    monkeypatch: pytest.MonkeyPatch, outcome: ProcessOutcome, version: str | None, words: str
) -> None:
    monkeypatch.setattr(client, "find_program", lambda _name: "/sbin/mount.nfs")
    monkeypatch.setattr(client, "run", lambda _argv, **_kw: outcome)
    facts = client.client_facts()
    assert facts.nfs_utils == version
    assert words in facts.sources["nfs_utils"]


def test_without_mount_nfs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "find_program", lambda _name: None)
    facts = client.client_facts()
    assert not facts.mount_nfs
    assert facts.nfs_utils is None
    assert "not installed" in facts.sources["nfs_utils"]


def test_settings_of_nfsmount_conf_are_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "find_program", lambda _name: None)
    assert client.client_facts(str(tmp_path)).nfsmount_conf == ()
    put(tmp_path, "etc/nfsmount.conf", b"[ NFSMount_Global_Options ]\nSoft=True\n")
    assert client.client_facts(str(tmp_path)).nfsmount_conf == ("soft (/etc/nfsmount.conf, line 2)",)


def test_lost_packets_are_shown_in_percent() -> None:
    text = facts_text(Facts(client=ClientFacts(), link=LinkFacts(loss=1e-5, sources={"loss": "netem"})))
    assert "0.001%" in text
