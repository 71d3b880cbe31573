# SPDX-License-Identifier: BSD-3-Clause
"""Common parts of estimators: scikit-learn's classes, shared parameters, settings, runs of the
driver, the certificate, and the names that a saved model keeps.

Parameters with their defaults are fields of dataclasses: scikit-learn, editors and type checkers
read them from the signature. All go by keyword but those with kw_only=False; a parameter of a
parent that a class does not offer has init=False.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import math
import numbers
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from svmcut._native import multiclass, sparse
from svmcut.base.errors import DataError, SvmcutError, UsageError
from svmcut.base.messages import Parameter, word_for_python, word_message
from svmcut.base.records import replace
from svmcut.base.resources import one_blas_thread, usable_cpus
from svmcut.base.typing import Any, ClassVar, Self, TypeVar
from svmcut.data.arrays import as_rows, check_columns, check_sparse, to_weights
from svmcut.data.examples import Csr, Examples
from svmcut.data.offset_features import offset_warnings
from svmcut.data.precomputed import number_rows
from svmcut.formats import write_model
from svmcut.spec.catalog import AUTO, INPUTS, MULTICLASS, solvers
from svmcut.spec.entries import ELASTIC_NET, L2
from svmcut.spec.parameters import LARGEST_C, Settings
from svmcut.spec.places import loss_marks
from svmcut.spec.refusals import check, plain
from svmcut.tables.encoding import Encoding, Number
from svmcut.tables.options import is_frame
from svmcut.tasks.protocol import Task, make_task
from svmcut.tasks.weights import apply_weights
from svmcut.training.driver import Driver
from svmcut.training.gate import ENDS, in_memory
from svmcut.training.outcome import Outcome
from svmcut.training.progress_bar import ProgressBar

# mypy finds no types in scikit-learn, and lets a class of unknown parents have any attribute. It
# alone reads here what these parents offer, and so finds slips in users' scripts.
MYPY = False  # but to mypy
if MYPY:

    class BaseEstimator:
        n_features_in_: int
        feature_names_in_: NDArray

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def set_fit_request(self, **routed: Any) -> Self: ...
        def set_score_request(self, **routed: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getstate__(self) -> Any: ...

    class ClassifierMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class RegressorMixin(ClassifierMixin): ...

    class OutlierMixin:
        def fit_predict(self, X: Any, y: Any = None, **routed: Any) -> NDArray: ...

else:
    from sklearn.base import (  # noqa: F401
        BaseEstimator,
        ClassifierMixin,
        OutlierMixin,
        RegressorMixin,
    )


#: C in the place of infinity.
HARD = 1e10


def finite_cost(C: Any) -> Any:
    """C, and a large one for infinity."""
    return HARD if isinstance(C, float) and math.isinf(C) and C > 0 else C


def given_tube(epsilon: Any) -> Any:
    """The tube that epsilon is; refused where it is none."""
    if not (isinstance(epsilon, numbers.Real) and 0 <= float(epsilon) < math.inf):
        raise UsageError("epsilon={!r} is not a finite number of at least 0", epsilon)
    return epsilon


@dataclass(kw_only=True, repr=False, eq=False)
class Running:
    """Parameters of training and its end."""

    tol: float = 1e-3
    solver: str = AUTO
    max_iter: int | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0


@dataclass(kw_only=True, repr=False, eq=False)
class Intercept:
    """The constant feature of linear machines."""

    fit_intercept: bool = True
    intercept_scaling: float = 1.0

    def _bias(self) -> float:
        return self.intercept_scaling if self.fit_intercept else 0.0


@dataclass(kw_only=True, repr=False, eq=False)
class Penalised:
    """Parameters of the penalty of weights."""

    penalty: str = L2
    l1_ratio: float = 0.5
    free_intercept: bool = False


@dataclass(kw_only=True, repr=False, eq=False)
class OfKernels:
    """A kernel and the memory for its values."""

    kernel: Any = "rbf"
    degree: int = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    cache_size: float = 200.0


@dataclass(kw_only=True, repr=False, eq=False)
class Expanded:
    """Kernel machines, exact, in a subspace and on a budget."""

    budget: int = 500
    basis: int = 500
    epochs: float | None = None
    fit_intercept: bool | None = None
    nu: float | None = None


def words_of(classes: NDArray) -> tuple[str, ...]:
    """Return the names of classes; none if one of them is no text."""
    names = classes.tolist()
    return tuple(names) if all(isinstance(name, str) for name in names) else ()


def column_means(X: Any) -> NDArray[np.float64]:
    """Return (d,) the replacement of missing cells in each column."""
    return np.asarray(X.mean(axis=0), np.float64).ravel()


def with_names(model: Any, estimator: Any, words: tuple[str, ...] = ()) -> Any:
    """Return the model with words for its labels 1, 2, .. and the columns that its estimator was
    fitted to."""
    names = getattr(estimator, "feature_names_in_", np.zeros(0)).tolist()
    means = getattr(estimator, "_column_means", None)
    columns: tuple[Number, ...] = ()
    if means is not None and len(set(names)) == len(names):
        pairs = zip(names, means.tolist(), strict=True)
        columns = tuple(Number(name, fill=mean) for name, mean in pairs)
    if not (columns or words):
        return model
    table = Encoding(columns, (), words, "csv" if columns else INPUTS[0])
    return replace(model, table=table)


#: What estimators call the parameters of svmcut.spec.parameters.Settings that have another name
#: there.
WORDS = {
    "cost": "C",
    "example_cost": "C",
    "gap": "tol",
    "epsilon": "tol",
    "max_iterations": "max_iter",
    "threads": "n_jobs",
    "bias": "intercept_scaling",
    "free_bias": "fit_intercept",
    "seed": "random_state",
    "p": "k",
    "multiclass": "multi_class",
}
F = TypeVar("F", bound="Callable[..., Any]")
#: multi_class in their words, scikit-learn's, with those of the catalog.
MULTI_CLASS = dict(zip(("crammer_singer", "ovr", "ovo"), MULTICLASS, strict=True))


def word(parameter: Parameter) -> str:
    """A parameter as an estimator has it."""
    name, value = parameter
    if name not in WORDS:
        return word_for_python(parameter)
    own = {theirs: ours for ours, theirs in MULTI_CLASS.items()}
    return word_for_python(
        Parameter(WORDS[name], own.get(value, value) if isinstance(value, str) else value)
    )


@contextlib.contextmanager
def own_words() -> Iterator[None]:
    """Within it failures speak of the parameters of estimators."""
    try:
        yield
    except SvmcutError as error:
        error.args = (word_message(error.sentence, word),)
        raise


def whole(fit: F) -> F:
    """A fit that sets all attributes or none: it trains a copy, whose attributes are taken over in
    one step.

    What it raises, and Ctrl-C at any moment, leaves the estimator as it was. Failures speak of its
    parameters.
    """

    @functools.wraps(fit)
    def fitted(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        trial = object.__new__(type(self))
        trial.__dict__.update(self.__dict__)
        with own_words(), one_blas_thread(), in_memory():
            _check_kinds(trial)
            fit(trial, *args, **kwargs)
        self.__dict__ = trial.__dict__
        return self

    own: Any = fitted  # with the parameters and the Self of fit
    return own


#: What a value of these parameters must be, which Python would take anything for; of those that a
#: default allows, None.
_KINDS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(
        ("fit_intercept", "probability", "quick", "warm_start"), ((bool, np.bool_), "True or False")
    ),
    **dict.fromkeys(("C", "intercept_scaling"), (numbers.Real, "a number")),
    **dict.fromkeys(("n_jobs", "verbose"), (numbers.Integral, "a whole number")),
}


@functools.cache
def _parameters_of(kind: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of a class of estimators."""
    return inspect.signature(kind).parameters


