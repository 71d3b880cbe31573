#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rankings: C by cross-validation in which no query is torn apart, and the ranking of queries never
seen.

python examples/python/ranking_queries.py [PICTURE]
"""

import sys
from pathlib import Path

import numpy as np
import sklearn
from matplotlib.figure import Figure
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold

import svmcut
from svmcut import RankSVM

DATA = Path(__file__).resolve().parents[2] / "data"
picture = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")

X, y, qid = svmcut.load_svmlight_file(DATA / "ranking.train", query_id=True)
test, right, queries = svmcut.load_svmlight_file(
    DATA / "ranking.test", n_features=X.shape[1], query_id=True
)

# Queries reach fit and score by metadata routing; the folds are of whole queries.
with sklearn.config_context(enable_metadata_routing=True):
    ranker = RankSVM(tol=1e-2).set_fit_request(qid=True).set_score_request(qid=True)
    search = GridSearchCV(ranker, {"C": [0.01, 0.1, 1.0, 10.0]}, cv=GroupKFold(5))
    search.fit(X, y, qid=qid, groups=qid)
    best = search.best_estimator_
    print(
        f"best C {best.C:g}: {100 * search.best_score_:.1f} % of the pairs in order, on held-out "
        "queries"
    )
    print(f"of the test set: {100 * best.score(test, right, qid=queries):.1f} %")


def gain(scores):
    """NDCG of the first five places of every query."""
    rows = [np.flatnonzero(queries == query) for query in np.unique(queries)]
    return np.array(
        [ndcg_score([right[part]], [scores[part]], k=5) for part in rows if len(part) > 1]
    )


ours, chance = gain(best.predict(test)), gain(np.random.default_rng(0).random(len(right)))
print(f"NDCG@5 {ours.mean():.3f}, of a random order {chance.mean():.3f}")

figure = Figure(figsize=(9, 3.5), layout="constrained")
left, right_side = figure.subplots(1, 2)
results = search.cv_results_
left.errorbar(
    results["param_C"].astype(float),
    results["mean_test_score"],
    results["std_test_score"],
    marker="o",
)
left.set(xscale="log", xlabel="C", ylabel="pairs in order", title="Five folds of queries")
right_side.hist([ours, chance], bins=12, label=["RankSVM", "random order"])
right_side.set(xlabel="NDCG@5", ylabel="queries", title="Of every query of the test set")
right_side.legend()
figure.savefig(picture)
