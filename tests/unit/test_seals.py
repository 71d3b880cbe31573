# SPDX-License-Identifier: BSD-3-Clause
"""The last line of model files: what was changed says so and proves nothing, what svmcut writes
anew is about what it writes."""

import re
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from programs import call

import svmcut
from svmcut.base.errors import ModelError, UsageError
from svmcut.formats import read_file, read_model, write_model
from svmcut.models.base import Ends

SEAL = re.compile(rb"#@( certificate .*)? crc32 ([0-9a-f]{8})\n\Z")
MACHINES = {
    "linear": {},
    "rbf": {"kernel": "rbf", "gamma": 0.5, "free_bias": False},
    "ranking": {"task": "rank"},
    "classes": {"task": "multiclass", "multiclass": "one-vs-rest"},
    "pairs": {"task": "multiclass", "kernel": "rbf", "gamma": 0.5, "free_bias": False},
    "sets": {"task": "multilabel", "pairs": "none"},
    "chain": {"task": "sequence", "certify": True},
}


def drawn(task="classification", n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    f = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=n)
    y = np.where(f > 0, 1.0, -1.0)
    if task in ("multiclass", "sequence"):
        y = np.digitize(f, [-0.5, 0.5]) + 1.0
    if task == "multilabel":
        y = np.stack([f > 0, X[:, 2] > 0, X[:, 3] > f], axis=1).astype(np.int32)
    more = {"rank": (np.repeat([1, 2], n // 2),), "sequence": (np.repeat(np.arange(n // 4), 4),)}
    return X, y, *more.get(task, ())


@pytest.fixture(params=MACHINES)
def sealed(request, tmp_path):
    """A trained model, and its file."""
    words = MACHINES[request.param]
    given = {"example_cost": 1.0, "gap": 1e-4, "threads": 1}
    found = svmcut.train(drawn(words.get("task", "classification")), **given | words)
    assert found.model.certificate is not None
    found.save(tmp_path / "model")
    return found.model, tmp_path / "model"


def test_the_checksum_is_of_all_that_stands_before_it(sealed):
    model, path = sealed
    text = path.read_bytes()
    found = SEAL.search(text)
    assert zlib.crc32(text[: found.start(2) - len(b" crc32 ")]) == int(found[2], 16)
    first, again, caution = read_file(str(path))
    assert again.certificate[:3] == model.certificate[:3] and not caution
    np.testing.assert_allclose(again.certificate, model.certificate, rtol=1e-6)
    assert text.startswith(first.encode())
    path.write_bytes(text.replace(b"\n", b"\r\n"))
    assert read_model(str(path)).certificate == again.certificate


def test_the_cost_of_an_example_stands_before_the_certificate(sealed):
    model, path = sealed
    *_, line, _ = path.read_bytes().splitlines()
    assert line == b"#@ cost %.17g" % model.cost and model.cost == 1
    again = read_model(str(path))
    told = again.facts(Ends(3, None)).get("ball", {"cost": 1})
    assert again.cost == told["cost"] == 1
    text = path.read_bytes()
    path.write_bytes(text[: text.rindex(b"#@ certificate")])
    again = read_model(str(path))
    assert again.certificate is None and again.cost is None


def test_no_changed_byte_leaves_a_proof(sealed):
    """Digits of every line are changed one by one, also those of the certificate."""
    _, path = sealed
    text, rng = path.read_bytes(), np.random.default_rng(1)
    digits = [k for k in range(text.index(b"\n"), len(text)) if chr(text[k]).isdigit()]
    seen = 0
    for k in rng.choice(digits, min(60, len(digits)), replace=False).tolist():
        changed = bytearray(text)
        changed[k] = ord("0") + (changed[k] - ord("0") + 1) % 10
        path.write_bytes(changed)
        try:
            found = read_file(str(path))
        except ModelError:  # a count that is none
            continue
        assert found.model.certificate is None and "changed" in found.caution
        seen += found.is_changed
    assert seen > 20


def test_lines_that_are_added_or_lost_leave_no_proof(sealed):
    _, path = sealed
    lines = path.read_bytes().splitlines(True)
    number = b" ".join(lines[-1].split()[:-2]) + b"\n"
    for last in (b"", number, b"#@ certificate 0 0 1\n", lines[-1] + b"#@ threshold 5\n"):
        path.write_bytes(b"".join(lines[:-1]) + last)
        try:
            found = read_file(str(path))
        except ModelError:
            continue
        assert found.model.certificate is None
        assert bool(found.caution) == bool(last)
        if b"crc32" not in last and last:
            assert "no checksum" in found.caution and not found.is_changed


def test_python_says_why_nothing_is_proven(tmp_path):
    X, y = drawn()
    path = tmp_path / "model"
    svmcut.train((X, y), example_cost=1.0, gap=1e-4).save(path)
    assert svmcut.load(path).decided(X).any()
    text = path.read_text()
    path.write_text(re.sub(r" 1:([-0-9.]+)", r" 1:-\1", text).replace("--", ""))
    with pytest.warns(UserWarning, match="was changed after svmcut wrote it"):
        model = svmcut.load(path)
    with pytest.raises(UsageError, match="certificate proves nothing"):
        model.bounds(X)
    path.write_text(text[: text.rindex("#@")] + "#@ certificate 0 0 1\n")
    model = svmcut.load(path)
    with pytest.raises(UsageError, match="no checksum"):
        model.decided(X)
    model.save(tmp_path / "again")
    assert "certificate" not in (tmp_path / "again").read_text()


def _rows(path, X, y):
    lines = (
        f"{label:g} " + " ".join(f"{j}:{v:.9g}" for j, v in enumerate(row, 1)) + "\n"
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    )
    Path(path).write_text("".join(lines))


def test_programs_say_so_and_originals_do_not(tmp_path, capsys):
    X, y = drawn()
    train, model, out = (str(tmp_path / name) for name in ("train", "model", "out"))
    _rows(train, X, y)
    assert call("svmcut learn", "-v", "0", "--example-cost", "1", train, model) == 0
    text = Path(model).read_text()
    assert call("svmcut classify", "-v", "0", "--certify", train, model, out) == 0
    assert call("svm_perf_classify", "-v", "0", train, model, out) == 0
    assert "warning" not in capsys.readouterr().err
    Path(model).write_text(text.replace(" 1:", " 1:1", 1))
    classify, told = ("svmcut classify", "-v", "0"), "was changed after svmcut wrote it"
    assert call(*classify, train, model, out) == 0 and told in capsys.readouterr().err
    assert call("svmcut inspect", model) == 0 and told in capsys.readouterr().err
    for asked in (("--certify",), ("--bounds", str(tmp_path / "bounds"))):
        assert call(*classify, *asked, train, model, out) == 1
        assert "its certificate proves nothing" in capsys.readouterr().err
    assert not (tmp_path / "bounds").exists()
    assert call("svm_perf_classify", "-v", "0", train, model, out) == 0
    assert "warning" not in capsys.readouterr().err
    Path(model).write_text(re.sub(" crc32 .*", "", text))
    assert call(*classify, train, model, out) == 0 and not capsys.readouterr().err
    assert call(*classify, "--certify", train, model, out) == 1
    assert "has no checksum" in capsys.readouterr().err
    assert call("svm_perf_learn", "-v", "0", "-c", "1", train, model) == 0
    assert "#@" not in Path(model).read_text()


def test_a_threshold_is_sealed_anew_and_exports_have_no_proof(tmp_path, capsys):
    X, y = drawn(n=300)
    train, model, chosen, out = (str(tmp_path / name) for name in ("train", "m", "chosen", "out"))
    _rows(train, X, y)
    assert call("svmcut learn", "-v", "0", "--example-cost", "1", train, model) == 0
    asked = ("svmcut threshold", "--at-least", "precision=0.5", "--confidence", "0.6")
    assert call(*asked, train, model, chosen) == 0
    before, after = read_file(model), read_file(chosen)
    assert after.model.certificate == before.model.certificate and not after.caution
    assert call("svmcut classify", "-v", "0", "--certify", train, chosen, out) == 0
    text = Path(chosen).read_text()
    Path(chosen).write_text(re.sub("#@ threshold .*", "#@ threshold 0.5", text))
    assert read_file(chosen).is_changed
    capsys.readouterr()
    assert call(*asked, train, chosen, out) == 0 and "was changed" in capsys.readouterr().err
    assert read_file(out).model.certificate is None
    assert call("svmcut export", model, out, "--to", "svm_perf") == 0
    assert "crc32" not in Path(out).read_text() and read_model(out).certificate is None


def test_files_without_a_last_line_of_svmcut_are_read_as_ever(tmp_path):
    X, y = drawn()
    found = svmcut.train((X, y), example_cost=1.0)
    path = str(tmp_path / "model")
    write_model(path, found.model, original=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert svmcut.load(path).model.certificate is None
