# SPDX-License-Identifier: BSD-3-Clause
"""Common parts of the modes of svm_learn: the examples, the kernel, C, the report, the
files.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from svmcut.base.errors import DataError, TrainingError
from svmcut.base.resources import usable_cpus
from svmcut.base.typing import Any
from svmcut.cli.training_report import step
from svmcut.data.examples import Examples
from svmcut.files.examples import Comments
from svmcut.files.output import write_atomically
from svmcut.formats import write_light
from svmcut.models import KernelModel
from svmcut.models.kernels import Kernel
from svmcut.originals.svm_light import estimates
from svmcut.originals.svm_light.estimates import LightReport
from svmcut.originals.svm_light.machines import PARTS, MachineProblem, Spent
from svmcut.originals.svm_light.options import KERNELS
from svmcut.risks.weights import example_weights

#: Megabytes of kernel rows at least.
_CACHE = 100.0
#: Tolerance of the KKT conditions at most: the originals' |w| is closer to the optimum than a
#: larger one.
LOOSEST = 0.01


class LightRun:
    """One run on examples in memory."""

    def __init__(
        self, values: dict[str, Any], examples: Examples, comments: Comments, report: LightReport
    ):
        #: values: of the options.
        self.values, self.examples, self._comments, self.report = values, examples, comments, report
        #: X: on the columns that occur, where these are few of all.
        self.X, self._columns = examples.X.compact()
        v = values
        self.kernel = Kernel(
            KERNELS[v["kernel"]], v["degree"], v["gamma"], v["scale"], v["offset"], v["text"]
        )
        self.threads, self.cache = usable_cpus(), max(_CACHE, v["cache"])
        #: (n,) |x|^2.
        self.squared = estimates.squared_lengths(self.X, self.threads)
        #: (n,) d^2 of svmcut.originals.svm_light.estimates.
        self.distances = estimates.distances(self.kernel, self.squared)
        if not np.isfinite(self.distances).all():
            raise TrainingError(
                "{}: kernel values are not finite; scale the features", examples.source.path
            )
        self.began, self._clock = time.process_time(), time.perf_counter()

    def cost(self, squared: NDArray[np.float64]) -> float:
        """C as given, or the default of these d^2, which is told."""
        if self.values["cost"] > 0:
            return self.values["cost"]
        C = estimates.default_cost(squared)
        self.report.say(f"Setting default regularization parameter C={C:.4f}")
        return C

    def machine_problem(
        self, y: NDArray, factors: NDArray | None = None, tube: float | None = None
    ) -> MachineProblem:
        """The problem of all examples, whose C is that of the options times these factors and the
        examples' costs."""
        weights = example_weights(self.examples.weights, len(y))
        if factors is not None:
            weights = factors if weights is None else factors * weights
        return MachineProblem(
            X=self.X,
            y=y,
            kernel=self.kernel,
            C=self.cost(self.distances),
            weights=weights,
            tube=tube,
            tolerance=min(self.values["tolerance"], LOOSEST),
            free_bias=self.values["bias"] != 0,
            cache_mb=self.cache,
            threads=self.threads,
            timed=self.report.verbosity > 1,
        )

    @property
    def longest(self) -> float:
        """The largest sqrt(K(x, x))."""
        return math.sqrt(max(0.0, float(self.kernel.own_values(self.squared).max())))

    def rho_and_depth(self, searched: bool = True) -> str:
        """The text behind every XiAlpha estimate; depth 0 where the search was not made."""
        return f"(rho={self.values['rho']:.2f},depth={self.values['depth'] if searched else 0})"

    def optimize(self) -> None:
        """Begins the line of dots, and the time that is told at its end."""
        self.began, self._clock = time.process_time(), time.perf_counter()
        if self.report.verbosity == 1:
            self.report.say("Optimizing", end="")

    def runtime(self, spent: Spent) -> str:
        """Seconds of this process since `optimize`; from verbosity 2 on with the shares of its
        parts, by the clock."""
        seconds = f"{time.process_time() - self.began:.2f}"
        if self.report.verbosity < 2:
            return seconds
        total = time.perf_counter() - self._clock
        shares = (
            f"{estimates.percent(spent.get(part, 0.0), total):.2f}% for {part}" for part in PARTS
        )
        return f"{seconds} ({'/'.join(shares)})"

    def alphas(self, count: int) -> NDArray[np.float64] | None:
        """The multipliers of the file of -y, one number a line; None without."""
        path = self.values["restart"]
        if path is None:
            return None
        with step(self.report.say, "Reading alphas"):
            try:
                with open(path, encoding="ascii") as file:
                    alpha = np.array([float(line) for line in file if line.strip()])
            except (OSError, ValueError) as error:
                raise DataError(
                    path, getattr(error, "strerror", None) or "a line is no number"
                ) from None
            if len(alpha) != count or not np.isfinite(alpha).all():
                raise DataError(
                    path,
                    f"{len(alpha)} finite numbers; expected {count}, one a line, as -a wrote them",
                )
        self.report.say("Computing starting state...done.")
        return alpha

    def write(
        self,
        model_file: str,
        beta: NDArray,
        b: float,
        documents: int,
        alphas: NDArray,
        signs: NDArray,
    ) -> None:
        """The alpha file and the model f(x) = sum beta_i K(x_i, x) + b; a zero of alphas has its
        sign from `signs`."""
        if self.values["alphas"] is not None:
            with (
                step(self.report.say, "Writing alpha file"),
                write_atomically(self.values["alphas"]) as output,
            ):
                signed = np.copysign(alphas, np.where(alphas == 0, signs, alphas))
                output.write("".join(f"{alpha:.18g}\n" for alpha in signed.tolist()).encode())
        rows = np.flatnonzero(beta)
        known = self._columns, self.examples.X.n_features, documents
        model = KernelModel(self.kernel, self.X.take(rows), beta[rows], 0.0 - b, *known)
        with step(self.report.say, "Writing model file"):
            write_light(model_file, model, self._comments.of(self.examples.source, rows))
