"""Tests of which one kills its guest and one leaves a fault in it; test_shared_guest.py runs them."""

import os
import signal

from lab_guest import DEADLINE_S, LabGuest


def test_a_before(lab: LabGuest) -> None:
    assert lab.ask("hello").lab


def test_b_kills_its_guest(lab: LabGuest) -> None:
    os.kill(lab.guest.pid, signal.SIGKILL)
    lab.guest.client.join(DEADLINE_S)  # until the client has noticed the end


def test_c_leaves_a_fault_and_a_link(lab: LabGuest) -> None:
    lab.link("wan")
    lab.fault("link-down")


def test_d_finds_everything_set_back(lab: LabGuest) -> None:
    assert lab.ask("hello").link.name == "fast-ethernet"
    assert lab.ask("lab.ping").rtt_s > 0


def test_e_fails(lab: LabGuest) -> None:
    lab.fault("server-stop")
    raise AssertionError("as it should")


def test_f_after(lab: LabGuest) -> None:
    assert lab.ask("lab.ping").rtt_s > 0
