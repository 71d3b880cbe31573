# SPDX-License-Identifier: BSD-3-Clause
"""Entry points of svm-train, svm-predict, svm-scale, liblinear-train and liblinear-predict, which
`svmcut names` writes.

What the programs print where their command line is no such line.
"""

from __future__ import annotations

from svmcut.base.typing import TYPE_CHECKING
from svmcut.originals.libs.words import run_program

if TYPE_CHECKING:
    from collections.abc import Callable


SVM_TRAIN = """\
Usage: svm-train [options] training_set_file [model_file]
options:
-s svm_type : kind of machine (default 0)
    0 -- C-SVC (classes)
    1 -- nu-SVC (classes)
    2 -- one-class SVM
    3 -- epsilon-SVR (numbers)
    4 -- nu-SVR (numbers)
-t kernel_type : kernel (default 2)
    0 -- linear: u'*v
    1 -- polynomial: (gamma*u'*v + coef0)^degree
    2 -- radial basis function: exp(-gamma*|u-v|^2)
    3 -- sigmoid: tanh(gamma*u'*v + coef0)
    4 -- precomputed: training_set_file holds kernel values
-d degree : of the polynomial (default 3)
-g gamma : of the kernel (default 1/number of features)
-r coef0 : of the kernel (default 0)
-c cost : C of C-SVC, epsilon-SVR and nu-SVR (default 1)
-n nu : of nu-SVC, one-class SVM and nu-SVR (default 0.5)
-p epsilon : half the width of the tube of epsilon-SVR (default 0.1)
-m cachesize : megabytes of kernel values that are kept (default 100)
-e epsilon : tolerance at which training ends (default 0.001)
-h shrinking : 0 or 1; taken, the result does not depend on it (default 1)
-b probability_estimates : 0 or 1, whether the model gives probabilities (default 0)
-wi weight : C of class i is weight*C, for C-SVC (default 1)
-v n : n-fold cross validation
-q : prints nothing of training
"""

SVM_PREDICT = """\
Usage: svm-predict [options] test_file model_file output_file
options:
-b probability_estimates : 0 or 1, whether to write probabilities (default 0)
-q : prints nothing
"""

SVM_SCALE = """\
Usage: svm-scale [options] data_filename
options:
-l lower : where the lowest value of a feature goes (default -1)
-u upper : where the highest value goes (default 1)
-y y_lower y_upper : limits that labels are scaled to (default: they stay)
-s save_filename : write the ranges of the features
-r restore_filename : scale by ranges that were written
"""

LIBLINEAR_TRAIN = """\
Usage: train [options] training_set_file [model_file]
options:
-s type : solver (default 1)
  for classes
     0 -- L2-regularized logistic regression (primal)
     1 -- L2-regularized L2-loss support vector machine (dual)
     2 -- L2-regularized L2-loss support vector machine (primal)
     3 -- L2-regularized L1-loss support vector machine (dual)
     4 -- support vector machine of Crammer and Singer
     5 -- L1-regularized L2-loss support vector machine
     6 -- L1-regularized logistic regression
     7 -- L2-regularized logistic regression (dual)
  for numbers
    11 -- L2-regularized L2-loss support vector regression (primal)
    12 -- L2-regularized L2-loss support vector regression (dual)
    13 -- L2-regularized L1-loss support vector regression (dual)
  for outliers
    21 -- one-class support vector machine (dual)
-c cost : C (default 1)
-p epsilon : half the width of the tube of regression (default 0.1)
-n nu : of the one-class machine (default 0.5)
-e epsilon : tolerance at which training ends (default 0.01 for -s 0, 2, 5, 6, 21; 0.1 for 1, 3, 4,
    7, 12, 13; 0.0001 for 11)
-B bias : value of a feature that every row has besides; below 0 there is none (default -1)
-R : do not regularize the bias; with -B 1 and -s 0, 2, 5, 6 or 11
-wi weight : C of class i is weight*C (default 1)
-v n : n-fold cross validation
-C : find C, for -s 0 and 2, and C and p for -s 11
-q : prints nothing of training
"""

LIBLINEAR_PREDICT = """\
Usage: predict [options] test_file model_file output_file
options:
-b probability_estimates : 0 or 1, whether to write probabilities (default 0)
-q : prints nothing
"""


def svm_train(argv: list[str] | None = None) -> int:
    """Entry point of ``svm-train``."""
    return _run("svm-train", SVM_TRAIN, "svm_train", argv)


def svm_predict(argv: list[str] | None = None) -> int:
    """Entry point of ``svm-predict``."""
    return _run("svm-predict", SVM_PREDICT, "svm_predict", argv)


def svm_scale(argv: list[str] | None = None) -> int:
    """Entry point of ``svm-scale``."""
    return _run("svm-scale", SVM_SCALE, "svm_scale", argv)


def liblinear_train(argv: list[str] | None = None) -> int:
    """Entry point of ``liblinear-train``, LIBLINEAR's ``train``."""
    return _run("liblinear-train", LIBLINEAR_TRAIN, "liblinear_train", argv)


def liblinear_predict(argv: list[str] | None = None) -> int:
    """Entry point of ``liblinear-predict``, LIBLINEAR's ``predict``."""
    return _run("liblinear-predict", LIBLINEAR_PREDICT, "liblinear_predict", argv)


def _run(name: str, usage: str, module: str, argv: list[str] | None) -> int:
    def work(words: list[str]) -> None:
        import importlib

        run: Callable[[list[str]], None] = importlib.import_module(
            f"svmcut.originals.libs.{module}"
        ).run
        run(words)

    return run_program(name, usage, work, argv)