def _check_kinds(estimator: Any) -> None:
    """Refuses texts and the like in the place of flags and numbers."""
    own: Any = type(estimator)
    defaults = _parameters_of(own)
    for name, (kind, expected) in _KINDS.items():
        if name not in defaults or (
            (value := getattr(estimator, name)) is None and defaults[name].default is None
        ):
            continue
        if not isinstance(value, kind) or (name == "intercept_scaling" and not value >= 0):
            most = " of at least 0" * (name == "intercept_scaling")
            raise UsageError("{}={!r} is not {}{}", name, value, expected, most)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns where a caller's own line is, however deep in svmcut the reason was found."""
    level = 1
    while sys._getframe(level).f_globals.get("__name__", "").startswith("svmcut."):
        level += 1
    warnings.warn(word_message(message, word), category, stacklevel=level + 1)


def threads_of(n_jobs: int | None) -> int:
    """Threads as joblib counts: None is 1, -1 all CPUs, -2 all but one."""
    if n_jobs is None:
        return 1
    return max(1, usable_cpus() + 1 + n_jobs) if n_jobs < 0 else n_jobs


def intercept(machine: Any, bias: float) -> dict[str, Any]:
    """The bias of a linear machine: the value of a constant feature, or one that is free."""
    if not getattr(machine, "free_intercept", False):  # of machines with the names of others
        return {"bias": bias}
    if not machine.fit_intercept:
        raise UsageError("fit_intercept=False leaves no intercept for free_intercept=True")
    return {"bias": 0.0, "free_bias": True}


