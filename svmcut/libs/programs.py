# SPDX-License-Identifier: BSD-3-Clause
"""Entry points of svm-train, svm-predict, svm-scale, liblinear-train and liblinear-predict, which
`svmcut names` writes."""

from __future__ import annotations

from svmcut.libs import usages
from svmcut.libs.words import run_program
from svmcut.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def svm_train(argv: list[str] | None = None) -> int:
    """Entry point of ``svm-train``."""
    return _run("svm-train", usages.SVM_TRAIN, "svm_train", argv)


def svm_predict(argv: list[str] | None = None) -> int:
    """Entry point of ``svm-predict``."""
    return _run("svm-predict", usages.SVM_PREDICT, "svm_predict", argv)


def svm_scale(argv: list[str] | None = None) -> int:
    """Entry point of ``svm-scale``."""
    return _run("svm-scale", usages.SVM_SCALE, "svm_scale", argv)


def liblinear_train(argv: list[str] | None = None) -> int:
    """Entry point of ``liblinear-train``, LIBLINEAR's ``train``."""
    return _run("liblinear-train", usages.LIBLINEAR_TRAIN, "liblinear_train", argv)


def liblinear_predict(argv: list[str] | None = None) -> int:
    """Entry point of ``liblinear-predict``, LIBLINEAR's ``predict``."""
    return _run("liblinear-predict", usages.LIBLINEAR_PREDICT, "liblinear_predict", argv)


def _run(name: str, usage: str, module: str, argv: list[str] | None) -> int:
    def work(words: list[str]) -> None:
        import importlib

        run: Callable[[list[str]], None] = importlib.import_module(f"svmcut.libs.{module}").run
        run(words)

    return run_program(name, usage, work, argv)
