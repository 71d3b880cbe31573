# SPDX-License-Identifier: BSD-3-Clause
"""Files for those who work with arrays: example files as matrices, model files as functions of a
matrix."""

from __future__ import annotations

import itertools
import os
import warnings

import numpy as np
from numpy.typing import NDArray

from svmcut import models
from svmcut.base.errors import DataError, UsageError
from svmcut.base.messages import hide_secrets
from svmcut.base.records import fields, record, replace
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import Any
from svmcut.data.arrays import as_rows, rows_of_tokens, vector_examples
from svmcut.data.examples import Csr
from svmcut.data.labels import SIGNS, classes_of, label_texts
from svmcut.data.labels import named_labels as label_names
from svmcut.files.examples import read_examples
from svmcut.files.multilabel import read_multilabel
from svmcut.files.sequences import as_sequences
from svmcut.formats import read_file, write_model
from svmcut.models.bounds import certain_labels, intervals
from svmcut.models.order_bounds import proven_pairs
from svmcut.risks.ordinal import query_starts
from svmcut.scoring.conformal import (
    ABSOLUTE,
    Coverage,
    check_coverage,
    intervals_of,
    label_sets,
)
from svmcut.scoring.thresholds import choose_threshold, make_promises
from svmcut.spec.catalog import MARKED
from svmcut.spec.entries import CLASSES
from svmcut.spec.places import USUAL_CONFIDENCE, USUAL_COVERAGE
from svmcut.tables.conll import TestColumns
from svmcut.tables.options import is_frame
from svmcut.tasks.calibration import calibrate_on, score_of, strangeness_inputs
from svmcut.tasks.protocol import make_task, tasks_of
from svmcut.training.outcome import Outcome


