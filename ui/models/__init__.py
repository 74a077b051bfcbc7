"""Models: snapshots of the agent turned into rows and roles."""
