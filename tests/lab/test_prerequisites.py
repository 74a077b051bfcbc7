"""Missing prerequisites of a mount are detected before it is tried, with the guest's kernel."""

from collections.abc import Callable
from typing import Any

import pytest
from copy_tests import POINT
from lab_guest import LabGuest

from advisor.facts import Facts
from app.errors import AppError, ErrorKind
from app.mounts.change_model import ApplyArgs, ApplyPlan, PersistArgs
from app.service.protocol import CheckArgs, CheckResult, FactsArgs, ListArgs, MountArgs


@pytest.fixture
def facts(lab: LabGuest) -> Facts:
    """Return what is known, with what the kernel says of newer options."""
    found: Facts = lab.ask("facts.get", FactsArgs(share=lab.share))

    def whole() -> bool:
        nonlocal found
        if found.prerequisites is None or not found.prerequisites.kernel_options:
            found = lab.ask("facts.get", FactsArgs(share=lab.share))
        return found.prerequisites is not None and bool(found.prerequisites.kernel_options)

    lab.until(whole, "the prerequisites of the guest")
    return found


def rules(lab: LabGuest, options: str) -> dict[str, str]:
    found: CheckResult = lab.ask(
        "mounts.check", CheckArgs(share=lab.share, mount_point=POINT, options=options)
    )
    return {finding.rule: finding.before_mount for finding in found.findings}


def refused(lab: LabGuest, options: str) -> str:
    """Return the rule that refused a mount, after a look that nothing was mounted."""
    with pytest.raises(AppError) as caught:
        lab.ask("mounts.mount", MountArgs(share=lab.share, mount_point=POINT, options=options))
    assert caught.value.kind is ErrorKind.OPTION_REJECTED
    assert [row for row in lab.ask("mounts.list", ListArgs()).mounts if row.mount_point == POINT] == []
    return caught.value.detail.splitlines()[0]


def test_an_option_that_the_kernel_does_not_know_is_refused_before_mounting(
    lab: LabGuest, facts: Facts
) -> None:
    assert facts.prerequisites is not None
    known = facts.prerequisites.kernel_options
    newer = [name for name, answer in known.items() if not answer]
    assert newer, "the guest's kernel knows every option of the catalogue"
    for name in set(newer) & {"xprtsec", "fatal_neterrors"}:
        option = {"xprtsec": "xprtsec=tls", "fatal_neterrors": "fatal_neterrors=none"}[name]
        assert refused(lab, f"vers=4.2,{option}") == "option-not-in-kernel"
        args = ApplyArgs(share=lab.share, mount_point=POINT, options=option, keeper="fstab")
        plan: ApplyPlan = lab.ask("mounts.plan", args)
        assert plan.findings[0].rule == "option-not-in-kernel"
        assert plan.findings[0].values["kernel"] == facts.client.kernel
        with pytest.raises(AppError) as caught:
            lab.ask("mounts.apply", args)
        assert caught.value.detail.splitlines()[0] == "option-not-in-kernel"


def test_udp_and_rdma_are_refused_before_mounting(lab: LabGuest, facts: Facts) -> None:
    assert facts.client.udp is False
    assert refused(lab, "vers=3,proto=udp") == "udp-not-in-kernel"
    assert refused(lab, "vers=3,rdma,port=20049") in {"rdma-not-in-kernel", "rdma-no-device"}


def test_what_kerberos_lacks_is_told(lab: LabGuest) -> None:
    found = rules(lab, "vers=4.2,sec=krb5")
    assert set(found.values()) == {"tell"}
    assert {"kerberos-gssd-not-running", "kerberos-no-keytab"} <= set(found)
    assert {"kerberos-no-name", "kerberos-by-address"} & set(found)  # the guest's share has an address
    assert "kerberos-clock" not in found
    ahead: list[float] = []

    def told() -> bool:
        server = lab.ask("facts.get", FactsArgs(share=lab.share)).server
        assert server is not None
        ahead.extend([server.clock_ahead_s] if server.clock_ahead_s is not None else [])
        return bool(ahead)

    # The program gives rpcbind a second, in which a busy machine may not come to answer.
    lab.until(told, "the server's rpcbind to tell its time")
    assert abs(ahead[0]) <= 2  # client and server have the same clock, the kernel's


def test_saving_tells_it_too_and_an_ordinary_mount_lacks_nothing(lab: LabGuest) -> None:
    args = PersistArgs(share=lab.share, mount_point=POINT, options="sec=krb5p,_netdev,nofail", preview=True)
    report = lab.ask("mounts.persist", args)
    assert "kerberos-no-keytab" in [finding.rule for finding in report.findings]
    assert rules(lab, "vers=4.2,nconnect=4,_netdev,nofail") == {}
    assert rules(lab, "vers=3,soft,ro") == {}


def test_an_ordinary_user_may_ask_the_kernel(
    guest_job: Callable[..., dict[str, Any]], checkout_for_all: None
) -> None:
    answers = guest_job({"kernel-options": "5.0.0"})
    assert answers["user"] == answers["root"]
    assert answers["root"]["nconnect"] is True
    assert answers["root"]["softreval"] is True
