# SPDX-License-Identifier: BSD-3-Clause
"""Sets of labels, and tags of sequences."""

from __future__ import annotations

import itertools
import math
import numbers
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from sklearn.utils.validation import check_is_fitted

from svmcut.base.errors import DataError, UsageError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import Any, Self
from svmcut.data.arrays import as_rows, check_sparse, multilabel_examples, rows_of_tokens
from svmcut.data.examples import Csr, Names, Sequences, Source
from svmcut.estimators.base import Intercept, Trained, own_words, threads_of, whole
from svmcut.formats import write_model
from svmcut.models import LabelTreeModel, SparseLabelModel
from svmcut.models.decoding import Lattice
from svmcut.models.label_trees import BEAM
from svmcut.scoring.chunks import ChunkCounts, split_tags
from svmcut.scoring.tops import TopScores, rank_best, select_top_scores
from svmcut.tasks.protocol import BLOCK_NUMBERS


@dataclass(kw_only=True, repr=False, eq=False)
class MultilabelSVM(Intercept, Trained):
    """Sets of labels with weights of their pairs, by the wrong labels of every row: 1/2 w'w + C
    sum_i v_i R_i(w).

    Parameters
    ----------
    C : float
        Weighs one example's loss: without pairs LinearSVC's C for every label.
    pairs : {"all", "none"}
    tree : bool
        Without pairs: a tree of groups of labels, learnt in a fraction of the time; scores are
        log-probabilities, of the labels that a search of it reaches.
    prune : float, "auto" or None
        Without pairs: weights below this become 0; "auto" for as many of every label as tol allows.
    tol, fit_intercept, intercept_scaling, solver, max_iter, n_jobs, random_state, verbose
        As of LinearSVM.

    Attributes
    ----------
    coef_ : (K, d) float64
    intercept_ : (K,) float64
    pair_coef_ : (K, K) float64 or None
        Symmetric; what two labels weigh together. None without pairs.
    primal_, dual_, gap_, converged_, solver_, n_iter_
        As of LinearSVM.

    Examples
    --------
    >>> from svmcut import MultilabelSVM
    >>> X, Y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1, 0], [0, 1], [1, 1]]
    >>> machine = MultilabelSVM(C=10.0, random_state=0).fit(X, Y)
    >>> machine.predict([[2.0, 0.0]]).tolist()
    [[1, 0]]
    """

    task = "multilabel"

    C: float = field(default=1.0, kw_only=False)
    pairs: str = "all"
    tree: bool = False
    prune: float | str | None = None
    _model: Any = field(init=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output, tags.target_tags.single_output = True, False
        return tags

    @whole
    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Trains on rows X (n, d) and the indicator matrix Y (n, K), dense or sparse, of their
        labels."""
        X = self._validate(X)
        chosen: dict[str, Any] = {"pairs": self.pairs, "tree": self.tree, "prune": self.prune}
        settings = self._settings(example_cost=self.C, bias=self._bias(), **chosen)
        data = multilabel_examples(self._training_rows(X), Y)
        self._labels = len(data.names)
        own, data = self._apply_weights(data, settings, sample_weight)
        outcome = self._run(own, data, settings)
        self._model = outcome.model
        return self._certify([outcome])

    @property
    def coef_(self) -> NDArray[np.float64] | Any:
        """(K, d) weights of features; a scipy CSR matrix where training keeps those that are not 0
        alone. A tree has machines of groups too, and none of this."""
        self._check_flat("coef_")
        if isinstance(self._model, SparseLabelModel):
            return self._sparse_coef()
        W = np.zeros((self._labels, self.n_features_in_))
        columns = (
            np.arange(len(self._model.W)) if self._model.columns is None else self._model.columns
        )
        W[np.ix_(self._model.names, columns)] = self._model.W.T
        return W

    def _check_flat(self, name: str) -> None:
        if isinstance(self._model, LabelTreeModel):
            raise AttributeError(f"{name} is of labels each on its own; a tree has none")

    def _sparse_coef(self) -> Any:
        model: Any = self._model
        bounds, features, values = model.by_label()
        counts = np.zeros(self._labels, np.int64)
        counts[model.names] = np.diff(bounds)
        columns = features if model.columns is None else model.columns[features]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        shape = self._labels, self.n_features_in_
        return csr_matrix((values.astype(np.float64), columns, indptr), shape)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """(K,) what every row adds to the score of a label; not of a tree."""
        self._check_flat("intercept_")
        b = np.zeros(self._labels)
        b[self._model.names] = self._model.constant
        return b

    @property
    def pair_coef_(self) -> NDArray[np.float64] | None:
        """(K, K) weights of pairs."""
        if isinstance(self._model, SparseLabelModel | LabelTreeModel):
            return None
        v, names = self._model.pair_weights(), self._model.names
        if v is None:
            return None
        W = np.zeros((self._labels, self._labels))
        W[np.ix_(names, names)] = v
        return W

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(n, K) scores of every label alone; -inf for a label no row had, and those that a search
        of a tree does not reach."""
        rows = self._rows(X)
        scores = np.full((rows.n_rows, self._labels), -np.inf)
        scores[:, self._model.names] = self._model.scores(rows, threads_of(self.n_jobs))
        return scores

    def predict_top_k(self, X: Any, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(n, k) columns of the labels with the highest scores of their own, best first, of equal
        ones the first column first, and their scores; fewer where training met fewer labels.

        Raises
        ------
        ValueError
            Where k is no whole number of at least 1.
        """
        if not isinstance(k, numbers.Integral) or k < 1:
            raise ValueError(f"k is {k!r}; give a whole number of at least 1")
        rows, names, threads = self._rows(X), self._model.names, threads_of(self.n_jobs)
        width, n = min(int(k), len(names)), rows.n_rows
        columns, values = np.zeros((n, width), np.int64), np.full((n, width), -np.inf)
        for start, ranked in self._rank(rows, width, threads):
            at, rank = rank_best(ranked, width)
            own = start + ranked.row[at], rank
            columns[own], values[own] = names[ranked.place[at]], ranked.score[at]
        return columns, values

    def _rank(self, rows: Csr, k: int, threads: int) -> Iterator[tuple[int, TopScores]]:
        """The k best labels of some rows, and others, and the first of the rows."""
        if isinstance(self._model, LabelTreeModel):
            yield 0, self._model.search(rows, max(BEAM, k), threads, k)[0]
            return
        step, n = max(1, BLOCK_NUMBERS // max(1, len(self._model.names))), rows.n_rows
        for start in range(0, n, step):
            part = rows.rows(start, min(n, start + step))
            yield start, select_top_scores(self._model.scores(part, threads), max(1, k), threads)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """(n, K) indicator of the best set of every row."""
        rows = self._rows(X)
        sets = np.zeros((rows.n_rows, self._labels), np.int64)
        known = self._model.predict(rows, threads_of(self.n_jobs))
        sets[:, : known.shape[1]] = known
        return sets

    def score(self, X: Any, Y: Any) -> float:
        """The part of all labels that is right: 1 - Hamming loss."""
        right = as_rows(Y, "Y").to_dense() == 1
        return float(np.mean(self.predict(X) == right))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model file of the command line; column k of Y is the label k."""
        check_is_fitted(self)
        self._write(path, self._model)


@dataclass(kw_only=True, repr=False, eq=False)
class ChainSVM(Trained):
    """Tags of sequences: 1/2 w'w + C sum over sequences of max over tags (wrong tags + score -
    right score).

    Parameters
    ----------
    C : float or None
        Weighs the loss of one sequence; None for 0.1, and 0.3 with quick.
    transitions, emissions : int
        Orders of the chain.
    probability : bool
        Fit the temperature of `predict_marginals` to sequences held out, in five parts that are
        trained beside; else it is 1.
    quick : bool
        End where the error on a tenth of the sequences, held out, no longer falls, or the F1 of
        chunks no longer rises where tags say chunks, whatever tol; that tenth also gives the
        temperature.
    tol, solver, max_iter, n_jobs, random_state, verbose
        As of LinearSVM.

    Attributes
    ----------
    classes_ : (K,) array
        The tags.
    emission_coef_ : (features, K) float64
        At emissions=0; rows as feature_names_ has them.
    transition_coef_ : (K, K) float64
        From the tag of a row to that of a column; of transitions=1.
    state_features_ : dict
        Weights that are not 0 by (name of a feature, tag), as sklearn-crfsuite has them.
    transition_features_ : dict
        Weights that are not 0 by (tag, next tag); of transitions=1.
    feature_names_ : list of str or None
        None for sequences that are matrices.
    primal_, dual_, gap_, converged_, solver_, n_iter_
        As of LinearSVM.

    Examples
    --------
    >>> from svmcut import ChainSVM
    >>> X = [[{"word": "the"}, {"word": "dog"}], [["bias", "word:barks"]]]
    >>> machine = ChainSVM(C=10.0, random_state=0).fit(X, [["DET", "NOUN"], ["VERB"]])
    >>> machine.predict([[{"word": "the"}, {"word": "dog"}]])
    [['DET', 'NOUN']]
    """

    task = "sequence"

    C: float | None = field(default=None, kw_only=False)
    transitions: int = 1
    emissions: int = 0
    probability: bool = False
    quick: bool = False
    _model: Any = field(init=False)
    tol: float = 1e-2

    @whole
    def fit(self, X: Iterable[Any], y: Iterable[Sequence[Any]], sample_weight: Any = None) -> Self:
        """Trains on sequences X and their tags y.

        Parameters
        ----------
        X : iterable of sequences
            A sequence is a matrix of one row a token, or a list of tokens; a token is a dict of
            features or a list of their names, as in sklearn-crfsuite: {"word": "dog", "title":
            True, "length": 3}. A text is the feature word:dog of 1, as is each of a list of texts;
            those of a dict within have its name in front.
        y : list of lists
            Tags of any type that sorts.

        Notes
        -----
        A sequence without tokens is left out.
        """
        X, y = _sequences(X, "X"), _sequences(y, "y")
        tags = [tag for sequence in y for tag in sequence]
        lengths = [len(sequence) for sequence in y]
        if None in tags or any(isinstance(tag, bytes) for tag in tags):
            raise DataError("y", "a tag is None or bytes; expected texts or numbers that sort")
        if len({isinstance(tag, str) for tag in tags}) > 1:
            raise DataError("y", "some tags are texts and others are not; expected one kind")
        if len(X) != len(y) or [_length(sequence) for sequence in X] != lengths:
            raise DataError("y", "has not one tag for every token of X; expected one each")
        if not tags:
            raise DataError("X", "no sequence has a token; expected one at least")
        if 0 in lengths:
            full = [k for k, length in enumerate(lengths) if length]
            if sample_weight is not None:
                given = np.asarray(sample_weight)
                if len(given) != len(X):
                    raise DataError(
                        "sample_weight",
                        f"{len(given)} weights for {len(X)} sequences; expected one each",
                    )
                sample_weight = given[full]
            X, lengths = [X[k] for k in full], [lengths[k] for k in full]
        self.classes_, codes = np.unique(np.asarray(tags), return_inverse=True)
        self._columns: dict[str, int] | None = None if _is_matrix(X[0]) else {}
        rows = self._tokens(X, learn=True)
        settings = self._settings(
            example_cost=self.C,
            transitions=self.transitions,
            emissions=self.emissions,
            probability=self.probability,
            quick=self.quick,
            gap=None if self.quick else self.tol,
        )
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        names = Names(tuple(map(str, self.classes_.tolist())), ())
        data = Sequences(rows, bounds, codes.astype(np.int32), Source("X"), names=names)
        own, data = self._apply_weights(data, settings, sample_weight)
        outcome = self._run(own, data, settings)
        self._model, self.n_features_in_ = outcome.model, rows.n_features
        return self._certify([outcome])

    def predict(self, X: Iterable[Any]) -> list[list[Any]]:
        """Tags of every token of every sequence; of one without tokens none."""
        rows, full, bounds = self._rows_of(X)
        tags = np.zeros(0, np.int32)
        if len(full) > 1:
            tags = self._model.tags(rows, full, threads_of(self.n_jobs))
        return self._name_tags(tags, bounds)

    def predict_marginals(self, X: Iterable[Any]) -> list[list[dict[Any, float]]]:
        """The probability of every tag of every token, as in sklearn-crfsuite: calibrated with
        probability=True."""
        p, bounds, _ = self._marginals(X)
        names = self.classes_.tolist()[: p.shape[1]]
        rows = [dict(zip(names, row, strict=True)) for row in p.tolist()]
        return [rows[start:stop] for start, stop in itertools.pairwise(bounds.tolist())]

    def predict_confidences(self, X: Iterable[Any]) -> list[list[float]]:
        """The probability of the predicted tag of every token."""
        p, bounds, tags = self._marginals(X)
        sure = p[np.arange(len(tags)), tags].tolist()
        return [sure[start:stop] for start, stop in itertools.pairwise(bounds.tolist())]

    def predict_n_best(self, X: Iterable[Any], n: int = 5) -> list[list[tuple[list[Any], float]]]:
        """The n best labellings of every sequence with their scores, best first; fewer where there
        are fewer, and of a sequence without tokens the empty one."""
        if not isinstance(n, numbers.Integral) or n < 1:
            raise UsageError("n is {}; expected a number of labellings from 1", n)
        rows, full, bounds = self._rows_of(X)
        names = self.classes_.tolist()
        if len(full) < 2:
            return [[([], 0.0)] for _ in bounds[1:]]
        with own_words():
            labels, scores = self._lattice(rows, full).best(int(n))
        labellings: Any = []
        flat, start = labels.tolist(), 0
        places = iter(scores.tolist())
        for length in np.diff(bounds).tolist():
            if not length:
                labellings.append([([], 0.0)])
                continue
            labellings.append(
                [
                    ([names[tag] for tag in flat[start + k * length :][:length]], score)
                    for k, score in enumerate(next(places))
                    if score > -math.inf
                ]
            )
            start += int(n) * length
        return labellings

    def score(self, X: Iterable[Any], y: Iterable[Sequence[Any]], chunk: bool = False) -> float:
        """The part of all tokens whose tag is right, nan of none; with chunk F1 of the chunks, as
        conlleval has it, in 0 to 1.

        Raises
        ------
        DataError
            With chunk, where tags are not O, and B, I, E or S with a type as in B-NP.
        """
        y = _sequences(y, "y")
        predicted = self.predict(X)
        if [len(sequence) for sequence in predicted] != [len(sequence) for sequence in y]:
            raise DataError("y", "has not one tag for every token of X; expected one each")
        pairs = [pair for one, other in zip(predicted, y) for pair in zip(one, other)]
        if not pairs:
            return math.nan
        if not chunk:
            return float(np.mean([a == b for a, b in pairs]))
        tags = sorted({str(tag) for pair in pairs for tag in pair})
        parts = split_tags(tags)
        if parts is None:
            raise DataError("y", "tags say no chunks; expected O, and B, I, E or S with a type")
        places = {tag: k for k, tag in enumerate(tags)}
        ours, theirs = (
            np.array([places[str(tag)] for tag in side], np.int32)
            for side in zip(*((b, a) for a, b in pairs))
        )
        bounds = np.unique(np.cumsum([0, *map(len, y)]))
        counts = ChunkCounts(parts)
        counts.add(ours, theirs, bounds)
        return counts.f1() / 100

    def _rows_of(self, X: Iterable[Any]) -> tuple[Csr, NDArray[np.int64], NDArray[np.int64]]:
        """All tokens, where sequences with tokens start, and where all do."""
        check_is_fitted(self, "classes_")
        with own_words():
            sequences = _sequences(X, "X")
            lengths = [_length(sequence) for sequence in sequences]
            bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            full = [sequence for sequence, length in zip(sequences, lengths) if length]
            rows = self._tokens(full) if full else rows_of_tokens((), {})
        return rows, np.unique(bounds), bounds

    def _lattice(self, rows: Csr, full: NDArray[np.int64]) -> Lattice:
        return Lattice(self._model, rows, full, threads=threads_of(self.n_jobs))

    def _marginals(
        self, X: Iterable[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int32]]:
        """(tokens, K) probabilities, where the sequences start, and (tokens,) best tags."""
        rows, full, bounds = self._rows_of(X)
        if len(full) < 2:
            K = self._model.shape.n_tags
            return np.zeros((0, K)), bounds, np.zeros(0, np.int32)
        with own_words():
            lattice, t = self._lattice(rows, full), self._model.temperature
            p = lattice.sums(1.0 if t is None else t, marginals=True)[2]
            assert p is not None
            return p, bounds, lattice.tags()[0]

    def _name_tags(self, tags: NDArray[np.int32], bounds: NDArray[np.int64]) -> list[list[Any]]:
        named = self.classes_[tags].tolist()
        return [named[start:stop] for start, stop in itertools.pairwise(bounds.tolist())]

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """Weights of features with tags."""
        if self._columns is None:
            raise AttributeError("state_features_ is of features by name; use emission_coef_")
        W, names, tags = self.emission_coef_, list(self._columns), self.classes_.tolist()
        return {(names[i], tags[k]): float(W[i, k]) for i, k in np.argwhere(W).tolist()}

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """Weights of tags behind tags."""
        V, tags = self.transition_coef_, self.classes_.tolist()
        return {(tags[i], tags[k]): float(V[i, k]) for i, k in np.argwhere(V).tolist()}

    @property
    def feature_names_(self) -> list[str] | None:
        """Names of the features, in the order of their weights."""
        return None if self._columns is None else list(self._columns)

    @property
    def emission_coef_(self) -> NDArray[np.float64]:
        """(features, K) weights of a feature with a tag."""
        model, shape = self._model, self._model.shape
        if shape.emission_order:
            raise AttributeError("emission_coef_ is of emissions=0")
        coef = np.zeros((self.n_features_in_, len(self.classes_)))
        W = model.w[: shape.n_features * shape.node_size].reshape(shape.n_features, shape.node_size)
        columns = np.arange(len(W)) if model.columns is None else model.columns
        coef[columns, : shape.n_tags] = W[:, : shape.n_tags]
        return coef

    @property
    def transition_coef_(self) -> NDArray[np.float64]:
        """(K, K) weights of two tags that follow each other."""
        shape = self._model.shape
        if shape.transition_order != 1:
            raise AttributeError("transition_coef_ is of transitions=1")
        weights = self._model.w[shape.n_features * shape.node_size :].reshape(
            shape.n_tags, shape.stride
        )
        return weights[:, : shape.n_tags].copy()

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model file of the command line: tags and features are numbered from 1 in the
        order here.

        Of features by name it has their names and those of the tags, as texts: ``svmcut classify
        --input crfsuite`` tags with it, and `svmcut.load`.
        """
        check_is_fitted(self, "classes_")
        model = self._model
        if self._columns is not None:
            tags = tuple(map(str, self.classes_.tolist()[: model.shape.n_tags]))
            model = replace(model, names=Names(tags, tuple(self._columns)))
        write_model(str(path), model)

    def _tokens(self, X: Sequence[Any], learn: bool = False) -> Csr:
        """All tokens as rows; names that were not learnt are left out."""
        if self._columns is None:
            matrices = [
                part if hasattr(part, "tocsr") else csr_matrix(np.asarray(part)) for part in X
            ]
            for matrix in matrices:
                check_sparse(matrix)
            rows = vstack(matrices, "csr")
            return self._training_rows(rows) if learn else as_rows(rows)
        return rows_of_tokens((token for sequence in X for token in sequence), self._columns, learn)


def _is_matrix(sequence: Any) -> bool:
    if hasattr(sequence, "shape"):
        return True
    token = sequence[0]
    if isinstance(token, Mapping | str | bytes) or not hasattr(token, "__iter__"):
        return False
    names = list(token)
    return bool(names) and not any(name is None or isinstance(name, str | bytes) for name in names)


def _sequences(given: Any, name: str) -> list[Any]:
    """Sequences as a list of matrices and lists, whatever was iterated over."""
    if given is None or isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__"):
        raise DataError(
            name, Message("{} is no list of sequences; expected one", reprlib.repr(given))
        )
    sequences = []
    for sequence in given:
        if hasattr(sequence, "shape") or isinstance(sequence, list | tuple):
            sequences.append(sequence)
            continue
        if sequence is None or isinstance(sequence, str | bytes | Mapping):
            what = Message("{} is no sequence; expected a list of tokens", reprlib.repr(sequence))
            raise DataError(name, what)
        if not hasattr(sequence, "__iter__"):
            what = Message("{} is no sequence; expected a list of tokens", reprlib.repr(sequence))
            raise DataError(name, what)
        sequences.append(list(sequence))
    return sequences


def _length(sequence: Any) -> int:
    return sequence.shape[0] if hasattr(sequence, "shape") else len(sequence)