def check_features_solver(machine: Any) -> None:
    """Refuse a solver that trains no weights of features."""
    known = AUTO, *solvers(machine.task, False)
    if machine.solver not in known:
        raise UsageError(
            "solver {!r} trains no weights of features; expected one of {}",
            machine.solver,
            ", ".join(known),
        )


def penalties(machine: Any) -> dict[str, Any]:
    """The penalty of a machine and, of the elastic net, its ratio."""
    own = {"l1_ratio": machine.l1_ratio} if machine.penalty == ELASTIC_NET else {}
    return {"penalty": machine.penalty, **own}


class Trained(Running, BaseEstimator):
    """An estimator that a driver of svmcut trains.

    Attributes
    ----------
    primal_, dual_, gap_ : (machines,) float64
        Primal value of each machine, a lower bound of the least one, and their difference.
    primal_of_model_ : (machines,) float64
        Primal values by what is predicted; primal_ where rounding changes little.
    converged_ : bool
        Whether every gap is at most tol times the primal value, by what is predicted too.
    solver_ : str
    n_iter_ : int
        Most iterations of a machine.
    """

    task: ClassVar[str]
    #: Templates of warnings that are none for this class.
    unsaid: ClassVar[tuple[str, ...]] = ()
    warm_start: bool = False
    _starts: tuple[bytes, dict[Any, Any]]
    _loss: str
    _k: float
    _parameter: tuple[float, ...] | None
    _calibrated: bool
    _column_means: NDArray[np.float64] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_starts"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _settings(self, **parameters: Any) -> Settings:
        """Checked settings; those every estimator has and those given."""
        seed = 0  # of svmcut learn
        if self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        usual: dict[str, Any] = {
            "gap": self.tol,
            "solver": self.solver,
            "max_iterations": None if self.max_iter == -1 else self.max_iter,
            "seed": seed,
            "threads": threads_of(self.n_jobs),
            "task": self.task,
        }
        if float("inf") in (parameters.get("cost"), parameters.get("example_cost")):
            raise UsageError(
                "C=inf asks for no error at all, which most data do not allow and no gap would "
                "certify; give a large C, up to {:g}",
                LARGEST_C,
            )
        settings = plain(Settings(**{**usual, **parameters}))
        for message in check(settings):
            warn(message)
        return settings

    def _validate(self, X: Any, **options: Any) -> Any:
        """X, or X and y, as scikit-learn checks them."""
        if hasattr(X, "tocsr"):
            check_sparse(X)
        kinds = [np.float64, np.float32]
        try:
            return validate_data(self, X, accept_sparse="csr", dtype=kinds, order="C", **options)
        except (ValueError, TypeError):
            if is_frame(X):
                check_columns(X)
            raise

    def _training_rows(self, X: Any) -> Csr:
        """Rows to train on; warns of columns that are far from 0."""
        biased = bool(
            getattr(self, "intercept_scaling", 0.0) and getattr(self, "fit_intercept", False)
        )
        names = getattr(self, "feature_names_in_", None)
        for message in offset_warnings(X, None, biased, names):
            warn(message)
        self._column_means = None if names is None else column_means(X)
        return as_rows(X)

    def _rows(self, X: Any) -> Csr:
        """Rows to predict, checked once."""
        check_is_fitted(self)
        with own_words():
            return as_rows(self._validate(X, reset=False)).validate()

    def _score_rows(self, X: Any, weights: Any, constants: Any) -> NDArray[np.float64]:
        """(n, K) scores of rows by weights (K, d); a dense matrix is read as it is, to the bytes
        that its sparse form would have."""
        check_is_fitted(self)
        with own_words():
            X, threads = self._validate(X, reset=False), threads_of(self.n_jobs)
            if not hasattr(X, "tocsr"):
                W = np.ascontiguousarray(weights.T)
                dense = multiclass.dense_scores(X, W, constants, threads)
                if dense is not None:
                    return dense
            rows = sparse.Rows(as_rows(X))
        scores = np.empty((len(constants), X.shape[0]))
        for w, constant, out in zip(weights, constants.tolist(), scores, strict=True):
            sparse.predict(rows, np.ascontiguousarray(w), constant, out, threads)
        return scores.T

    def _check_saved(self) -> None:
        """Raise NotFittedError, and refuse what a model file cannot hold."""
        check_is_fitted(self)

    def _write(self, path: Any, model: Any, words: tuple[str, ...] = ()) -> None:
        """Writes a model file, with the names of classes and columns."""
        write_model(str(path), with_names(model, self, words))

    def _apply_weights(self, data: Any, settings: Settings, weights: Any) -> tuple[Task, Any]:
        """The task, and data without what weighs 0."""
        given = None if weights is None else to_weights(weights)
        if given is not None and not given.any():
            raise DataError(
                "sample_weight", "all weights are zero; give one above 0 to every row that counts"
            )
        own = make_task(settings.task)
        data = number_rows(data) if settings.is_given else data
        return own, apply_weights(own, data, settings, given, "sample_weight", tight=False)[0]

    def _run(self, own: Task, data: Any, settings: Settings) -> Outcome:
        """Trains one machine."""
        return self._drive(own.plan(data, settings), settings)

    def _drive(self, driver: Driver, settings: Settings) -> Outcome:
        """Train what a driver has planned; Ctrl-C raises KeyboardInterrupt even if there would be a
        model: a search would go on with the next fit."""
        with ProgressBar(self.verbose > 0, settings, driver.plan.stop) as bar:
            outcome = driver.fit(settings.cost, settings.example_cost, bar.show)
        if driver.interrupted or outcome.stopped_by == "interrupt":
            raise KeyboardInterrupt
        for message in (*driver.warnings, *outcome.warnings, *driver.underfit_warnings(outcome)):
            if getattr(message, "template", None) not in self.unsaid:
                warn(message)
        return outcome

    def _keep(self, outcomes: list[Outcome], settings: Settings) -> None:
        """Sets the attributes of the machines, and what of the parameters they were trained
        with."""
        self._loss = settings.loss or ""
        self._k = settings.p
        self._parameter = None if not self._loss else loss_marks(settings)["parameter"]
        self._calibrated = settings.probability

    def _last(self, data: Examples, y: NDArray, settings: Settings) -> dict[int | None, Any]:
        """The solutions of the last fit by machine, where it was on the same rows and differed in C
        alone; to be filled."""
        settings = replace(settings, cost=None, example_cost=None, seed=0, threads=1)
        X, known = data.X, hashlib.blake2b(repr((settings, data.X.n_features, data.X.nnz)).encode())
        weights = np.zeros(0) if data.weights is None else data.weights
        for part in (X.indptr - X.indptr[0], X.indices[X.stored], X.data[X.stored], y, weights):
            known.update(np.ascontiguousarray(part).data)
        last: tuple[bytes, dict[int | None, Any]] = getattr(self, "_starts", (b"", {}))
        self._starts = known.digest(), dict(last[1]) if last[0] == known.digest() else {}
        return self._starts[1]

    def _certify(self, outcomes: list[Outcome]) -> Self:
        """Sets what is known of the runs, and warns where they ended before their aim."""
        machines = [part for outcome in outcomes for part in machines_of(outcome)]
        self.primal_, self.dual_, iterations, self.primal_of_model_ = map(
            np.array, zip(*((*part[:3], part[4]) for part in machines), strict=True)
        )
        self.gap_ = self.primal_ - self.dual_
        ends = [part[3] for part in machines]
        self.converged_ = all(end is None for end in ends)
        self.solver_ = outcomes[0].solver
        self.n_iter_ = max(1, int(iterations.max()))
        short = [k for k, end in enumerate(ends) if end not in (None, *ENDS)]
        if short:
            worst = max(short, key=lambda k: self.gap_[k])
            of = f"{len(short)} of {len(machines)} machines" if len(machines) > 1 else "training"
            warn(
                f"{of} ended ({ends[worst]}) at gap {self.gap_[worst]:.4g} of primal "
                f"{self.primal_[worst]:.6g}, above tol={self.tol:g}; raise max_iter or tol, or "
                "scale the features",
                ConvergenceWarning,
            )
        return self