class Applied:
    """A model that is applied to matrices and written to a file."""

    model: Any
    #: Columns that an array must have; None if only the least number is known.
    width: int | None
    #: Why the certificate in its file is not the model's, if so.
    _caution = ""

    def decision_function(self, X: Any, threads: int = 1) -> NDArray[np.float64]:
        """Scores of the rows of X, (n,), or of every label, (n, K); what ``svmcut classify``
        writes.

        Raises
        ------
        DataError
            Where X is no matrix of finite numbers, or an array with fewer columns than the model
            has; a sparse matrix may be narrower, as a file without the last features is.
        UsageError
            For tags, which have no scores of their own.
        """
        if self.model.of_sequences:
            raise UsageError("a model of sequences has no scores of rows; use predict(X, qid)")
        return self.model.scores(self._rows(X), threads)

    def bounds(self, X: Any, threads: int = 1) -> NDArray[np.float64]:
        """(n, 2) the lowest and the highest score that the exact optimum can have of each row, or
        (n, K, 2) of every class.

        Raises
        ------
        UsageError
            Where the model has no certificate.
        DataError
            As `decision_function`.
        """
        rows = self._certified_rows(X)
        return intervals(self.model, rows, self.model.scores(rows, threads), threads)

    def decided(self, X: Any, threads: int = 1) -> NDArray[np.bool_]:
        """(n,) whether the label of each row is proven to be that of the exact optimum; of sets
        (n, K) whether each label is.

        Raises
        ------
        UsageError
            Where the model has no certificate, or predicts numbers.
        DataError
            As `decision_function`.
        """
        rows = self._certified_rows(X)
        decisions = certain_labels(self.model, rows, self.model.scores(rows, threads), threads)
        if decisions is None:
            raise UsageError("the model predicts numbers, which have bounds and no labels")
        return decisions

    def decided_pairs(self, X: Any, qid: Any, threads: int = 1) -> NDArray[np.int64]:
        """(q, 2) of every query how many pairs of its rows are proven to be in the order of the
        exact optimum, and how many there are.

        Parameters
        ----------
        qid : (n,) int
            The query of each row; rows of a query stand together.

        Raises
        ------
        UsageError
            Where the model has no certificate or more than one score a row, and for a query of more
            than 20,000 rows.
        """
        rows = self._certified_rows(X)
        scores = self.model.scores(rows, threads)
        if scores.ndim > 1:
            raise UsageError("pairs have an order by one score a row, and the model has several")
        starts = query_starts(np.asarray(qid), rows.n_rows)
        return np.array(
            [
                proven_pairs(self.model, rows.rows(a, b), scores[a:b], threads)
                for a, b in itertools.pairwise(starts.tolist())
            ],
            np.int64,
        ).reshape(-1, 2)

    def _certified_rows(self, X: Any) -> Csr:
        if getattr(self.model, "certificate", None) is None:
            if self._caution:
                raise UsageError("{}", self._caution)
            raise UsageError("the model has no certificate; svmcut learn writes one")
        return self._rows(X)

    def predict(self, X: Any, qid: Any = None, threads: int = 1) -> Any:
        """Predictions of the rows of X.

        Parameters
        ----------
        X : matrix
            Of a model of a table also such a table: a DataFrame, or the path of a file. Of a model
            of sequences with names also a list of sequences, as ChainSVM takes them:
            lists of dicts of features or of their names; of a model of tokens in columns lists of
            tuples of their texts, with the tag or without it.
        qid : (n,) int
            The sequence of each row, for a model of sequences and a matrix; rows of a sequence
            stand together.

        Returns
        -------
        (n,) array
            Labels of classes, words where those are, nan for a class of many labels; numbers of a
            regression; tags from 1 of sequences.
        list of lists
            Names of the tags, of a list of sequences.
        (n, L) bool
            Of label sets: column k says whether a row has the label k.
        """
        model = self.model
        if not model.of_sequences:
            return named_labels(model.predict(self._rows(X), threads), model.words)
        _refuse_path(X)
        if model.names is not None and qid is None:
            X = list(map(list, X))
            bounds = np.concatenate([[0], np.cumsum([len(sequence) for sequence in X])]).astype(
                np.int64
            )
            if model.names.columns:
                rows = TestColumns(model.names).rows_in_memory(X)
            else:
                columns = {name: k for k, name in enumerate(model.names.attributes)}
                rows = rows_of_tokens((token for sequence in X for token in sequence), columns)
            numbers = model.tags(rows, np.unique(bounds), threads).tolist() if bounds[-1] else []
            tags = [model.names.tags[tag] for tag in numbers]
            return [tags[start:stop] for start, stop in itertools.pairwise(bounds.tolist())]
        rows = as_rows(X)
        if qid is None:
            raise UsageError(
                "a model of sequences needs the sequence of every row; give predict(X, qid)"
            )
        chains = as_sequences(vector_examples(rows, np.ones(rows.n_rows), qid))
        return model.tags(chains.X, chains.indptr, threads) + 1

    def choose_threshold(
        self,
        X: Any,
        y: Any,
        *,
        at_least: dict[str, float],
        maximise: str | None = None,
        confidence: float = USUAL_CONFIDENCE,
        training: Any = None,
        threads: int = 1,
    ) -> Model:
        """This model of two classes with a threshold of its scores that keeps floors under
        precision, recall or specificity, as ``svmcut threshold`` chooses it.

        Parameters
        ----------
        X : matrix
            Rows that took no part in training, nor in the choice of the model, drawn like those
            to come.
        y : (n,)
            Their labels.
        at_least : dict
            Shares by name: ``{"precision": 0.95}``; of ``precision``, ``recall`` and
            ``specificity``.
        maximise : {"recall", "precision"} or None
            Among the thresholds that keep them; None for recall, of a floor under recall alone for
            precision.
        confidence : float
            Probability, over the draw of these rows, that all floors are kept in the population.
        training : matrix or None
            The rows it was trained on: thresholds of a precision are laid between their scores,
            else between those of every fifth of X, which is not tested then.

        Raises
        ------
        TrainingError
            Where no threshold keeps the promises; a ValueError that says what would help.
        UsageError, DataError
            Where the model has no two classes, or X and y are no rows of them.
        """
        if not hasattr(self.model, "threshold") or self.model.loss in MARKED:
            raise UsageError("a threshold is for models of two classes")
        asked = make_promises(at_least, maximise, confidence)
        bare = replace(self.model, threshold=None)
        if self.model.words:
            y = [self.model.words.index(word) + 1 if word in self.model.words else 0 for word in y]
        rows = vector_examples(self._rows(X), np.asarray(y))
        positive, _ = classes_of(rows.y, self.model.labels)
        before = None if training is None else bare.scores(self._rows(training), threads)
        chosen = choose_threshold(positive, bare.scores(rows.X, threads), asked, before)
        return Model(replace(self.model, threshold=chosen), self.width, self._caution)

    def conformal(
        self,
        X: Any,
        y: Any,
        *,
        coverage: float = USUAL_COVERAGE,
        by_class: bool = False,
        threads: int = 1,
    ) -> Model:
        """This model of numbers or classes with a promise: `predict_interval` and `predict_set`
        hold the truth of so large a share of new rows, as ``svmcut conformal`` makes it.

        Parameters
        ----------
        X : matrix
            Rows that took no part in training, nor in the choice of the model, drawn like those
            to come.
        y : (n,)
            Their numbers or labels.
        coverage : float
            The share, above 0 and below 1.
        by_class : bool
            Whether it holds for the rows of every class.

        Raises
        ------
        TrainingError
            Where there are too few rows; a ValueError that says how many are needed.
        UsageError, DataError
            Where the model predicts neither, or X and y are no rows of it.
        """
        share, score = check_coverage(coverage), score_of(self.model)
        if score is None:
            raise UsageError("a coverage is for models of numbers or classes")
        if by_class and score == ABSOLUTE:
            raise UsageError("by_class is for models of classes; leave it out")
        words = self.model.words
        if words:
            y = [words.index(word) + 1 if word in words else 0 for word in y]
        rows = vector_examples(self._rows(X), np.asarray(y))
        task = make_task(tasks_of(self.model)[0])
        promised = calibrate_on(task, self.model, [rows], share, by_class, threads)
        return Model(replace(self.model, coverage=promised), self.width, self._caution)

    def predict_interval(self, X: Any, threads: int = 1) -> NDArray[np.float64]:
        """(n, 2) the lowest and the highest number of each row's interval.

        Raises
        ------
        UsageError
            Where the model promises no coverage of numbers; `conformal` makes one that does.
        """
        return intervals_of(*self._set_inputs(X, threads, of_numbers=True))

    def predict_set(self, X: Any, threads: int = 1) -> list[list]:
        """The labels of each row's set, in the model's order.

        Raises
        ------
        UsageError
            Where the model promises no coverage of classes; `conformal` makes one that does.
        """
        sets = label_sets(*self._set_inputs(X, threads, of_numbers=False))
        names = getattr(self.model, "names", None)
        numbers = [*(self.model.labels or SIGNS)] if names is None else names.tolist()
        labels = label_names(numbers, self.model.words)
        return [[label for label, has in zip(labels, row, strict=True) if has] for row in sets]

    def _set_inputs(self, X: Any, threads: int, of_numbers: bool) -> tuple[Coverage, NDArray]:
        """The promise, and what its scores are made of for these rows."""
        promised = getattr(self.model, "coverage", None)
        if promised is None or (promised.score == ABSOLUTE) != of_numbers:
            what = "numbers" if of_numbers else "classes"
            raise UsageError("the model promises no coverage of {}; use conformal(X, y)", what)
        rows, task = self._rows(X), make_task(tasks_of(self.model)[0])
        part = vector_examples(rows, np.zeros(rows.n_rows))
        predicted = task.predictor(self.model, threads)(part)
        made = strangeness_inputs(task, self.model, promised.score, part, predicted, threads)
        return promised, made

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model file of ``svmcut learn``, which `load` and ``svmcut classify`` read."""
        write_model(os.fspath(path), self.model)

    def _rows(self, X: Any) -> Csr:
        table, is_path = self.model.table, isinstance(X, str | os.PathLike)
        if table is None:
            _refuse_path(X)
        if table is None or not (is_path or is_frame(X)):
            self._check_columns(X)
            return as_rows(X)
        from svmcut.tables.encoded import TestTable, join_examples

        source = os.fspath(X) if isinstance(X, str | os.PathLike) else X
        return join_examples([*TestTable(table).stream(source, CLASSES, True)]).X

    def _check_columns(self, X: Any) -> None:
        """Refuses an array that cannot be rows of this model's data."""
        shape, least = np.shape(X), self.model.least_columns
        if hasattr(X, "tocsr") or len(shape) != 2:
            return
        if shape[1] < least or shape[1] != (self.width or shape[1]):
            expected = f"{self.width}" if self.width else f"{least} at least"
            raise DataError(
                "X",
                f"has {shape[1]} columns; the model was trained on {expected}; give the columns of "
                "training, in their order",
            )


