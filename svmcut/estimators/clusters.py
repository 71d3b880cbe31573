# SPDX-License-Identifier: BSD-3-Clause
"""Linear machines that are trained on the workers of Dask."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError, UsageError
from svmcut.base.typing import Any, Self
from svmcut.data.arrays import to_weights
from svmcut.distributed.blocks import blocks_of, classes_in, is_blocks, sets_in
from svmcut.distributed.engine import DaskRows, here
from svmcut.distributed.oracle import NO_ROWS
from svmcut.distributed.parts import Reading
from svmcut.distributed.plan import Files, make_driver
from svmcut.distributed.scoring import Saving, fit_all
from svmcut.estimators import linear, ranking, regression, structured
from svmcut.estimators.base import MULTI_CLASS, Trained, warn, weights_of, whole
from svmcut.files.names import list_files
from svmcut.models import MultilabelModel
from svmcut.spec.catalog import AUTO
from svmcut.spec.entries import L2
from svmcut.spec.parameters import Settings
from svmcut.training.driver import Driver
from svmcut.training.outcome import Outcome
from svmcut.training.progress_bar import ProgressBar

FILES = "lines of files begin with their labels, and may have cost: and qid: as well"


@dataclass(kw_only=True, repr=False, eq=False)
class OnWorkers(Trained):
    """A machine that is trained on parts of the rows."""

    client: Any = None
    checkpoint: Any = None
    resume: bool = False
    solver: str = field(default=AUTO, init=False)
    n_jobs: int | None = field(default=None, init=False)
    random_state: Any = field(default=None, init=False)
    free_intercept: bool = field(default=False, init=False)
    penalty: str = field(default=L2, init=False)
    l1_ratio: float = field(default=0.5, init=False)
    warm_start: bool = field(default=False, init=False)

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}

    def _files(self, client: Any, X: Any, **beside: Any) -> Files:
        """The parts of what was given."""
        if is_blocks(X):
            if beside["y"] is None:
                raise UsageError("y is missing; give the label of every row of X")
            parts: Any = blocks_of(client, X, **beside)
            self._keep_names(X)
            return Files(parts, Reading(False), "X")
        if hasattr(X, "shape") or hasattr(X, "tocsr"):
            raise UsageError(
                "X is in the memory of this process; train on it with svmcut.{}, or give a dask "
                "array, a dask DataFrame, delayed pieces or names of files",
                type(self).__name__,
            )
        given = [name for name, values in beside.items() if values is not None]
        if given:
            raise UsageError("{} goes with rows in blocks; {}", given[0], FILES)
        name, parts = list_files(X if isinstance(X, str | os.PathLike) else [*X])
        return Files(parts, Reading(False), name)

    def _keep_names(self, X: Any) -> None:
        self.__dict__.pop("feature_names_in_", None)
        columns = [*getattr(X, "columns", ())]
        if columns and all(isinstance(name, str) for name in columns):
            self.feature_names_in_ = np.array(columns, object)

    def _fit_parts(self, client: Any, files: Files, settings: Settings) -> tuple[Outcome, Driver]:
        """Trains on parts; Ctrl-C is not swallowed."""
        rows, saving = DaskRows(client), Saving(self.checkpoint, self.resume)
        saving.check()
        try:
            parted, driver = make_driver(rows, files, settings)
            s = driver.settings
            objective = driver.plan.units.objective(s.cost, s.example_cost)
            with ProgressBar(self.verbose > 0, s, driver.plan.stop) as bar:
                observe = lambda progress: bar.show(progress, objective)  # noqa: E731
                (outcome,) = fit_all(driver, parted, [(s.cost, s.example_cost)], saving, observe)
        finally:
            rows.close()
        if driver.interrupted or outcome.stopped_by == "interrupt":
            raise KeyboardInterrupt
        for message in (*driver.warnings, *outcome.warnings, *driver.underfit_warnings(outcome)):
            warn(message)
        self.n_features_in_ = len(getattr(self, "feature_names_in_", ())) or parted.X.n_features
        return outcome, driver

    def predict(self, X: Any) -> Any:
        """(n,) predictions: of a collection a collection, block by block."""
        if hasattr(X, "to_delayed"):
            classes = getattr(self, "classes_", None)
            return self._map(X, self.predict, np.float64 if classes is None else classes.dtype)
        predict: Any = super().predict  # type: ignore[misc]
        return predict(X)

    def _map(self, X: Any, function: Any, dtype: Any, columns: int = 1) -> Any:
        """A function of rows of each block of a collection."""
        if not hasattr(X, "rechunk"):
            return X.map_partitions(_as_series, function, meta=(None, dtype))
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        if columns == 1:
            empty = np.empty(0, dtype)
            return X.map_blocks(function, drop_axis=1, dtype=dtype, meta=empty)
        chunks = X.chunks[0], (columns,)
        return X.map_blocks(function, chunks=chunks, dtype=dtype, meta=np.empty((0, 0), dtype))


def _as_series(part: Any, function: Any) -> Any:
    """The results of a function for the rows of a DataFrame, under their index."""
    from pandas import Series

    return Series(function(part), index=part.index)


@dataclass(kw_only=True, repr=False, eq=False)
class LinearSVM(OnWorkers, linear.LinearSVM):
    """svmcut.LinearSVM on rows that lie with the workers of Dask: files that they read, or blocks.

    Parameters
    ----------
    C, tol, fit_intercept, intercept_scaling, class_weight, loss, multi_class, max_iter, verbose
        As of svmcut.LinearSVM. Of more than two classes the certificate is one of all machines.
    client : dask.distributed.Client or None
        None for the one there is.
    checkpoint : str, path or None
        File or URL where the state of a fit is kept.
    resume : bool
        Whether fit goes on from there, to the same bytes.

    Attributes
    ----------
    coef_, intercept_, classes_
    primal_, dual_, gap_, converged_, solver_, n_iter_
        As of svmcut.LinearSVM.
    """

    probability: bool = field(default=False, init=False)

    @whole
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Trains on rows in blocks and their classes, numbers or words, or on files.

        Parameters
        ----------
        X : dask array or DataFrame, list of delayed or computed pieces, or files
            In blocks of rows (n, d), whose numbers need not be known; files by a pattern or names,
            or URLs.
        y : dask array or Series, list of pieces, array, or None
            (n,); None with files, whose lines begin with their labels, whole numbers.
        sample_weight : as y

        Raises
        ------
        ValueError, MemoryError
        CheckpointError
            For a checkpoint that is damaged or of another fit.
        ClusterError
            Where the scheduler or its workers are lost.
        """
        client = here(self.client)
        files = self._files(client, X, y=y, weights=_check_weights(sample_weight))
        classes = self._classes(client, files)
        settings = self._of_parts(classes)
        outcome, driver = self._fit_parts(client, files, settings)
        of_files = np.array(driver.counts["labels"], np.float64)
        self.classes_ = of_files if classes is None else classes
        if len(self.classes_) < 2 or (classes is None and min(driver.counts["class_counts"]) == 0):
            raise DataError("y", "all rows are of one class; LinearSVM needs two")
        self._keep([outcome], driver.settings)
        return self._certify([outcome])

    def _classes(self, client: Any, files: Files) -> NDArray | None:
        """The classes of blocks, which have them; None of files."""
        if not isinstance(files.paths[0], dict):
            return None
        classes = classes_in(client, files.paths)
        if len(classes) == 1:
            what = f"all rows that weigh anything are of one class, {classes.tolist()[0]!r}"
            raise DataError("y", f"{what}; {type(self).__name__} needs two")
        for block in files.paths:
            block["classes"] = classes
        return classes

    def _of_parts(self, classes: NDArray | None) -> Settings:
        """The settings; the task is named where the classes are known."""
        given = self._parameters(NO_ROWS)
        several = classes is not None and len(classes) > 2
        weights = self.class_weight
        if classes is not None and hasattr(weights, "items"):
            weights = _by_place(weights, classes)
        kind = MULTI_CLASS[self.multi_class]
        asked = {"task"} if classes is not None else set()
        if several:
            given |= {"task": "multiclass", "multiclass": kind}
        else:
            given = {name: value for name, value in given.items() if name != "multiclass"}
            given["task"] = self.task
        return self._settings(
            **given, class_weight=weights, **_OF_PARTS | {"given": frozenset(asked)}
        )

    def decision_function(self, X: Any) -> Any:
        """(n,) scores, or (n, K) of every class: of a collection a collection, block by block."""
        if hasattr(X, "to_delayed"):
            K = len(self.classes_)
            if K > 2 and not hasattr(X, "rechunk"):
                raise UsageError("scores of several classes are a matrix; give X.to_dask_array()")
            return self._map(X, self.decision_function, np.float64, K if K > 2 else 1)
        return super().decision_function(X)


