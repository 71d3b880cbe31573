# SPDX-License-Identifier: BSD-3-Clause
"""svmcut as a solver of benchopt's benchmark_logreg_l2.

Copy it into the folder solvers/ of that benchmark, in an environment with svmcut and scikit-learn:

    benchopt run . -s svmcut

    min_w  sum_i log(1 + exp(-y_i w.x_i)) + lmbd/2 |w|^2,   which is svmcut's at C = 1/lmbd
"""

from benchopt import BaseSolver


class Solver(BaseSolver):
    name = "svmcut"
    #: Benchopt lowers it from run to run; here it is the proven gap relative to the objective.
    sampling_strategy = "tolerance"
    references = ["C.-J. Lin, R. Weng, S. Keerthi, Trust region Newton method, JMLR 2008"]

    def skip(self, X, y, lmbd, fit_intercept=False):
        if fit_intercept:
            return True, "svmcut's bias is compared by benchmarks/estimators.py"
        return False, None

    def set_objective(self, X, y, lmbd, fit_intercept=False):
        from svmcut import LinearSVM

        self.X, self.y = X, y
        self.machine = LinearSVM(
            C=1.0 / lmbd, loss="logistic", fit_intercept=False, random_state=0, n_jobs=1
        )

    def run(self, tolerance):
        self.machine.set_params(tol=min(max(tolerance, 1e-12), 0.5)).fit(self.X, self.y)

    def get_result(self):
        return {"beta": self.machine.coef_.ravel()}
