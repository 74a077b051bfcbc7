"""What Mountwright does: agent, helper, mounts, facts, tests, lab and command line. No Qt here."""