def _check_weights(weights: Any) -> Any:
    """Weights in pieces, or in memory and none below 0."""
    return weights if weights is None or is_blocks(weights) else to_weights(weights)


def _by_place(weights: Any, classes: NDArray) -> dict[int, float]:
    """Weights by the place of a class among the classes."""
    places = {label: k for k, label in enumerate(classes.tolist())}
    for label in weights:
        if label not in places:
            known = ", ".join(map(repr, places))
            raise DataError("class_weight", f"no row is of class {label!r}; expected {known}")
    return {places[label]: weight for label, weight in weights.items()}


@dataclass(kw_only=True, repr=False, eq=False)
class LinearSVMRegressor(OnWorkers, regression.LinearSVMRegressor):
    """svmcut.LinearSVMRegressor on rows that lie with the workers of Dask.

    Parameters
    ----------
    C, tube, loss, tol, fit_intercept, intercept_scaling, max_iter, verbose
        As of svmcut.LinearSVMRegressor.
    client, checkpoint, resume
        As of LinearSVM.

    Attributes
    ----------
    coef_, intercept_, primal_, dual_, gap_, converged_, solver_, n_iter_
        As of svmcut.LinearSVMRegressor.
    """

    @whole
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Trains on rows and their targets, given as to LinearSVM.fit, which says what it raises.

        Parameters
        ----------
        X, y, sample_weight
            As of LinearSVM.fit; targets are numbers.
        """
        client = here(self.client)
        files = self._files(client, X, y=y, weights=_check_weights(sample_weight))
        settings = self._settings(**self._parameters(NO_ROWS), **_OF_PARTS)
        outcome, driver = self._fit_parts(client, files, settings)
        self._keep([outcome], driver.settings)
        return self._certify([outcome])


@dataclass(kw_only=True, repr=False, eq=False)
class RankSVM(OnWorkers, ranking.RankSVM):
    """svmcut.RankSVM on rows that lie with the workers of Dask.

    Parameters
    ----------
    C, loss, tol, max_iter, verbose
        As of svmcut.RankSVM.
    client, checkpoint, resume
        As of LinearSVM.

    Attributes
    ----------
    coef_, primal_, dual_, gap_, converged_, solver_, n_iter_
        As of svmcut.RankSVM.
    """

    @whole
    def fit(self, X: Any, y: Any = None, qid: Any = None, group: None = None) -> Self:
        """Trains on rows, their grades and their queries, given as to LinearSVM.fit.

        Parameters
        ----------
        X, y
            As of LinearSVM.fit; grades are numbers.
        qid : as y
            The query of every row, whole numbers that rise; a query stands whole in one block.
        group : None
            What svmcut.RankSVM takes in the place of qid.

        Raises
        ------
        ValueError
            Without qid beside blocks, and wherever LinearSVM.fit does.
        """
        if group is not None:
            raise UsageError("group is of rows in one place; give the query of every row by qid")
        client = here(self.client)
        files = self._files(client, X, y=y, qid=qid)
        if qid is None and isinstance(files.paths[0], dict):
            raise DataError("qid", "is missing; give the query of every row")
        settings = self._settings(cost=self.C, loss=self.loss, **_OF_PARTS)
        outcome, _ = self._fit_parts(client, files, settings)
        self.coef_ = weights_of(outcome.model, self.n_features_in_)
        return self._certify([outcome])

    def decision_function(self, X: Any) -> Any:
        """(n,) scores; see predict."""
        return self.predict(X)


@dataclass(kw_only=True, repr=False, eq=False)
class MultilabelSVM(OnWorkers, structured.MultilabelSVM):
    """svmcut.MultilabelSVM without weights of pairs, on rows that lie with the workers of Dask.

    Parameters
    ----------
    C, tol, fit_intercept, intercept_scaling, max_iter, verbose
        As of svmcut.MultilabelSVM.
    client, checkpoint, resume
        As of LinearSVM.

    Attributes
    ----------
    coef_, intercept_, primal_, dual_, gap_, converged_, solver_, n_iter_
        As of svmcut.MultilabelSVM.
    """

    pairs: str = field(default="none", init=False)
    tree: bool = field(default=False, init=False)
    prune: float | str | None = field(default=None, init=False)

    @whole
    def fit(self, X: Any, Y: Any = None, sample_weight: Any = None) -> Self:
        """Trains on rows in blocks and the indicator matrix of their labels.

        Parameters
        ----------
        X : dask array or DataFrame, or list of delayed or computed pieces
        Y : dask array, list of pieces, array or sparse matrix
            (n, K) of 0 and 1; dense with the workers, a block at a time.
        sample_weight : as of LinearSVM.fit

        Raises
        ------
        ValueError, MemoryError, CheckpointError, ClusterError
            As LinearSVM.fit.
        """
        client = here(self.client)
        if not (is_blocks(X) or hasattr(X, "shape")):
            raise UsageError("label sets train on workers from blocks of rows; give X and Y")
        files = self._files(client, X, y=Y, weights=_check_weights(sample_weight))
        sets = sets_in(client, files.paths)
        self._labels = sets.shape[1]
        for block in files.paths:
            block["sets"] = sets
        how = {"task": "multiclass", "multiclass": MULTI_CLASS["ovr"]}
        settings = self._settings(example_cost=self.C, bias=self._bias(), **how, **_OF_PARTS)
        outcome, _ = self._fit_parts(client, files, settings)
        model: Any = outcome.model
        none, names = np.zeros(0, np.int32), np.arange(self._labels)
        constant = model.bias * model.constant
        self._model = MultilabelModel(model.W, constant, none, none, np.zeros(0), names)
        return self._certify([outcome])

    def decision_function(self, X: Any) -> Any:
        """(n, K) scores: of a dask array an array, block by block."""
        if hasattr(X, "rechunk"):
            return self._map(X, self.decision_function, np.float64, self._labels)
        return super().decision_function(X)

    def predict(self, X: Any) -> Any:
        """(n, K) labels, 0 or 1: of a dask array an array, block by block."""
        if hasattr(X, "rechunk"):
            return self._map(X, self.predict, np.int64, self._labels)
        return super().predict(X)


#: What settings of parts have beside the parameters of an estimator; nothing is drawn there.
_OF_PARTS: dict[str, Any] = {"threads": 1, "seed": 0, "given": frozenset({"task"})}
