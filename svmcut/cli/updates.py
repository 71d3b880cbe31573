# SPDX-License-Identifier: BSD-3-Clause
"""Runs of --added and --removed, which update an earlier model to changed rows."""

from __future__ import annotations

import numpy as np

from svmcut.base.messages import escape
from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.cli.options import LearnOptions
from svmcut.cli.proving import deciding_driver
from svmcut.cli.training import Training, run
from svmcut.data.changes import Change, find_rows
from svmcut.formats import read_model
from svmcut.spec.kinds import Typed
from svmcut.spec.parameters import Settings
from svmcut.tasks.protocol import names_for_second_file
from svmcut.training.driver import Driver
from svmcut.training.update import Earlier, UpdatingDriver, check_earlier, inherit_parameters


def run_update(options: LearnOptions) -> int:
    """Updates the model that --initial names; returns the exit status."""
    if options.initial is None:
        return run(options)  # which says what is missing
    model = read_model(options.initial)
    own = inherit_parameters(model, options.initial, options.given or frozenset())
    values: dict[str, Any] = {
        name: (Typed(f"{value:g}", value),) if name in _LIST_OPTIONS else value
        for name, value in own.items()
    }
    options = replace(options, **values)
    return run(options, make=lambda *given: UpdateTraining(model, *given))


#: Options that take several values.
_LIST_OPTIONS = ("example_cost", "degree", "gamma", "scale_kernel", "coef0")


class UpdateTraining(Training):
    """Training on changed rows, which may end before it begins."""

    def __init__(self, model: Any, *given: Any):
        self._model = model
        super().__init__(*given)

    def _examples(self, given: dict[str, Any]) -> Any:
        options, before = self.options, super()._examples(given)

        def read(path: str) -> Any:
            names = names_for_second_file(before, options.task, options.input, path)
            return self._task.read(path, **(given | names), test=True, costs=options.reads_costs)

        removed = np.zeros(0, np.int64)
        if options.removed is not None:
            removed = find_rows(before, read(options.removed))
        added = None if options.added is None else read(options.added)
        self._change = Change(before, added, removed)
        return self._change.examples()

    def _driver_of(self, settings: Settings, time_limit: float | None) -> Driver:
        driver = self._task.plan(self.examples, settings, time_limit)
        options, model = self.options, self._model
        name = escape(options.initial or "")
        check_earlier(model, name, driver.settings, driver.task_fields.get("labels"))
        earlier = Earlier.from_model(model, name, self._change, self.examples)
        trains = not {"gap", "epsilon", "until_decided"}.isdisjoint(options.given or ())
        updating = UpdatingDriver(driver, earlier, trains)
        return (
            updating
            if self._examples_to_decide is None
            else deciding_driver(options, updating, self._examples_to_decide)
        )
