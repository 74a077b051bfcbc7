"""Init of the tests' guests: that of the lab, with the agent of lab_verbs. Its argument is the link."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from lab_verbs import TestedLabAgent

from app.lab import agent, init

if __name__ == "__main__":
    agent.LabAgent = TestedLabAgent  # type: ignore[misc]
    init.main()
