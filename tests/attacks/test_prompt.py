"""What a person reads before entering the password: a real agent of polkit, in a terminal."""

import os
import select
import time
from pathlib import Path

import pytest
from rig import DEADLINE_S, EVERYTHING, ORDINARY

#: Registers an agent for itself, which asks on a terminal, and starts a command.
WITH_AN_AGENT = """
import os, subprocess, sys
os.setsid()
os.open(sys.argv[1], os.O_RDWR)
ready, notify = os.pipe()
agent = subprocess.Popen(
    ["pkttyagent", "--process", str(os.getpid()), "--notify-fd", str(notify)], pass_fds=[notify],
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
os.close(notify)
os.read(ready, 1)
status = subprocess.call(sys.argv[2:])
agent.kill()
sys.exit(status)
"""
DIGEST = "0123456789abcdef" * 4


def ask_for(rig, role, *more):
    """Start the helper of a role where polkit wants a password; return what the person reads."""
    person, other = os.openpty()
    try:
        path = os.ttyname(other)
        Path(path).chmod(0o666)
        session = rig.session(role, *more, before=["/usr/bin/python3", "-I", "-c", WITH_AN_AGENT, path])
        text, end = b"", time.monotonic() + DEADLINE_S
        while b"assword" not in text:
            assert time.monotonic() < end, text
            assert session.process.poll() is None, session.end()  # nobody was asked
            if select.select([person], [], [], 1.0)[0]:
                text += os.read(person, 4096)
    finally:
        os.close(person)
        os.close(other)
    return text.decode()


@pytest.mark.parametrize("role", sorted(EVERYTHING.keys() - ORDINARY))
def test_an_approval_names_its_share_and_mount_point(make_rig, role):
    rig = make_rig(answers=dict.fromkeys(EVERYTHING, "AUTH_ADMIN"))
    text = ask_for(rig, role, "nas01.example.org:/export/home", "/home", DIGEST)
    assert f"{role} nas01.example.org:/export/home /home {DIGEST}" in text


@pytest.mark.parametrize("role", sorted(ORDINARY))
def test_an_ordinary_prompt_says_what_it_is_for_and_nothing_of_the_caller_s(make_rig, role):
    rig = make_rig(answers=dict.fromkeys(EVERYTHING, "AUTH_ADMIN"))
    text = ask_for(rig, role)
    assert f"org.mountwright.{role}" in text
    assert "Authentication is required to" in text


def test_a_share_cannot_use_what_the_prompt_fills_in(make_rig):
    """polkit puts values for $(user) into the message, not into what it has put in."""
    rig = make_rig(answers=dict.fromkeys(EVERYTHING, "AUTH_ADMIN"))
    text = ask_for(rig, "mount-system", "nas:/$(user)/$(program)", "/home", DIGEST)
    assert "nas:/$(user)/$(program) /home" in text
