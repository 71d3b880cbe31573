# SPDX-License-Identifier: BSD-3-Clause
"""One run of a peer that is called from Python, in a process of its own, for benchmarks/board.py.

    python benchmarks/board_peers.py PEER TASK TRAIN TEST C SETTING OUTPUT

OUTPUT.npy gets the weights, the bias last, where the task is a linear one; OUTPUT.json the CPU
seconds of reading and training, without those of importing libraries, and what is known of the
result. The bias is the weight of a constant feature, as LIBLINEAR's -B 1 and svmcut have it; SVC
has its own.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np


def loaded(path):
    """Rows with a constant feature, signs of the labels."""
    from scipy import sparse
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(path)
    X = sparse.hstack([X, np.ones((X.shape[0], 1))], "csr")
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.where(y > 0, 1, -1)


def linear(estimator):
    """Trains what has a coef_ after fit."""

    def run(path, _, C, setting, output):
        began = time.process_time()
        X, y = loaded(path)
        model = estimator(C, setting, len(y)).fit(X, y)
        spent = time.process_time() - began
        np.save(output + ".npy", model.coef_.ravel())
        return {"cpu": spent}

    return run


def linear_svc(loss):
    from sklearn.svm import LinearSVC

    known = {"loss": loss, "fit_intercept": False, "random_state": 0, "max_iter": 100000}
    return linear(lambda C, tol, n: LinearSVC(C=C, tol=tol, **known))


def logistic(loss):
    from sklearn.linear_model import LogisticRegression

    return linear(
        lambda C, tol, n: LogisticRegression(C=C, tol=tol, fit_intercept=False, max_iter=10000)
    )


def in_c(convert, fit, save):
    """Runs a C library as its Python package has it; what copies the rows to its own form is not
    charged."""

    def run(path, gamma, C, e, output):
        from sklearn.datasets import load_svmlight_file

        began = time.process_time()
        X, y = load_svmlight_file(path)
        spent = time.process_time() - began
        given = convert(y, X)
        began = time.process_time()
        model = fit(given, gamma, C, e)
        spent += time.process_time() - began
        save(output, model)
        return {"cpu": spent}

    return run


def liblinear(number):
    from liblinear.liblinearutil import parameter, problem, save_model, train

    def fit(given, _, C, e):
        return train(given, parameter(f"-s {number} -c {C!r} -e {e!r} -B 1 -q"))

    return in_c(problem, fit, save_model)


def each_label(_):
    """LIBLINEAR for one label after the other; what copies a label's signs is not charged, nor is
    writing."""
    from liblinear.liblinearutil import parameter, problem, train

    from svmcut.files.multilabel import read_multilabel

    def run(path, _, C, e, output):
        from objective import label_objective
        from scipy.sparse import csr_matrix

        began = time.process_time()
        sets = read_multilabel(path)
        spent = time.process_time() - began
        X = csr_matrix((sets.X.data.astype(float), sets.X.indices, sets.X.indptr))
        gold, d = sets.gold(), sets.X.n_features
        given = problem(np.ones(len(sets)), X)
        signs = np.ctypeslib.as_array(given.y, (len(sets),))
        W = np.zeros((d + 1, gold.shape[1]))
        for k in range(gold.shape[1]):
            signs[:] = np.where(gold[:, k], 1.0, -1.0)
            began = time.process_time()
            model = train(given, parameter(f"-s 3 -c {C!r} -e {e!r} -B 1 -q"))
            spent += time.process_time() - began
            w = np.ctypeslib.as_array(model.w, (model.nr_feature + 1,))
            W[[*range(model.nr_feature), d], k] = w if model.label[0] > 0 else -w
        return {"cpu": spent, "value": label_objective(sets, W[:-1], W[-1], C)}

    return run


def libsvm(_):
    from libsvm.svmutil import svm_parameter, svm_problem, svm_save_model, svm_train

    def fit(given, gamma, C, e):
        return svm_train(given, svm_parameter(f"-c {C!r} -g {gamma} -e {e!r} -m 200 -q"))

    return in_c(svm_problem, fit, svm_save_model)


def skglm(_):
    """Compiles its loops before, on a few rows."""
    from skglm import LinearSVC

    def run(path, _, C, tol, output):
        began = time.process_time()
        X, y = loaded(path)
        spent = time.process_time() - began
        few = np.r_[np.flatnonzero(y > 0)[:10], np.flatnonzero(y < 0)[:10]]
        machine = lambda tol: LinearSVC(C=C, tol=tol, fit_intercept=False)  # noqa: E731
        machine(1.0).fit(X[few], y[few])
        began = time.process_time()
        model = machine(tol).fit(X, y)
        spent += time.process_time() - began
        np.save(output + ".npy", np.ravel(model.coef_))
        return {"cpu": spent}

    return run


def rehline(_):
    """Takes dense rows."""
    from rehline import plqERM_Ridge

    def run(path, _, C, tol, output):
        began = time.process_time()
        X, y = loaded(path)
        if X.shape[1] > 2000:
            raise ValueError("rows as dense ones do not fit")
        machine = plqERM_Ridge(loss={"name": "svm"}, C=C, tol=tol, max_iter=100_000)
        model = machine.fit(np.ascontiguousarray(X.toarray()), y.astype(float))
        spent = time.process_time() - began
        np.save(output + ".npy", np.ravel(model.coef_))
        return {"cpu": spent}

    return run


def patched(make):
    """A machine of scikit-learn under scikit-learn-intelex."""

    def bound(loss):
        from sklearnex import patch_sklearn

        patch_sklearn(verbose=False)
        return make(loss)

    return bound


def sgd(loss):
    from sklearn.linear_model import SGDClassifier

    return linear(
        lambda C, epochs, n: SGDClassifier(
            loss=loss,
            alpha=1 / (C * n),
            max_iter=int(epochs),
            tol=None,
            fit_intercept=False,
            random_state=0,
        )
    )


def vowpal_wabbit(loss):
    """The text is written in its format beforehand, untimed; the hash of a number is the number."""
    from vowpalwabbit import Workspace

    def run(path, _, C, passes, output):
        rows, n, d = Path(output + ".vw"), 0, 0
        with open(path, encoding="ascii") as source, open(rows, "w", encoding="ascii") as sink:
            for line in source:
                label, *pairs = line.split()
                sink.write(f"{'1' if float(label) > 0 else '-1'} | 0:1 {' '.join(pairs)}\n")
                n, d = n + 1, max([d, *(int(pair.split(":")[0]) for pair in pairs[-1:])])
        bits = max(18, (d + 1).bit_length())
        model, text = output + ".model", output + ".txt"
        words = (
            f"-d {rows} -k -c --cache_file {output}.cache --passes {int(passes)} --holdout_off "
            "--quiet --noconstant"
        )
        words += (
            f" --loss_function {loss} --l2 {1 / (C * n)!r} -b {bits} -f {model} --readable_model "
            f"{text}"
        )
        began = time.process_time()
        Workspace(words).finish()
        spent, w = time.process_time() - began, np.zeros(d + 1)
        lines = Path(text).read_text(encoding="ascii").splitlines()
        for line in lines[lines.index(":0") + 1 if ":0" in lines else 0 :]:
            name, _, rest = line.partition(":")
            if name.isdigit():
                w[int(name)] = float(rest.split()[0])
        np.save(output + ".npy", np.append(w[1:], w[0]))
        return {"cpu": spent}

    return run


def svc(_):
    from sklearn.datasets import load_svmlight_file
    from sklearn.svm import SVC

    def run(path, gamma, C, tol, output):
        began = time.process_time()
        X, y = load_svmlight_file(path)
        X = X.toarray()
        model = SVC(C=C, gamma=float(gamma), tol=tol).fit(X, y > 0)
        spent, beta, V = (
            time.process_time() - began,
            model.dual_coef_.ravel(),
            model.support_vectors_,
        )
        squares = (V**2).sum(1)
        norm = sum(
            float(
                beta[at : at + 1000]
                @ np.exp(
                    -float(gamma)
                    * np.maximum(
                        squares[at : at + 1000, None] + squares - 2 * V[at : at + 1000] @ V.T, 0
                    )
                )
                @ beta
            )
            for at in range(0, len(beta), 1000)
        )
        return {"cpu": spent, "value": float(0.5 * norm - np.abs(beta).sum())}

    return run


def crfsuite(_):
    import pycrfsuite
    from sequences import crf_sequences

    def run(path, test, C, setting, output):
        algorithm, iterations = setting.split("-")
        began = time.process_time()
        items, tags = crf_sequences(path)
        more = {"c2": 1.0} if algorithm in ("lbfgs", "l2sgd") else {}
        trainer = pycrfsuite.Trainer(
            algorithm, {"max_iterations": int(iterations), **more}, verbose=False
        )
        for x, y in zip(items, tags, strict=True):
            trainer.append(x, y)
        trainer.train(output + ".crf")
        spent = time.process_time() - began
        tagger = pycrfsuite.Tagger()
        tagger.open(output + ".crf")
        items, tags = crf_sequences(test)
        wrong = [
            sum(a != b for a, b in zip(tagger.tag(x), y, strict=True))
            for x, y in zip(items, tags, strict=True)
        ]
        return {"cpu": spent, "value": 100 * sum(wrong) / sum(map(len, tags))}

    return run


def ranked(path):
    from sklearn.datasets import load_svmlight_file

    X, y, qid = load_svmlight_file(path, query_id=True)
    return X.toarray().astype(np.float32), y, qid


def trees(fit):
    """Boosted trees on queries; the value is 100 (1 - NDCG@10)."""
    from svmcut.scoring.measures import ranking_measures

    def run(path, test, C, rounds, output):
        began = time.process_time()
        X, y, qid = ranked(path)
        score = fit(X, y, qid, int(rounds))
        spent = time.process_time() - began
        X, y, qid = ranked(test)
        return {
            "cpu": spent,
            "value": 100 * (1 - ranking_measures(y, score(X), qid).values["ndcg@10"]),
        }

    return run


def lightgbm(_):
    import lightgbm

    def fit(X, y, qid, rounds):
        model = lightgbm.LGBMRanker(n_estimators=rounds, learning_rate=0.05, n_jobs=1, verbose=-1)
        return model.fit(X, y.astype(int), group=np.unique(qid, return_counts=True)[1]).predict

    return trees(fit)


def xgboost(_):
    import xgboost

    def fit(X, y, qid, rounds):
        model = xgboost.XGBRanker(
            n_estimators=rounds, learning_rate=0.05, objective="rank:ndcg", n_jobs=1
        )
        return model.fit(X, y, qid=qid).predict

    return trees(fit)


PEERS = {
    "LinearSVC": linear_svc,
    "LogisticRegression": logistic,
    "SGDClassifier": sgd,
    "vowpal-wabbit": vowpal_wabbit,
    "SVC": svc,
    "LIBLINEAR": liblinear,
    "LIBLINEAR labels": each_label,
    "LIBSVM": libsvm,
    "skglm": skglm,
    "ReHLine": rehline,
    "SVC-intelex": patched(svc),
    "LogisticRegression-intelex": patched(logistic),
    "crfsuite": crfsuite,
    "lightgbm": lightgbm,
    "xgboost": xgboost,
}
#: What a peer calls the loss of a task.
LOSSES = {
    ("LinearSVC", "squared-hinge"): "squared_hinge",
    ("SGDClassifier", "squared-hinge"): "squared_hinge",
    ("SGDClassifier", "logistic"): "log_loss",
}


def main(peer, task, train, test, C, setting, output):
    warnings.simplefilter("ignore")
    name, _, number = peer.partition(" -s ")
    run = PEERS[name](number or LOSSES.get((peer, task), task))
    number = float(setting) if peer != "crfsuite" else setting
    Path(output + ".json").write_text(
        json.dumps(run(train, test, float(C), number, output)), encoding="ascii"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