def _refuse_path(X: Any) -> None:
    """Refuse the path of a file where a model knows no table to read it by."""
    if isinstance(X, str | os.PathLike):
        raise UsageError(
            "{}: a file is read by models of tables alone; give its rows, as "
            "svmcut.load_svmlight_file returns them, or use svmcut classify",
            os.fspath(X),
        )


class Model(Applied):
    """A model file, applied to matrices.

    Parameters
    ----------
    model : svmcut.models.Model
        What the file holds; stands in the attribute of that name.
    width : int or None
        Columns that an array must have; None where only the least number is known.
    caution : str
        Why the certificate in its file is not the model's, if so.
    """

    def __init__(self, model: models.Model, width: int | None = None, caution: str = ""):
        self.model, self.width, self._caution = model, width, caution

    def __repr__(self) -> str:
        return f"<svmcut.load: {type(self.model).__name__} of {self.model.least_columns} columns>"


@record(frozen=False)
class Fitted(Outcome, Applied):
    """An Outcome whose model is applied to matrices and written to a file.

    Attributes
    ----------
    width : int or None
        Columns of the array that it was trained on.
    """

    width: int | None = None

    __repr__ = Outcome.__repr__

    @classmethod
    def of(cls, outcome: Outcome, width: int | None = None) -> Fitted:
        """This outcome, of rows with so many columns where they were an array."""
        values = {item.name: getattr(outcome, item.name) for item in fields(Outcome)}
        return cls(**values, width=width)


