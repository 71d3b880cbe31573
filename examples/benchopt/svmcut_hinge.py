# SPDX-License-Identifier: BSD-3-Clause
"""svmcut as a solver of benchopt's benchmark_linear_svm_binary_classif_no_intercept.

Copy it into the folder solvers/ of that benchmark, in an environment with svmcut and scikit-learn:

    benchopt run . -s svmcut

    min_w  1/2 |w|^2 + C sum_i max(0, 1 - y_i w.x_i)
"""

from benchopt import BaseSolver


class Solver(BaseSolver):
    name = "svmcut"
    #: Benchopt lowers it from run to run; here it is the proven gap relative to the objective.
    sampling_strategy = "tolerance"
    parameters = {"solver": ["auto"]}
    references = [
        "T. Joachims, Training linear SVMs in linear time, KDD 2006",
        "C.-J. Hsieh et al., A dual coordinate descent method for linear SVM, ICML 2008",
    ]

    def set_objective(self, X, y, C):
        from svmcut import LinearSVM

        self.X, self.y = X, y
        self.machine = LinearSVM(
            C=C, fit_intercept=False, solver=self.solver, random_state=0, n_jobs=1
        )

    def run(self, tolerance):
        self.machine.set_params(tol=min(max(tolerance, 1e-12), 0.5)).fit(self.X, self.y)

    def get_result(self):
        return {"beta": self.machine.coef_.ravel()}
