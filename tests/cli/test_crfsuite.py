# SPDX-License-Identifier: BSD-3-Clause
"""--input crfsuite: the command line and ChainSVM serve the same files."""

import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import uncertified

import svmcut
from svmcut import ChainSVM
from svmcut.cli.start import main
from svmcut.formats import write_model

DATA = Path(__file__).resolve().parents[2] / "data"


def escaped(name):
    return name.replace("\\", "\\\\").replace(":", "\\:")


def text_of(X, y):
    """Sequences of dicts of numbers, as CRFsuite's text."""
    return "\n".join(
        "".join(
            "\t".join(
                [
                    tag.replace("\\", "\\\\"),
                    *(f"{escaped(name)}:{v!r}" for name, v in token.items()),
                ]
            )
            + "\n"
            for token, tag in zip(sequence, tags, strict=True)
        )
        for sequence, tags in zip(X, y, strict=True)
    )


@pytest.fixture(scope="module")
def sentences():
    """Sequences of data/tags as dicts of features, their tags as words."""
    found = []
    for part in ("train", "test"):
        X, y, qid = svmcut.load_svmlight_file(DATA / f"tags.{part}", query_id=True)
        starts = [*itertools.pairwise(np.flatnonzero(np.diff(qid, prepend=-1, append=-1)).tolist())]
        tokens = [
            {f"f:{j}": float(v) for j, v in zip(row.indices, row.data, strict=True)} for row in X
        ]
        tags = [f"t {tag:.0f}" for tag in y]
        found += [[tokens[a:b] for a, b in starts], [tags[a:b] for a, b in starts]]
    return found


def run(tmp_path, *words):
    return main([str(tmp_path / word[1:]) if word.startswith("@") else word for word in words])


LEARN = ("learn", "-v", "0", "--task", "sequence", "--input", "crfsuite")
CLASSIFY = ("classify", "-v", "0", "--input", "crfsuite")


def test_both_faces_write_and_read_the_same_files(tmp_path, sentences, capsys):
    X, y, test, right = sentences
    (tmp_path / "train").write_text(text_of(X, y))
    (tmp_path / "test").write_text(text_of(test, right))
    run(
        tmp_path,
        *(*LEARN, "--solver", "cutting-plane", "--example-cost", "0.1", "--gap", "0.1", "@train"),
        "@model",
    )
    machine = ChainSVM(0.1, tol=0.1, solver="cutting-plane").fit(X, y)
    machine.save(tmp_path / "ours")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "ours").read_bytes()
    capsys.readouterr()
    run(
        tmp_path,
        "classify",
        *("-v", "0", "--input", "crfsuite", "--report", "@report", "@test", "@model", "@tags"),
    )
    predicted = [
        block.split("\n") for block in (tmp_path / "tags").read_text().strip("\n").split("\n\n")
    ]
    assert predicted == machine.predict(test) == svmcut.load(tmp_path / "model").predict(test)
    flat, expected = (np.array([*itertools.chain(*tags)]) for tags in (predicted, right))
    report, shown = json.loads((tmp_path / "report").read_text()), capsys.readouterr().out
    assert (
        report["token_error"] == pytest.approx(100 * np.mean(flat != expected))
        and report["warnings"] == []
    )
    assert [row["tag"] for row in report["tags"]] == sorted({*itertools.chain(*y)})
    for row in report["tags"]:
        has, says = expected == row["tag"], flat == row["tag"]
        assert row["tokens"] == has.sum() and row["recall"] == pytest.approx(100 * says[has].mean())
        assert row["precision"] == pytest.approx(100 * has[says].mean())
        assert row["f1"] == pytest.approx(200 * (has & says).sum() / (has.sum() + says.sum()))
        assert f"{row['f1']:.2f} %" in shown
    # numbers of the file are those of the names, for those who have no names
    numbers = {name: k for k, name in enumerate(machine.feature_names_, 1)}
    with open(tmp_path / "numbered", "w") as file:
        for k, (sequence, tags) in enumerate(zip(test, right, strict=True)):
            for token, tag in zip(sequence, tags, strict=True):
                row = sorted(
                    (numbers[name], value) for name, value in token.items() if name in numbers
                )
                pairs = " ".join(f"{j}:{value!r}" for j, value in row)
                print(machine.classes_.tolist().index(tag) + 1, f"qid:{k}", pairs, file=file)
    run(tmp_path, "classify", "-v", "0", "@numbered", "@model", "@numbers")
    np.testing.assert_array_equal(machine.classes_[np.loadtxt(tmp_path / "numbers", int) - 1], flat)


