"""Password prompts: the text that a user reads in a real polkit agent in a terminal."""

import os
import select
import time
from pathlib import Path

import pytest
from rig import DEADLINE_S, EVERYTHING, ORDINARY

#: Program that registers a polkit agent for itself in a terminal, and starts a command.
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
    """Start the helper of an action that needs a password; return the text of the prompt."""
    person, other = os.openpty()
    try:
        path = os.ttyname(other)
        Path(path).chmod(0o666)
        session = rig.session(role, *more, before=["/usr/bin/python3", "-I", "-c", WITH_AN_AGENT, path])
        text, end = b"", time.monotonic() + DEADLINE_S
        while b"assword" not in text:
            assert time.monotonic() < end, text
            assert session.process.poll() is None, session.end()  # no prompt was shown
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
    """polkit replaces $(user) in the message, but not in values that it has inserted."""
    rig = make_rig(answers=dict.fromkeys(EVERYTHING, "AUTH_ADMIN"))
    text = ask_for(rig, "mount-system", "nas:/$(user)/$(program)", "/home", DIGEST)
    assert "nas:/$(user)/$(program) /home" in text
