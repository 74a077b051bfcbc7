"""Agent protocol: what the window loads with it."""

import subprocess
import sys

SCRIPT = "import sys, app.service.protocol; print(*sys.modules)"
#: Logic of the agent, which the structs of the messages do not need.
LOGIC = {
    "advisor.dialects", "advisor.experiment.search", "advisor.lint", "advisor.lint_rules", "advisor.options",
    "advisor.recommend", "advisor.rules", "advisor.throughput", "app.helper.session",
    "app.helper_client.client", "app.mounts.plan", "app.service.advice", "app.service.verbs", "numpy",
}  # fmt: skip


def test_the_messages_load_no_logic() -> None:
    loaded = subprocess.run([sys.executable, "-P", "-c", SCRIPT], capture_output=True, check=True, text=True)
    assert LOGIC.intersection(loaded.stdout.split()) == set()
