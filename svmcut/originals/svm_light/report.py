# SPDX-License-Identifier: BSD-3-Clause
"""The printed lines of svm_learn."""

from __future__ import annotations

from collections.abc import Callable

from svmcut.cli.termination import check_signals
from svmcut.cli.training_report import out
from svmcut.originals.svm_light.estimates import Rates


class LightReport:
    """Prints the lines of a run, at once; nothing at verbosity 0. observe: takes a step of a
    solver, and prints a dot, or two lines at verbosity 2."""

    def __init__(self, verbosity: int):
        self.verbosity = verbosity
        self._iterations = 0

    def say(self, text: str = "", end: str = "\n") -> None:
        if self.verbosity > 0:
            out(text, end)

    def more(self, text: str) -> None:
        """Lines of verbosity 2."""
        if self.verbosity > 1:
            out(text)

    def observe(self, step: object) -> None:
        check_signals()
        self._iterations += 1
        if self.verbosity == 1:
            out(".", "")
        elif self.verbosity > 1:
            support, violation = getattr(step, "support", 0), getattr(step, "violation", None)
            told = f"({support} SV)" if violation is None else f"(max violation={violation:.5f})"
            out(f"Iteration {self._iterations}: \n => {told}")

    def print_end(self, steps: int, wrong: int | None, violation: float, runtime: str) -> None:
        """The end of the line of dots, and the next two."""
        self.say(
            f"done. ({steps} iterations)" if self.verbosity == 1 else "",
            "\n" if self.verbosity == 1 else "",
        )
        missed = "" if wrong is None else f"{wrong} misclassified, "
        self.say(f"Optimization finished ({missed}maxdiff={violation:.5f}).")
        self.say(f"Runtime in cpu-seconds: {runtime}")

    def sizes(
        self, vectors: int, bound: str, loss: float, norm: float, longest: float, drawn: str = ""
    ) -> None:
        """Support vectors, loss and lengths; drawn: of how many pairs those are that are not of
        all."""
        self.say(f"Number of SV: {vectors} ({bound}){drawn}")
        self.say(f"L1 loss: loss={loss:.5f}")
        self.say(f"Norm of weight vector: |w|={norm:.5f}")
        self.say(f"Norm of longest example vector: |x|={longest:.5f}{drawn}")

    def dimension(self, value: float, drawn: str = "") -> None:
        self.say(f"Estimated VCdim of classifier: VCdim<={value:.5f}{drawn}")

    def xi_alpha(
        self, estimate: Callable[[], Rates], seconds: Callable[[], float], how: str
    ) -> None:
        """The block of the XiAlpha estimates; how: rho and depth."""
        self.say("Computing XiAlpha-estimates...", end="")
        rates = estimate()
        self.say("done")
        self.say(f"Runtime for XiAlpha-estimates in cpu-seconds: {seconds():.2f}")
        self.say(f"XiAlpha-estimate of the error: error<={rates.error:.2f}% {how}")
        self.say(f"XiAlpha-estimate of the recall: recall=>{rates.recall:.2f}% {how}")
        self.say(f"XiAlpha-estimate of the precision: precision=>{rates.precision:.2f}% {how}")

    def left_out(self, rates: Rates, computed: int, rho: float, seconds: float) -> None:
        """The block of leave-one-out."""
        self.say(f"Leave-one-out estimate of the error: error={rates.error:.2f}%")
        self.say(f"Leave-one-out estimate of the recall: recall={rates.recall:.2f}%")
        self.say(f"Leave-one-out estimate of the precision: precision={rates.precision:.2f}%")
        self.say(f"Actual leave-one-outs computed:  {computed} (rho={rho:.2f})")
        self.say(f"Runtime for leave-one-out in cpu-seconds: {seconds:.2f}")

    def evaluations(self, count: int) -> None:
        self.say(f"Number of kernel evaluations: {count}")
