"""Server facts known without a query: mounts, implementation ID and kind."""

from pathlib import Path

from advisor.facts import ServerFacts
from app.facts.interface import radio_rate_bps, receive_ring
from app.facts.server import ServerMounts, server_mounts, with_identity

_STATS = """device nas01:/export mounted on /srv/data with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576
\tage:\t7
\timpl_id:\tname='Linux 6.1.0-13 #1 SMP',domain='kernel.org',date='0,0'
device other:/export mounted on /srv/other with fstype nfs statvers=1.1
\topts:\trw,vers=3
\tage:\t7
"""


def test_mounts_of_a_server(tmp_path: Path) -> None:
    folder = tmp_path / "proc/self"
    folder.mkdir(parents=True)
    (folder / "mountstats").write_text(_STATS, encoding="ascii")
    (folder / "mountinfo").write_text(
        "30 1 0:40 / /srv/data rw - nfs4 nas01:/export rw,vers=4.2,addr=10.0.0.7\n", encoding="ascii"
    )
    found = server_mounts("nas01", root=str(tmp_path))
    assert found == ServerMounts(("/srv/data",), "Linux 6.1.0-13 #1 SMP, kernel.org")
    assert server_mounts("nas02", root=str(tmp_path)) == ServerMounts((), "")
    assert server_mounts("nas01.example.org", "10.0.0.7", str(tmp_path)) == found
    assert server_mounts("nas02", "10.0.0.8", str(tmp_path)) == ServerMounts((), "")


def test_a_server_identified_by_its_implementation_id() -> None:
    known = with_identity(
        ServerFacts(name="nas01"), "/export", ServerMounts(("/srv",), "Linux 6.1, kernel.org")
    )
    assert (known.kind, known.implementation) == ("linux", "Linux 6.1, kernel.org")
    assert known.sources["kind"] == "what it calls itself"


def test_an_unidentified_server() -> None:
    known = with_identity(ServerFacts(name="nas01"), "/export", ServerMounts((), ""))
    assert (known.kind, known.implementation) == (None, None)
    assert "NFS 4.1" in known.sources["implementation"]


def test_a_server_identified_by_its_rpc_services() -> None:
    ports = {"mountd": 635, "nlockmgr": 4045, "status": 4046, "rquotad": 4049, "nfs": 2049}
    known = with_identity(ServerFacts(name="nas01"), "/export", ServerMounts((), ""), ports)
    assert known.kind == "ontap"
    assert known.sources["kind"] == "the ports of its RPC services"


def test_the_loopback_has_no_ring_and_no_radio() -> None:
    assert receive_ring("lo") is None
    assert radio_rate_bps("lo") is None
    assert receive_ring("nothing0") is None
