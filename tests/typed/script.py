# SPDX-License-Identifier: BSD-3-Clause
"""A user's script, which type checkers read: every public way of training once, with the types its
results are used as."""

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import svmcut
from svmcut import compat

X, y = svmcut.load_svmlight_file("data/text.train")
machine = svmcut.LinearSVM(C=1.0, tol=1e-3, loss="squared_hinge", random_state=0).fit(X, y)
labels: NDArray = machine.predict(X)
scores: NDArray = machine.decision_function(X)
gap: float = float(machine.gap_[0])
weights: NDArray = machine.coef_
share: float = machine.score(X, y)
machine.save("model")

certificate: float = machine.primal_[0]
kernel = svmcut.KernelSVM(kernel="rbf", gamma="scale", C=10.0, probability=True)
chances: NDArray = kernel.fit(X, y).predict_proba(X)
search = GridSearchCV(make_pipeline(StandardScaler(), compat.SVC()), {"svc__C": [1, 10]})
means = cross_val_score(compat.LinearSVC(dual="auto"), X, y)
numbers: NDArray = svmcut.LinearSVMRegressor(tube=0.1).fit(X, y).predict(X)

rows, grades, queries = svmcut.load_svmlight_file("data/ranking.train", query_id=True)
ranker = svmcut.RankSVM(C=10.0).fit(rows, grades, queries)
order: NDArray = np.argsort(-ranker.decision_function(rows))

outcome = svmcut.train("data/text.train", example_cost=1.0, kernel="rbf", gamma="scale", gap=1e-3)
primal: float = outcome.primal
converged: bool = outcome.converged
outcome.save("model")
predicted: NDArray = outcome.predict(X)
choice = svmcut.cross_validate((X, y), 5, example_cost=[0.1, 1.0], gamma=[0.1, "scale"])
best: dict[str, float] = choice.best
loaded: NDArray = svmcut.load("model").decision_function(X)
