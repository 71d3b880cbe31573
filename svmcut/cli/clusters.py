# SPDX-License-Identifier: BSD-3-Clause
"""Training runs on the workers of a Dask scheduler."""

from __future__ import annotations

from functools import partial

import numpy as np

from svmcut.base.records import replace
from svmcut.base.typing import Any
from svmcut.cli import training_report
from svmcut.cli.advice import in_options
from svmcut.cli.endings import time_limit
from svmcut.cli.option_checks import check, named_by_labels
from svmcut.cli.options import LearnOptions
from svmcut.cli.training import Training, run
from svmcut.data.labels import named_labels
from svmcut.distributed.jobs import SpreadSearch, share
from svmcut.distributed.oracle import tally_parts
from svmcut.distributed.parts import Reading
from svmcut.distributed.plan import Files, Parted, make_driver, refuse, should_hold_all
from svmcut.distributed.rows import Rows
from svmcut.files.names import is_pattern, list_files
from svmcut.models import MulticlassModel
from svmcut.spec.parameters import Settings
from svmcut.tables.parts import check_options
from svmcut.tasks.protocol import make_task, presentation, words_of
from svmcut.training.driver import Driver
from svmcut.training.pieces import is_splittable


def run_on(options: LearnOptions) -> int:
    """Runs on the scheduler that the options name, and stops what it started there."""
    check(options)
    from svmcut.distributed.engine import DaskRows, connect

    one_file = not is_pattern(options.example_file)
    if options.searches or should_hold_all(options.settings(), one_file):
        with connect(options.scheduler, options.scheduler_file) as client:
            return run(options, make=lambda *given: SpreadTraining(client, *given))
    refuse(options.settings())
    if options.reads_table:
        check_options(options.input)
    list_files(options.example_file)
    with connect(options.scheduler, options.scheduler_file) as client:
        rows = DaskRows(client, options.work_dir)
        try:
            return run(options, make=lambda *given: PartedTraining(rows, *given))
        finally:
            rows.close()


class SpreadTraining(Training):
    """Training on rows in this process's memory, while workers train cells of a grid, machines of
    classes or blocks of labels."""

    def __init__(self, client: Any, *given: Any):
        self._client = client
        super().__init__(*given)

    def _plan(self, settings: Settings) -> tuple[Driver, list[str]]:
        from svmcut.distributed.engine import DaskRows

        driver, hinted = super()._plan(settings)
        rows = DaskRows(self._client)
        rows.workers()
        return driver, [*hinted, *map(in_options, rows.warnings)]

    def _driver_of(self, settings: Settings, time_limit: float | None) -> Driver:
        driver = super()._driver_of(settings, time_limit)
        if not self.options.searches or is_splittable(driver):
            share(driver, self.examples, self._client)
        return driver

    def _search_of_grid(self) -> Any:
        return partial(SpreadSearch, self._client)


class PartedTraining(Training):
    """Training on rows that only the workers read."""

    def __init__(self, rows: Rows, *given: Any):
        self._parts = rows
        super().__init__(*given)

    def _read(self, given: dict[str, Any], weights: Any) -> Settings:
        options = self.options
        name, files = list_files(options.example_file)
        reading = Reading(options.zero_based, options.max_memory, 1, options.cache)
        with training_report.step(self._log, "Reading training examples"):
            self.examples, self._driver = make_driver(
                self._parts,
                Files(files, reading, name, weights, options.weights or "", given.get("table")),
                options.settings(),
                time_limit(options, 0.0),
            )
        settings = self._driver.settings
        if settings.task != options.task:
            self.options = options = named_by_labels(options, self.examples)
            self._task, self._shown = make_task(options.task), presentation(options.task)
            self._say(f"{len(self.examples.y)} classes: {options.task}")
        if self._table is not None:
            self._say(training_report.fact("Columns", self._table.encoding.describe()))
        if self.examples.left_out:
            self._say(f"Left out: {self.examples.left_out} of weight 0")
        return settings

    def _plan(self, settings: Settings) -> tuple[Driver, list[str]]:
        driver, words = self._driver, words_of(self.examples)
        if words and "labels" in driver.counts:
            driver.counts["labels"] = named_labels(driver.counts["labels"], words)
        return driver, [*map(in_options, self._parts.warnings)]

    def _measure(self, model: Any, data: Any) -> dict[str, float]:
        """Measures of a model on data; on parts, only if their scores can be gathered."""
        if not isinstance(data, Parted):
            return super()._measure(model, data)
        bias = self._driver.settings.bias
        if isinstance(model, MulticlassModel):
            w = np.concatenate([model.W, model.constant[None]] if bias else [model.W]).ravel()
        else:
            w = np.append(model.w, -model.b / bias) if bias else model.w
            model = replace(model, labels=None)
        tally = tally_parts(self._parts, self._task.tally(model), w, len(data))
        return {} if tally is None else self._task.measure(tally).values