def named_labels(labels: NDArray, words: tuple[str, ...]) -> NDArray:
    """(n,) labels as predicted, or by word; sets of labels as they are."""
    if not words or labels.ndim > 1:
        return labels
    return np.array(label_texts([None if k != k else k for k in labels.tolist()], words), object)


def load(path: str | os.PathLike, *, zero_based: bool = False) -> Model:
    """A model file: of ``svmcut learn`` and the estimators' `save`, of svm_perf, svm_rank,
    svm_light, svm_hmm and linear svm_multiclass, or foreign, of LIBLINEAR and LIBSVM.

    Parameters
    ----------
    path : str or path
    zero_based : bool
        Whether features are numbered from 0 in a file of LIBSVM: feature 0 is the first column
        then, as it is of `load_svmlight_file` with zero_based. Without, the first is feature 1.

    Raises
    ------
    ModelError
        With line and column, where the file is not what the format demands.

    Examples
    --------
    >>> import os, tempfile
    >>> import svmcut
    >>> X, y = svmcut.load_svmlight_file("data/text.train")
    >>> path = os.path.join(tempfile.mkdtemp(), "model")
    >>> svmcut.LinearSVM(random_state=0).fit(X, y).save(path)
    >>> fitted = svmcut.LinearSVM(random_state=0).fit(X, y)
    >>> svmcut.load(path).predict(X[:3]).tolist() == fitted.predict(X[:3]).tolist()
    True
    """
    file = read_file(os.fspath(path), zero_based=zero_based)
    if file.is_changed:
        warnings.warn(f"{hide_secrets(os.fspath(path))}: {file.caution}", stacklevel=2)
    return Model(file.model, caution=file.caution)


def load_svmlight_file(
    path: str | os.PathLike,
    *,
    n_features: int | None = None,
    query_id: bool = False,
    multilabel: bool = False,
    zero_based: bool = False,
    threads: int | None = None,
) -> tuple[Any, ...]:
    """An example file as arrays, plain or compressed; many times as fast as scikit-learn's function
    of this name.

    Parameters
    ----------
    path : str or path
    n_features : int or None
        Columns of X; None for as many as the file has. A test file needs those of its training set.
    query_id : bool
        Whether the queries of the lines, or their sequences, are returned too.
    multilabel : bool
        Whether a line has a list of labels, or none.
    zero_based : bool
        Whether the first column is 0 in the file. Nothing is guessed: by default it is 1, and a 0
        is refused.
    threads : int or None
        None for all CPUs. The result does not depend on it.

    Returns
    -------
    X : scipy.sparse.csr_matrix
        float32, with int32 indices; also its indptr is int32 while there are fewer than 2^31
        entries.
    y : (n,) float64
        Or, with multilabel, a csr_matrix of 0 and 1 whose column k is the label k of the file.
    qid : (n,) int64
        With query_id only.

    Raises
    ------
    DataError
        With line and column, where the file is not what the format demands; where it has more
        features than n_features, no queries, or weights (``cost:``), which these arrays cannot
        hold.

    Examples
    --------
    >>> import svmcut
    >>> X, y = svmcut.load_svmlight_file("data/wine.train")
    >>> X.shape, X.dtype.name, sorted(set(y.tolist()))
    ((119, 13), 'float32', [-1.0, 1.0])
    >>> X, y, qid = svmcut.load_svmlight_file("data/ranking.train", query_id=True)
    """
    path, threads = os.fspath(path), usable_cpus() if threads is None else threads
    if multilabel and query_id:
        raise UsageError("label sets have no queries; leave out query_id or multilabel")
    read: Any = read_multilabel if multilabel else read_examples
    examples = read(path, threads=threads, zero_based=zero_based)
    if examples.weights is not None and (examples.weights != 1).any():
        raise DataError(
            path,
            "the lines have weights, cost:, which X and y do not hold; train on the file itself",
        )
    if n_features is not None and n_features < examples.X.n_features:
        raise DataError(
            path, f"has {examples.X.n_features} features; expected at most n_features={n_features}"
        )
    X = examples.X.to_scipy(n_features)
    if multilabel:
        labels = np.asarray(examples.names[examples.labels], np.int32)
        sets = Csr(
            np.ones(len(labels), np.float32),
            labels,
            examples.indptr,
            int(examples.names.max(initial=-1)) + 1,
        )
        return X, sets.to_scipy()
    if query_id and examples.qid is None:
        raise DataError(path, "no line has a qid; leave out query_id")
    return (X, examples.y, examples.qid) if query_id else (X, examples.y)
