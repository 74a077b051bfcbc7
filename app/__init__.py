"""Application code without Qt: agent, helper, mounts, facts, speed tests, lab and command line."""
