# SPDX-License-Identifier: BSD-3-Clause
"""svmcut: certified training of support vector machines, from the command line and from Python.

Nothing is imported here beyond the version: a run pays only for what it uses. Other names are
imported when asked for.
"""

from svmcut._version import __version__
from svmcut.base.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmcut.api import cross_validate, train
    from svmcut.api.choice import certified_choice
    from svmcut.api.updates import fit_more, forget
    from svmcut.compat import SVC as SVC
    from svmcut.compat import SVR as SVR
    from svmcut.compat import LinearSVC as LinearSVC
    from svmcut.compat import LinearSVR as LinearSVR
    from svmcut.compat import NuSVC as NuSVC
    from svmcut.compat import NuSVR as NuSVR
    from svmcut.estimators.kernel import KernelSVM, KernelSVMRegressor
    from svmcut.estimators.linear import LinearSVM, PerfClassifier
    from svmcut.estimators.one_class import OneClassSVM
    from svmcut.estimators.ranking import RankSVM
    from svmcut.estimators.regression import LinearSVMRegressor
    from svmcut.estimators.structured import ChainSVM, MultilabelSVM
    from svmcut.estimators.survival import SurvivalSVM
    from svmcut.loading import load, load_svmlight_file

_WHERE = {
    "train": "svmcut.api",
    "certified_choice": "svmcut.api.choice",
    "cross_validate": "svmcut.api",
    "fit_more": "svmcut.api.updates",
    "forget": "svmcut.api.updates",
    "load": "svmcut.loading",
    "load_svmlight_file": "svmcut.loading",
    "KernelSVM": "svmcut.estimators.kernel",
    "KernelSVMRegressor": "svmcut.estimators.kernel",
    "LinearSVM": "svmcut.estimators.linear",
    "LinearSVMRegressor": "svmcut.estimators.regression",
    "OneClassSVM": "svmcut.estimators.one_class",
    "PerfClassifier": "svmcut.estimators.linear",
    "RankSVM": "svmcut.estimators.ranking",
    "ChainSVM": "svmcut.estimators.structured",
    "MultilabelSVM": "svmcut.estimators.structured",
    "SurvivalSVM": "svmcut.estimators.survival",
}

#: Those of svmcut.compat, which are looked for here too.
_THEIRS = ("LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "SVC", "SVR")

__all__ = [
    "ChainSVM",
    "KernelSVM",
    "KernelSVMRegressor",
    "LinearSVM",
    "LinearSVMRegressor",
    "MultilabelSVM",
    "OneClassSVM",
    "PerfClassifier",
    "RankSVM",
    "SurvivalSVM",
    "__version__",
    "certified_choice",
    "cross_validate",
    "fit_more",
    "forget",
    "load",
    "load_svmlight_file",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE and name not in _THEIRS:
        raise AttributeError(f"module 'svmcut' has no attribute {name!r}")
    from importlib import import_module

    room = _WHERE.get(name, "svmcut.compat")
    try:
        module = import_module(room)
    except ImportError as error:
        if error.name != "sklearn":
            raise
        return _unavailable(name, error)
    globals()[name] = value = getattr(module, name)
    return value


def _unavailable(name: str, error: ImportError) -> type:
    """Return a class in place of an estimator whose package is missing: it can be looked up, which
    `help`, `hasattr` and `import *` do, and raises the error when it is made."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        raise error

    return type(name, (), {"__doc__": f"Not available: {error}.", "__init__": __init__})


def __dir__() -> list[str]:
    return sorted(__all__)
