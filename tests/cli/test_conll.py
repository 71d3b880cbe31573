# SPDX-License-Identifier: BSD-3-Clause
"""--input conll and --template: learn, classify, inspect and svmcut.train on columns."""

import json

import numpy as np
import pytest
from programs import uncertified
from reference import chunks as truth

import svmcut
from svmcut.cli.start import main
from svmcut.formats import read_model, write_model

NOUNS, VERBS = ["dog", "cat", "IBM", "house"], ["barks", "runs", "Sees"]


def sentences(seed, n):
    """Columns of words, kinds and chunks that follow from both."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        rows = []
        for _ in range(rng.integers(1, 4)):
            rows.append(("the", "D", "B-NP"))
            rows += [(str(rng.choice(NOUNS)), "N", "I-NP") for _ in range(rng.integers(1, 3))]
            rows.append((str(rng.choice(VERBS)), "V", "B-VP"))
        found.append([*rows, (".", ".", "O")])
    return found


def text_of(found, tagged=True):
    rows = ("\n".join(" ".join(row[: 3 if tagged else 2]) for row in one) for one in found)
    return "".join(f"{text}\n\n" for text in rows)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text(text_of(sentences(0, 40)))
    (tmp_path / "test").write_text(text_of(sentences(1, 10)))
    return lambda words: main(words.split())


LEARN = "learn -v 0 --task sequence --input conll --gap 0.1 --example-cost 1"


def test_a_model_of_columns_takes_raw_columns_with_and_without_tags(run, tmp_path, capsys):
    assert run(f"{LEARN} train model --validate test --report learnt") == 0
    assert run("classify test model tags --report report") == 0
    right = sentences(1, 10)
    written = (tmp_path / "tags").read_text()
    assert written == "".join("\n".join(row[2] for row in one) + "\n\n" for one in right)
    report = json.loads((tmp_path / "report").read_text())
    assert report["token_error"] == 0 and report["warnings"] == []
    (tmp_path / "raw").write_text(text_of(right, tagged=False))
    capsys.readouterr()
    assert run("classify raw model bare --report report") == 0
    assert (tmp_path / "bare").read_text() == written
    report = json.loads((tmp_path / "report").read_text())
    assert "token_error" not in report and report["warnings"] == []
    assert "loss" not in capsys.readouterr().out
    assert run("classify --unlabelled test model again") == 0
    assert (tmp_path / "again").read_text() == written
    (tmp_path / "one").write_text("a x B\n\n")
    capsys.readouterr()
    assert run("classify one model bare") == 0
    assert capsys.readouterr().out.startswith("1 sequence with 1 token\n")
    assert run("inspect model") == 0
    shown = capsys.readouterr().out
    assert "\nTemplate\n  Uw-2=%x[-2,0]\n" in shown and "Uw0=the" in shown
    write_model("copy", read_model("model"))
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_template_of_ones_own_is_kept_by_the_model(run, tmp_path, capsys):
    (tmp_path / "template").write_text('# CRF++\nU1:%x[0,1]\nU2:%m[0,0,"^."]/%x[-1,1]\n\nB\n')
    assert run(f"{LEARN} --template template --min-count 2 train model --report report") == 0
    options = json.loads((tmp_path / "report").read_text())["options"]
    assert options["template"] == "template" and options["min_count"] == 2
    names = read_model("model").names
    assert names.template == ("# CRF++", "U1:%x[0,1]", 'U2:%m[0,0,"^."]/%x[-1,1]', "", "B")
    assert names.columns == 3 and "U2:d/D" in names.attributes
    (tmp_path / "template").unlink()
    assert run("classify -v 0 test model tags") == 0
    outcome = svmcut.train(
        "train", task="sequence", input="conll", gap=0.1, example_cost=1.0, min_count=9
    )
    assert len(outcome.model.names.attributes) == 212


@pytest.mark.parametrize("order", [2, 3])
def test_transitions_of_higher_orders_have_names(run, tmp_path, capsys, order):
    assert run(f"{LEARN} --t {order} train model") == 0
    assert run("classify -v 0 test model tags") == 0
    capsys.readouterr()
    assert run("inspect --json model") == 0
    found = json.loads(capsys.readouterr().out)["transitions"]
    assert [row["order"] for row in found] == list(range(1, order + 1))
    model = read_model("model")
    K, S, names = model.shape.n_tags, model.shape.stride, model.names.tags
    tables = model.w[len(model.w) - model.shape.transitions :]
    last = tables[-(K**order) * S :].reshape(*(K,) * order, S)[..., :K]
    top = found[-1]["highest"][0]
    assert top["weight"] == pytest.approx(last.max())
    assert top["tags"] == [names[tag] for tag in np.unravel_index(last.argmax(), last.shape)]
    capsys.readouterr()
    assert run("inspect --top 1 model") == 0
    assert " > ".join(top["tags"]) in capsys.readouterr().out
    assert run("classify -v 0 --n-best 2 --scheme iob2 test model best") == 0
    assert (tmp_path / "best").read_text().startswith("# 1 ")


def test_hashes_take_the_place_of_names(run, tmp_path, capsys):
    assert run(f"{LEARN} train named") == 0
    assert run("classify -v 0 test named right") == 0
    assert run(f"{LEARN} --hash-bits 18 train model") == 0
    assert run("classify -v 0 test model tags") == 0
    names, written = read_model("model").names, (tmp_path / "model").read_text()
    assert names.hash_bits == 18 and not names.attributes and "Uw0" in written
    assert "#@ attribute" not in written and "\n#@ hash-bits 18\n#@ columns 3\n" in written
    apart = [
        a != b
        for a, b in zip(*((tmp_path / name).read_text().split() for name in ("right", "tags")))
    ]
    assert sum(apart) < 0.02 * len(apart)
    write_model("copy", read_model("model"))
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "model").read_bytes()
    capsys.readouterr()
    assert run("inspect --top 2 model") == 0
    assert "\nFeatures" in capsys.readouterr().out
    tokens = [
        tuple(line.split())
        for line in (tmp_path / "test").read_text().split("\n\n")[0].splitlines()
    ]
    first = (tmp_path / "tags").read_text().split()[: len(tokens)]
    assert svmcut.load("model").predict([tokens]) == [first]
    few = written.replace("#@ hash-bits 18", "#@ hash-bits 9")
    (tmp_path / "model").write_text(few)
    assert run("classify test model tags") == 1
    assert "are not hashes of 9 bits" in capsys.readouterr().err


def test_without_a_line_b_there_are_no_transitions_unless_asked_for(run, tmp_path):
    (tmp_path / "template").write_text("U1:%x[0,0]\n")
    for words, order in (("", 0), ("--t 1", 1)):
        assert run(f"{LEARN} --template template {words} train model") == 0
        assert read_model("model").shape.transition_order == order
    (tmp_path / "template").write_text("*1:%x[0,0]\n")
    assert run(f"{LEARN} --template template --e 1 train model") == 0
    assert read_model("model").shape.emission_order == 1


@pytest.mark.parametrize(
    "words, message",
    [
        ("--task sequence --template template train", "--template is for --input conll; leave"),
        (
            "--task sequence --input crfsuite --min-count 2 train",
            "--min-count is for --input conll",
        ),
        ("--input conll train", "'conll' is for --task sequence"),
        (
            "--task sequence --input conll --template template train",
            "line 1 of the template joins features with two tags; begin it with U, or add --e 1",
        ),
        ("--task sequence --input conll --template wrong train", "wrong:1:3: '%x[0]' is no marker"),
        ("--task sequence --input conll --template absent train", "absent: No such file"),
        ("--task sequence --input conll --zero-based train", "leave out --zero-based"),
    ],
)
def test_what_is_refused(run, tmp_path, capsys, words, message):
    (tmp_path / "template").write_text("B1:%x[0,0]\nU2:%x[0,0]\n")
    (tmp_path / "wrong").write_text("U:%x[0]\n")
    assert run(f"learn -v 0 --example-cost 1 {words} model") != 0
    assert message in capsys.readouterr().err


def test_a_model_without_a_template_takes_no_columns(run, tmp_path, capsys):
    (tmp_path / "named").write_text("A\tx\nB\ty\n")
    run("learn -v 0 --task sequence --input crfsuite --example-cost 1 named model")
    assert run("classify --input conll test model tags") != 0
    expected = "no template; expected a model trained with --input conll"
    assert expected in capsys.readouterr().err


def test_chunks_are_measured_printed_and_selected_by(run, tmp_path, capsys):
    noisy = text_of(sentences(1, 10)).replace("cat N I-NP", "cat N O", 4)
    noisy = noisy.replace("the D B-NP", "the D I-NP", 6)
    (tmp_path / "dev").write_text(noisy)
    words = "--validate dev --select chunk-f1 --report learnt --example-cost 0.001,1"
    assert run(f"{LEARN.replace(' --example-cost 1', '')} {words} train model") == 0
    rows = json.loads((tmp_path / "learnt").read_text())["path"]
    best = max(row["validation"]["chunk_f1"] for row in rows)
    assert run("classify dev model tags --report report") == 0
    report, shown = json.loads((tmp_path / "report").read_text()), capsys.readouterr().out
    assert report["chunk_f1"] == best < 100
    predicted = [one.split("\n") for one in (tmp_path / "tags").read_text().split("\n\n")[:-1]]
    right = [[line.split()[2] for line in one.split("\n")] for one in noisy.split("\n\n")[:-1]]
    whole, by_type = truth.scores(right, predicted)
    names = ("chunk_precision", "chunk_recall", "chunk_f1")
    assert [report[name] for name in names] == pytest.approx(whole)
    assert {row["type"]: row["f1"] for row in report["chunks"]} == pytest.approx(
        {kind: values[2] for kind, values in by_type.items()}
    )
    last = shown.strip().splitlines()[-1].split()
    assert last[0] == "all" and last[-2] == f"{whole[2]:.2f}"
    assert run("inspect model --data dev") == 0
    assert f"chunk_f1          {whole[2]:9.2f}" in capsys.readouterr().out


def test_chunks_are_not_selected_by_where_tags_say_none(run, tmp_path, capsys):
    (tmp_path / "kinds").write_text("the D\ndog N\n\na D\n")
    words = "--validate kinds --select chunk-f1"
    assert run(f"{LEARN} {words} kinds model") != 0
    assert (
        "--select chunk-f1 is of chunks, which the tags of kinds do not" in capsys.readouterr().err
    )


def blocks(text):
    """Lines of every sequence."""
    return [one.split("\n") for one in text.split("\n\n")[:-1]]


def test_the_best_few_come_with_rank_and_score(run, tmp_path):
    run(f"{LEARN} train model")
    assert run("classify -v 0 test model tags") == 0
    assert run("classify -v 0 test model best --n-best 3 --report report") == 0
    found, right = blocks((tmp_path / "best").read_text()), blocks((tmp_path / "tags").read_text())
    assert json.loads((tmp_path / "report").read_text())["token_error"] == 0
    for lines, tags in zip(found, right, strict=True):
        n = len(tags) + 1
        heads = [line.split() for line in lines[::n]]
        assert [head[:2] for head in heads] == [["#", "1"], ["#", "2"], ["#", "3"]]
        scores = [float(head[2]) for head in heads]
        assert scores == sorted(scores, reverse=True)
        assert lines[1:n] == tags and lines[n + 1 : 2 * n] != tags


def test_tags_have_confidences_which_are_measured(run, tmp_path, capsys):
    run(f"{LEARN} train model")
    assert run("classify test model sure --confidence --report report --threads 1") == 0
    lines = [line.split() for one in blocks((tmp_path / "sure").read_text()) for line in one]
    assert all(0.25 < float(p) <= 1 for _, p in lines)
    report = json.loads((tmp_path / "report").read_text())
    assert report["log_loss"] >= -np.mean([np.log(float(p)) for _, p in lines]) - 1e-6
    assert "no temperature; train it with --probability" in capsys.readouterr().err
    assert run("classify test model again --confidence --threads 3") == 0
    assert (tmp_path / "again").read_bytes() == (tmp_path / "sure").read_bytes()


def test_given_tags_stay_and_schemes_hold(run, tmp_path, capsys):
    run(f"{LEARN} --example-cost 1e-9 train model".replace("--example-cost 1 ", ""))
    text = text_of(sentences(1, 10)).replace("B-NP", "?")
    (tmp_path / "part").write_text(text)
    assert run("classify part model tags --partial --report report") == 0
    given = [line.split()[2] for one in blocks(text) for line in one]
    found = [line for one in blocks((tmp_path / "tags").read_text()) for line in one]
    assert all(tag in ("?", other) for tag, other in zip(given, found, strict=True))
    assert "token_error" not in json.loads((tmp_path / "report").read_text())
    assert run("classify test model tags --scheme iob2") == 0
    for tags in blocks((tmp_path / "tags").read_text()):
        for before, tag in zip(["O", *tags], tags, strict=False):
            assert tag[:2] != "I-" or before[2:] == tag[2:]
    (tmp_path / "part").write_text("a D ?\nb N I-VP\n\na D O\nb N I-NP\n")
    capsys.readouterr()
    assert run("classify part model tags --partial --scheme iob2") == 1
    assert "the model does not know the tag 'I-VP'" in capsys.readouterr().err
    (tmp_path / "part").write_text("a D ?\nb N I-NP\n\na D O\nb N I-NP\n")
    assert run("classify part model tags --partial --scheme iob2") == 1
    expected = "part: sequence 2: no labelling of scheme iob2 has the given tags"
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, message",
    [
        ("--n-best 2 --confidence", "leave one of them out"),
        ("--n-best 2 --beam 3", "--n-best needs all states; leave out --b"),
        ("--scheme iobes", "--scheme iobes needs the tags O, B-TYPE, I-TYPE, E-TYPE and S-TYPE"),
    ],
)
def test_decoding_refuses_what_does_not_go_together(run, capsys, words, message):
    run(f"{LEARN} train model")
    assert run(f"classify test model tags {words}") in (1, 2)
    assert message in capsys.readouterr().err


def test_decoding_is_of_sequences_alone(run, tmp_path, capsys):
    (tmp_path / "rows").write_text("1 1:1\n-1 2:1\n")
    run("learn -v 0 rows model")
    assert run("classify rows model tags --confidence") == 2
    assert "--confidence is for models of sequences; leave it out" in capsys.readouterr().err
    (tmp_path / "tokens").write_text("1 qid:1 1:1\n2 qid:1 2:1\n1 qid:2 1:1\n")
    run("learn -v 0 --task sequence --example-cost 1 tokens model")
    assert run("classify -v 0 tokens model best --n-best 9") == 0
    lines = (tmp_path / "best").read_text().split("\n")
    assert sum(line.startswith("# ") for line in lines) == 4 + 2 and "1" in lines
    assert run("classify tokens model tags --partial") == 2
    assert "--partial is for tokens in columns" in capsys.readouterr().err


def test_confidences_are_calibrated_on_sequences_held_out(run, tmp_path, capsys):
    rng = np.random.default_rng(2)
    tags = ("B-NP", "I-NP", "B-VP")
    noisy = [
        [(w, k, str(rng.choice(tags)) if rng.random() < 0.2 else tag) for w, k, tag in one]
        for one in sentences(0, 25)
    ]
    (tmp_path / "train").write_text(text_of(noisy))
    learn = LEARN.replace("--gap 0.1 --example-cost 1", "--gap 0.3 --example-cost 5")
    assert run(f"{learn} --probability train model --report learnt") == 0
    assert run(f"{learn} train plain") == 0
    model, learnt = read_model("model"), json.loads((tmp_path / "learnt").read_text())
    assert 0 < model.temperature < 10 and learnt["log_loss"] > 0
    assert uncertified(tmp_path / "model") == (
        uncertified(tmp_path / "plain") + b"#@ temperature %.17g\n" % model.temperature
    )
    (tmp_path / "test").write_text(text_of(noisy[:9]))
    capsys.readouterr()
    losses = {}
    for name in ("model", "plain"):
        assert run(f"classify -v 0 test {name} tags --confidence --report report") == 0
        losses[name] = json.loads((tmp_path / "report").read_text())["log_loss"]
    assert "Log loss" in capsys.readouterr().out and losses["model"] != losses["plain"]
    folds = [sequence for k, sequence in enumerate(noisy) if k < 4]
    (tmp_path / "few").write_text(text_of(folds))
    assert run(f"{learn} --probability few model") != 0
    assert "has 4 sequences, too few for 5 folds" in capsys.readouterr().err


def test_a_kernel_has_confidences_too(run, tmp_path):
    (tmp_path / "train").write_text(text_of(sentences(0, 10)))
    assert run(f"{LEARN} -t rbf -g 0.1 --probability train model") == 0
    assert read_model("model").temperature is not None
    assert run("classify -v 0 test model tags --confidence") == 0


def test_inspect_shows_the_temperature_and_how_reliable_probabilities_are(run, tmp_path, capsys):
    run(f"{LEARN} --quick --probability train model".replace("--gap 0.1 ", ""))
    assert run("inspect model --data test --json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["probabilities"] == {"temperature": read_model("model").temperature}
    assert document["template"][0] == "Uw-2=%x[-2,0]"
    data = document["data"]
    assert data["log_loss"] > 0 and sum(row[2] for row in data["reliability"]) == 51 * 4
    assert run("classify -v 0 test model sure --probability --report report") == 0
    assert run("classify -v 0 test model again --confidence") == 0
    assert (tmp_path / "sure").read_bytes() == (tmp_path / "again").read_bytes()
    assert json.loads((tmp_path / "report").read_text())["log_loss"] == data["log_loss"]
    (tmp_path / "raw").write_text(text_of(sentences(1, 3), tagged=False))
    assert run("inspect model --data raw") == 1
    assert "raw: has no labels, and nothing can be measured" in capsys.readouterr().err


def test_files_of_another_kind_are_told_apart(run, tmp_path, capsys):
    (tmp_path / "svm").write_text("1 qid:1 3:0.5\n2 qid:1 4:1\n")
    (tmp_path / "pairs").write_text("1 3:0.5\n2 4:1\n")
    for name in ("svm", "pairs"):
        assert run(f"{LEARN} {name} model") == 1
        expected = f"{name}:1: it looks like svm text, TAG qid:SEQUENCE INDEX:VALUE ...; leave out"
        assert expected in capsys.readouterr().err
    assert run("learn -v 0 --task sequence --example-cost 1 train model") == 1
    assert "it looks like another kind of file; add --input conll" in capsys.readouterr().err
    assert run("learn -v 0 --task sequence --input crfsuite --example-cost 1 train model") == 1
    assert "use --input conll for these" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("the DET\ndog NOUN\n\na DET\n", True),
        ("the the DET\ndog dog NOUN\n", False),
        ("1 2 3\n4 5 6\n\n7 8 9\n", False),
        ("the DET\n\ndog 1:2 NOUN\n", False),
    ],
)
def test_words_with_tags_read_as_rows_say_what_reads_them(run, tmp_path, capsys, text, told):
    (tmp_path / "train").write_text(text)
    assert run("learn train model") == 1
    printed = capsys.readouterr().err
    remedy = "it looks like words with tags; add --task sequence and --input conll"
    assert (remedy in printed) == told