def columns_of(model: Any, width: int) -> Any:
    """The columns of the data that the weights of a model of so many features belong to."""
    return slice(width) if model.columns is None else model.columns


def weights_of(model: Any, n_features: int) -> NDArray[np.float64]:
    """(n_features,) weights of a model of one score."""
    weights = np.zeros(n_features)
    weights[columns_of(model, len(model.w))] = model.w
    return weights


def machines_of(outcome: Outcome) -> list[tuple[float, float, int, str | None, float]]:
    """Primal, dual, iterations, early end and the primal of what is predicted of every machine of
    an outcome; of those it did not come to, the sums."""
    keys = ("primal", "dual", "iterations", "stopped_by")
    machines = [
        (*(row[key] for key in keys), row.get("primal_of_file", row["primal"]))
        for row in outcome.details.get("machines", ())
    ]
    every = len(outcome.model.machines()) if hasattr(outcome.model, "machines") else 0
    told = outcome.converged or any(end for *_, end, _ in machines)
    if machines and told and len(machines) >= every:
        return machines
    file = outcome.primal if outcome.primal_of_file is None else outcome.primal_of_file
    own = outcome.primal, outcome.dual, outcome.progress.iteration, outcome.stopped_by
    return [(*own, file)]


def numeric(classes: NDArray) -> NDArray[np.float64] | None:
    """Classes as the numbers a model file has for labels; None where they are none.

    Raises
    ------
    DataError
        For integers beyond 2^53 that no float of 64 bits is equal to.
    """
    if classes.dtype.kind not in "iufb":
        return None
    numbers = classes.astype(np.float64)
    for number, label in zip(numbers.tolist(), classes.tolist(), strict=True):
        if number != label:
            raise DataError(
                "classes_",
                f"a model file's labels are floats of 64 bits, and {label} is none; train with "
                "smaller numbers, or keep the estimator with pickle",
            )
    return numbers
