# SPDX-License-Identifier: BSD-3-Clause
"""Model files of tests/earlier load and predict as where they were first written; they are written
so again."""

import json
from pathlib import Path

import pytest
from programs import uncertified

from svmcut.cli.start import main
from svmcut.formats import read_model, write_model
from svmcut.spec import catalog

MODELS = sorted((Path(__file__).resolve().parents[1] / "earlier").iterdir())


@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)
def test_a_model_of_an_earlier_release_predicts_the_same_numbers_and_is_written_as_it_was(
    folder, tmp_path
):
    examples, model, predictions = (
        str(folder / name) for name in ("examples", "model", "predictions")
    )
    options = (folder / "options").read_text().split() if (folder / "options").exists() else []
    assert main(["classify", "-v", "0", *options, examples, model, str(tmp_path / "now")]) == 0
    assert (tmp_path / "now").read_text() == Path(predictions).read_text()
    write_model(str(tmp_path / "again"), read_model(model))
    assert uncertified(tmp_path / "again") == Path(model).read_bytes()


def test_models_of_classes_without_marks_have_labels_above_zero_for_positive(tmp_path):
    folder = next(folder for folder in MODELS if folder.name == "roc-area")
    model, text = read_model(str(folder / "model")), (folder / "examples").read_text()
    assert model.labels is None and model.loss is None
    (tmp_path / "counts").write_text(text.replace("-1 ", "0 ").replace("+1 ", "5 "))
    found = []
    for examples in (folder / "examples", tmp_path / "counts"):
        words = [
            *("--labels", "--report", str(tmp_path / "report"), str(examples)),
            str(folder / "model"),
        ]
        assert main(["classify", "-v", "0", *words, str(tmp_path / "labels")]) == 0
        report = json.loads((tmp_path / "report").read_text())
        found.append(
            [
                (tmp_path / "labels").read_text(),
                {key: report[key] for key in report if key != "seconds"},
            ]
        )
        assert (
            set(found[-1][0].split()) == {"-1", "1"}
            and report["labels"] == [-1, 1]
            and not report["warnings"]
        )
    assert found[0] == found[1]


def test_there_is_one_of_every_format_and_class():
    kept = {type(read_model(str(folder / "model"))).__name__ for folder in MODELS}
    assert kept == {name for row in catalog.FORMATS for name in row.models}
    lines = {(folder / "model").read_bytes().splitlines()[0] for folder in MODELS}
    assert lines == {row.first for row in catalog.FORMATS if not row.foreign}
