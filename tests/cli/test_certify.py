# SPDX-License-Identifier: BSD-3-Clause
"""classify --certify: bounds of scores hold those of the optimum, and no proven label differs from
its label."""

import json
from pathlib import Path

import numpy as np
import pytest
from programs import call, forked, uncertified

import svmcut
from svmcut.formats import read_model
from svmcut.models.order_bounds import proven_tags
from svmcut.tables.conll import read_conll

MACHINES = {
    "hinge": (),
    "squared hinge": ("-l", "squared-hinge"),
    "logistic": ("-l", "logistic", "--example-cost", "3"),
    "large C": ("--example-cost", "100"),
    "f1": ("-l", "f1", "-c", "20"),
    "no bias": ("--b", "0"),
    "bias 3": ("--b", "3"),
    "rbf": ("-t", "rbf", "-g", "0.2", "--no-free-bias"),
    "polynomial": ("-t", "polynomial", "-d", "2", "-r", "1", "--no-free-bias"),
    "regression": ("--task", "regression"),
    "squared tube": ("--task", "regression", "-l", "squared-epsilon-insensitive"),
    "one against the rest": ("--task", "multiclass", "--multiclass", "one-vs-rest"),
    "crammer-singer": ("--task", "multiclass", "--multiclass", "crammer-singer"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("certify"), np.random.default_rng(5)
    X = rng.normal(size=(240, 6)) * [1, 3, 0.3, 1, 1, 1]
    score = X @ [1, 0.3, 2, 0, -1, 0.5] + rng.normal(size=240)
    heads = {
        "classes": np.where(score > 0.5, 1, -1),
        "numbers": np.round(score, 3),
        "three": np.digitize(score, [-1, 1]) + 1,
    }
    for name, labels in heads.items():
        lines = [
            f"{label:g} " + " ".join(f"{j}:{value:.4f}" for j, value in enumerate(row, 1)) + "\n"
            for label, row in zip(labels, X, strict=True)
        ]
        (folder / f"{name}.train").write_text("".join(lines[:160]))
        (folder / f"{name}.test").write_text("".join(lines[160:]) + "1\n1 900:2\n")
    return folder


def _scores(model, path, folder):
    assert call("svmcut classify", "-v", "0", path, model, folder / "s") == 0
    return np.loadtxt(folder / "s", ndmin=2, usecols=None)


def _labels(scores, K):
    return scores[:, 0] > 0 if K == 1 else scores[:, -K:].argmax(axis=1)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", MACHINES)
def test_the_optimum_lies_within_the_bounds(name, folder, capsys):
    words = MACHINES[name]
    files = "numbers" if "regression" in words else "three" if "multiclass" in words else "classes"
    train, test = folder / f"{files}.train", folder / f"{files}.test"
    exact = folder / "exact"
    assert call("svmcut learn", "-v", "0", *words, "--gap", "1e-9", train, exact) in (0, 3)
    best = _scores(exact, test, folder)
    known = []
    for gap in ("1e-1", "1e-3", "1e-6"):
        model, bounds, report = folder / "model", folder / "bounds", folder / "report"
        assert call("svmcut learn", "-v", "0", *words, "--gap", gap, train, model) == 0
        asked = ("--certify", "--bounds", bounds, "--report", report)
        capsys.readouterr()
        assert call("svmcut classify", "-v", "0", *asked, test, model, folder / "p") == 0
        found = np.loadtxt(bounds, ndmin=2)
        K = found.shape[1] // 2
        low, high = found[:, ::2], found[:, 1::2]
        assert (low - 1e-5 <= best[:, -K:]).all() and (best[:, -K:] <= high + 1e-5).all()
        told, document = capsys.readouterr().out, json.loads(report.read_text())
        if files == "numbers":
            assert "decided" not in document and "Certified" not in told
            continue
        own = np.loadtxt(folder / "p", ndmin=2)
        sure = svmcut.load(model).decided(svmcut.load_svmlight_file(test)[0])
        assert document["decided"] == sure.sum() and f"Certified: {sure.sum()} of" in told
        assert document["decided_fraction"] == sure.mean()
        assert (_labels(own, K) == _labels(best, K))[sure].all()
        known.append(sure.mean())
    assert known == sorted(known) and (files == "numbers" or known[-1] > 0.8), known


def test_models_without_a_certificate_are_refused(folder, capsys):
    train, model = folder / "classes.train", folder / "m"
    for words in (("--no-certify",), ("--free-bias",), ("--penalty", "l1", "-l", "logistic")):
        assert call("svmcut learn", "-v", "0", *words, train, model) == 0
        assert read_model(str(model)).certificate is None
        assert call("svmcut classify", "--certify", train, model, folder / "p") == 1
        assert "the model has no certificate" in capsys.readouterr().err
    assert call("svm_perf_learn", "-v", "0", "-c", "1", train, model) == 0
    own = model.read_bytes()
    assert b"certificate" not in own
    assert call("svmcut learn", "-v", "0", "-c", "1", train, model) == 0
    assert uncertified(model) == own


def test_a_certificate_that_is_none_is_refused(folder, capsys):
    train, model = folder / "classes.train", folder / "m"
    assert call("svmcut learn", "-v", "0", train, model) == 0
    text = model.read_text()
    line = text.splitlines()[-1]
    gap, radius, bias = map(float, line.split()[2:5])
    assert 0 < radius <= np.sqrt(2 * gap) and bias == 1
    for wrong in (f"{gap} {-radius} {bias}", f"{gap} {radius}", f"-1 {radius} 1", "x 1 1"):
        model.write_text(text.replace(line, f"#@ certificate {wrong}"))
        assert call("svmcut classify", train, model, folder / "p") == 1
        assert "#@ certificate GAP RADIUS BIAS" in capsys.readouterr().err


def test_python_has_the_bounds(folder):
    X, y = svmcut.load_svmlight_file(folder / "classes.train")
    outcome = svmcut.train((X, y), gap=1e-4)
    assert outcome.model.certificate is not None
    outcome.save(folder / "m")
    model = svmcut.load(folder / "m")
    low, high = model.bounds(X).T
    scores = model.decision_function(X)
    assert (low < scores).all() and (scores < high).all()
    assert (model.decided(X) == ((low > 0) | (high < 0))).all()
    done = forked("svmcut classify", "--certify", folder / "classes.train", folder / "m", "-")
    assert f"Certified: {model.decided(X).sum()} of 160 labels" in done.stderr + done.stdout
    assert Path(folder / "m").read_text().count("#@ certificate") == 1


def test_proven_tags_are_those_of_a_smaller_gap(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = Path(__file__).resolve().parents[2] / "data"
    learn = ("svmcut", "learn", "-v", 0, "--task", "sequence", "--input", "conll")
    learn = (*learn, "--example-cost", 0.1, "--certify", data / "chunks.train")
    shares = []
    for gap in (1e-3, 1e-4):
        assert call(*learn, f"{gap:g}", "--gap", gap) == 0
        assert (
            call(
                "svmcut",
                "classify",
                *("--certify", "--report", "r", data / "chunks.test", f"{gap:g}", f"tags {gap:g}"),
            )
            == 0
        )
        shares.append(json.loads(Path("r").read_text())["decided_fraction"])
    assert "tags (" in capsys.readouterr().out and 0.05 < shares[0] < 0.5 and shares[1] > 0.9
    model = read_model("0.001")
    assert model.certificate[0] > 0 and model.certificate[2] == 0
    rows = read_conll(str(data / "chunks.test"), names=model.names)
    sure = proven_tags(model, rows.X, rows.indptr)
    tags = [(read_model(name).tags(rows.X, rows.indptr)) for name in ("0.001", "0.0001")]
    assert np.array_equal(tags[0][sure], tags[1][sure])
    test = data / "chunks.test"
    for words, text in (
        (("--bounds", "b"), "--bounds is of scores of rows"),
        (("--scheme", "iob2"), "--certify is for the best tags; leave out --scheme"),
    ):
        assert call("svmcut", "classify", "--certify", *words, test, "0.001", "tags") == 2
        assert text in capsys.readouterr().err
    for words in (("--quick",), ("--beam", 2, "--solver", "cutting-plane")):
        assert call(*learn, "other", *words) == 2
        assert "--certify needs" in capsys.readouterr().err
    assert call(*(word for word in learn if word != "--certify"), "plain") == 0
    assert read_model("plain").certificate is None
    assert call("svmcut", "classify", "--certify", test, "plain", "tags") == 1
    assert "learn --certify writes one of chains" in capsys.readouterr().err


def test_pairs_of_queries_are_counted_whatever_the_blocks(folder, tmp_path, monkeypatch, capsys):
    from svmcut.tasks import ranking

    data = Path(svmcut.__file__).parents[1] / "data"
    model, report = tmp_path / "m", tmp_path / "r"
    assert (
        call("svmcut rank", "-v", 0, "-c", 1, "--gap", "1e-4", data / "ranking.train", model) == 0
    )
    X, _, qid = svmcut.load_svmlight_file(data / "ranking.test", query_id=True)
    proven, pairs = svmcut.load(model).decided_pairs(X, qid).sum(axis=0).tolist()
    whole = ranking.Ranking.stream

    def halves(self, path, **how):
        for block in whole(self, path, **how):
            for part in (slice(0, 7), slice(7, None)):
                own = np.zeros(len(block), bool)
                own[part] = True
                yield block.take(own)

    for blocks in (whole, halves):
        monkeypatch.setattr(ranking.Ranking, "stream", blocks)
        words = ("--certify", "--report", report, data / "ranking.test", model, tmp_path / "p")
        assert call("svmcut classify", *words) == 0
        told = capsys.readouterr().out
        assert f"Certified: {proven:,} of {pairs:,} orders of pairs" in told
        assert json.loads(report.read_text())["decided"] == proven > 0.8 * pairs
