"""Sentences about experiments and searches, by code."""

from __future__ import annotations

from app.text.translate import mark as _

EXPERIMENT_MESSAGES = {
    # What runs, where a second measurement is refused (app.service.measurements.Measurement).
    "measurement.test": _("A test is already running on this computer."),
    "measurement.test-plan": _("A test is already being planned on this computer."),
    "measurement.gain-trial": _("A before-and-after test is already running on this computer."),
    "measurement.experiment": _("An experiment is already running on this computer."),
    "measurement.set-probes": _("The settings of an experiment are already being tried on this computer."),
    # Why a run ended early (app.experiment.model.StopReason).
    "stop.time-limit": _("The time limit was reached. The experiment can be resumed."),
    "stop.failures": _("{count} trials in a row failed. The last problem: {problem}"),
}