def test_a_path_is_measured_on_a_file_with_names_of_its_own_and_goes_on_from_a_checkpoint(
    tmp_path, sentences, capsys
):
    X, y, test, right = sentences
    (tmp_path / "train").write_text(text_of(X[:30], y[:30]))
    (tmp_path / "test").write_text("new\tunknown\n\n" + text_of(test[:20], right[:20]))
    words = [
        *("--example-cost", "0.01,0.1", "--gap", "0.2", "--validate", "@test"),
        *("--select", "token-error"),
    ]
    assert run(tmp_path, *LEARN, *words, "--report", "@report", "@train", "@model") == 0
    report = json.loads((tmp_path / "report").read_text())
    assert (
        "1 tags of" in report["warnings"][0] and "none the model knows" in capsys.readouterr().err
    )
    best = min(report["path"], key=lambda row: row["validation"]["token_error"])
    run(
        tmp_path,
        "classify",
        *("-v", "0", "--input", "crfsuite", "--report", "@tested", "@test", "@model", "@tags"),
    )
    tested = json.loads((tmp_path / "tested").read_text())
    assert tested["token_error"] == best["validation"]["token_error"]
    assert (
        "1 tags of" in tested["warnings"][0]
        and len((tmp_path / "tags").read_text().split("\n\n")) == 22
    )
    kept = ["--max-iterations", "2", "--checkpoint", "@state"]
    assert run(tmp_path, *LEARN, *words, *kept, "@train", "@first") == 3
    assert run(
        tmp_path, *LEARN, *words, "--checkpoint", "@state", "--resume", "@train", "@first"
    ) in (0, 3)
    for name in ("0.1", "0.01"):
        names = [
            uncertified(tmp_path / f"{file}.{name}").split(b"#@", 1)[1]
            for file in ("first", "model")
        ]
        assert names[0] == names[1]


def test_kernels_of_named_tokens_and_tags_nobody_knows(tmp_path, sentences):
    X, y, *_ = sentences
    (tmp_path / "train").write_text(text_of(X[:10], y[:10]))
    assert (
        run(tmp_path, *LEARN, "--example-cost", "1", "-t", "2", "-g", "0.1", "@train", "@model")
        == 0
    )
    (tmp_path / "bare").write_text("\tf\\:3:1\n")
    words = ["--input", "crfsuite", "--unlabelled", "@bare", "@model", "@tags"]
    assert run(tmp_path, "classify", *words) == 0
    assert (tmp_path / "tags").read_text().strip() in {*itertools.chain(*y)}
    outcome = svmcut.train(tmp_path / "train", task="sequence", input="crfsuite", gap=0.5)
    assert outcome.model.names.tags == tuple(sorted({*itertools.chain(*y[:10])}))


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["learn", "--input", "crfsuite", "@train", "@model"], 2, "--input"),
        (
            [*LEARN, "--zero-based", "@train", "@model"],
            2,
            "--zero-based counts features, which --input names",
        ),
        (
            [*CLASSIFY, "@train", "@plain", "@out"],
            1,
            "expected a model trained with --input crfsuite",
        ),
        ([*CLASSIFY, "@train", "@chain", "@out"], 1, "no names of tags and attributes"),
        ([*CLASSIFY, "--zero-based", "@train", "@chain", "@out"], 2, "--zero-based has no effect"),
        ([*LEARN, "@bad", "@model"], 1, "bad:1:3: 'x' is no number"),
    ],
)
def test_refusals(tmp_path, capsys, words, status, message):
    texts = {
        "train": "A\tx\nB\ty\n",
        "bad": "A\ty:x\n",
        "rows": "1 1:1\n-1 2:1\n",
        "tokens": "1 qid:1 1:1\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    run(tmp_path, "learn", "-v", "0", "@rows", "@plain")
    run(tmp_path, "learn", "-v", "0", "--task", "sequence", "@tokens", "@chain")
    capsys.readouterr()
    assert run(tmp_path, *words) == status
    assert message in capsys.readouterr().err and not (tmp_path / "model").exists()


def test_refusals_from_python(tmp_path):
    with pytest.raises(ValueError, match="leave it out with arrays"):
        svmcut.train(([[1.0], [2.0]], [1, 2], [1, 1]), task="sequence", input="crfsuite")
    with pytest.raises(ValueError, match="input='crfsuite' is no text of two classes; use"):
        svmcut.train(DATA / "text.train", input="crfsuite")


NAMES = st.text(
    st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=6
)
TOKENS = st.dictionaries(NAMES, st.floats(-1000, 1000, width=32), max_size=4)
# arrays of strings, which ChainSVM takes tags as too, know no NUL at their end
TAGS = NAMES.filter(
    lambda tag: tag.strip("\0") == tag and tag.strip() and not tag.startswith("\ufeff")
)


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(st.tuples(TAGS, TOKENS), min_size=1, max_size=4), min_size=1, max_size=3))
def test_any_names_come_back_from_both_files(tmp_path, sequences):
    X = [[token for _, token in sequence] for sequence in sequences]
    y = [[tag for tag, _ in sequence] for sequence in sequences]
    (tmp_path / "file").write_text(text_of(X, y), encoding="utf-8", newline="\n")
    model = svmcut.train(
        tmp_path / "file", task="sequence", input="crfsuite", max_iterations=1, threads=1
    ).model
    assert model.names.tags == tuple(sorted({*itertools.chain(*y)}))
    assert model.names.attributes == tuple(
        dict.fromkeys(name for token in itertools.chain(*X) for name in token)
    )
    machine = ChainSVM(max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one iteration
        machine.fit(X, y)
    machine.save(tmp_path / "model")
    loaded = svmcut.load(tmp_path / "model")
    assert loaded.model.names == model.names
    write_model(str(tmp_path / "again"), loaded.model)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
