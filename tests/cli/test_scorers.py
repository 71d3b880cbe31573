# SPDX-License-Identifier: BSD-3-Clause
"""Programs that svmcut export writes score raw rows as svmcut classify does, to the last digit that
it prints, whatever the columns and labels are called."""

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from programs import call
from pyarrow import parquet
from raw_tables import MODELS, answers, shown, trained

from svmcut.formats import read_model


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run_python(rows, model, columns):
    code = """
import json, out
rows = json.load(open("rows.json", encoding="utf-8"))
label, odds = getattr(out, "label", None), getattr(out, "probability", None)
print(json.dumps([(label and label(r), out.score(r), odds and odds(r)) for r in rows]))
"""
    Path("rows.json").write_text(json.dumps(rows), encoding="utf-8")
    code = f"import sys; sys.path.append('.'){code}"
    return json.loads(finished(sys.executable, "-I", "-c", code))


def run_javascript(rows, model, columns):
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    code = """
import * as out from "./out.mjs";
import { readFileSync } from "node:fs";
const { label, score, probability } = out;
const of = (row) => [label?.(row) ?? null, score(row), probability?.(row) ?? null];
console.log(JSON.stringify(JSON.parse(readFileSync("rows.json", "utf-8")).map(of)));
"""
    Path("rows.json").write_text(json.dumps(rows), encoding="utf-8")
    Path("run.mjs").write_text(code, encoding="utf-8")
    return json.loads(finished("node", "run.mjs"))


def finished(*words):
    """Standard output of a program that succeeds."""
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_c(cell):
    """A cell as an initializer of C."""
    if cell is None or not isinstance(cell, str):
        return "NAN" if cell is None else repr(float(cell))
    return '"' + "".join(f"\\{byte:03o}" for byte in cell.encode()) + '"'


WARNINGS = ("-Wall", "-Wextra", "-pedantic", "-Werror", "-ffp-contract=off")


def run_c(rows, model, columns):
    """The answers of the header in a C program, which is one of C++ too."""
    header = Path("out.h").read_text(encoding="utf-8")
    suffix, given = ("", "&row") if columns else ("_sparse", "index, value, count")
    places = len(model.names) if hasattr(model, "names") else 1
    loop = (
        f"for (k = 0; k < {places}; ++k) printf(\"%.17g%c\", out[k], k < {places - 1} ? ',' : ']');"
    )
    lines = []
    for row in rows:
        if columns:
            cells = [
                "NULL" if cell is None and kind in "ct" else in_c(cell)
                for cell, kind in zip(row.values(), columns.values(), strict=True)
            ]
            lines.append(
                f"{{ struct out_row row = {{{', '.join(cells)}}}; double out[{places}]; int k;"
            )
        else:
            index, value = ", ".join(map(str, row)), ", ".join(map(repr, row.values()))
            lines.append(f"{{ const int index[] = {{{index}}}, count = {len(row)}; int k;")
            lines.append(f"const double value[] = {{{value}}}; double out[{places}];")
        if f"out_label{suffix}(" in header:
            lines.append(
                f'{{ const char *c = out_labels[out_label{suffix}({given})]; printf("[\\"");'
            )
            lines.append(
                'for (; *c; ++c) { printf("%02x", (unsigned char)*c); } printf("\\",["); }'
            )
        else:
            lines.append('printf("[null,[");')
        for one, several in (("score", "scores"), ("probability", "probabilities")):
            if f"out_{several}{suffix}(" in header:
                lines.append(f"out_{several}{suffix}({given}, out); {loop}")
            elif f"out_{one}{suffix}(" in header:
                lines.append(f"out[0] = out_{one}{suffix}({given}); {loop}")
            else:
                lines.append('printf("null");')
            lines.append('printf(",[");' if one == "score" else 'printf("]\\n"); }')
    text = "\n".join(lines).replace('printf(",[");\nprintf("null");', 'printf(",null");')
    code = f'#include <stdio.h>\n#include "out.h"\nint main(void) {{\n{text}\nreturn 0; }}\n'
    Path("run.c").write_text(code, encoding="utf-8")
    finished("gcc", "-std=c99", *WARNINGS, "run.c", "-o", "run", "-lm")
    finished("gcc", "-std=c++11", "-x", "c++", "-fsyntax-only", *WARNINGS, "run.c")
    answers = [json.loads(line) for line in finished("./run").splitlines()]
    named = [label and bytes.fromhex(label).decode() for label, _, _ in answers]
    return [(name, *row[1:]) for name, row in zip(named, answers, strict=True)]


TARGETS = {
    "python": ("out.py", run_python),
    "javascript": ("out.mjs", run_javascript),
    "c": ("out.h", run_c),
}


#: Models that every target writes; the others are for Python alone, and for slow tests.
FEW = ("two, rbf", "two, text", "two, hashed", "classes, temperature", "classes, pairs", "two")


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("kind", "target"),
    [(kind, target) for kind in MODELS for target in TARGETS if target == "python" or kind in FEW],
)
def test_a_program_answers_as_classify(kind, target, seed=0):
    model, rows, columns = trained(kind, seed)
    out, run = TARGETS[target]
    assert call("svmcut", "export", "model", out) == 0
    found = [shown(*row) for row in run(rows, model, columns)]
    wanted = answers(model)
    for row, mine, (label, scores, odds) in zip(rows, found, wanted, strict=True):
        assert mine[:2] == (label, scores), row
        assert mine[2] in (odds, odds and odds[-1:]), row


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 17))
@pytest.mark.parametrize("target", TARGETS)
def test_programs_answer_as_classify_on_many_tables(target, seed):
    for kind in MODELS:
        test_a_program_answers_as_classify(kind, target, seed)


@pytest.mark.every(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("options", [[], ["-t", "2", "-g", "0.5"], ["--task", "regression"]])
def test_rows_of_numbered_features_are_scored_too(options, target):
    rng = np.random.default_rng(3)
    rows = [
        {int(k): float(np.float32(v)) for k, v in zip(own, rng.normal(size=3), strict=True)}
        for own in (np.sort(rng.permutation(9)[:3]) + 1 for _ in range(30))
    ]
    for path, known in (("train", 7), ("test", 9)):
        lines = [
            " ".join([f"{1 - 2 * (k % 2)}", *(f"{j}:{v!r}" for j, v in row.items() if j <= known)])
            for k, row in enumerate(rows)
        ]
        Path(path).write_text("\n".join(lines) + "\n")
    assert call("svmcut", "learn", "-v", "0", "-c", "1", *options, "train", "model") == 0
    assert call("svmcut", "classify", "-v", "0", "test", "model", "scores") == 0
    out, run = TARGETS[target]
    assert call("svmcut", "export", "model", out) == 0
    found = [shown(*row)[1][0] for row in run(rows, read_model("model"), None)]
    assert found == Path("scores").read_text().split()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["out.py", "--name", "a"], "--name is of --to c; leave it out"),
        (["out.h", "--name", "2b"], "'2b' is not a letter, then letters, digits and underscores"),
        (["out.h", "--name", 'a(){system("id");}'], "is not a letter"),
    ],
)
def test_what_a_program_cannot_have_is_refused(words, message, capsys):
    trained("two")
    assert call("svmcut", "export", "model", *words) == 2
    assert message in capsys.readouterr().err and not Path(words[0]).exists()


def test_c_refuses_texts_that_no_compiler_need_take(capsys):
    table = {"a": ["x" * 5000, "b", "b"] * 4, "y": [0, 1, 1] * 4}
    parquet.write_table(pa.table(table), "train.parquet")
    assert call("svmcut", "learn", "-v", "0", "--label", "y", "train.parquet", "model") == 0
    assert call("svmcut", "export", "model", "out.h") == 2
    assert "longer than 4,000 bytes" in capsys.readouterr().err
    assert call("svmcut", "export", "model", "out.py") == 0


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"c0": 1}, KeyError),
        ({"c0": "1,5", "c1": 0}, ValueError),
        ({"c0": 1e60, "c1": 0}, OverflowError),
    ],
)
def test_cells_that_the_model_refuses_are_errors_in_python(row, error):
    table = {"c0": [0.5, 1, 2, 3], "c1": [1.0, 0, 1, 0], "y": [0, 0, 1, 1]}
    parquet.write_table(pa.table(table), "train.parquet")
    assert call("svmcut", "learn", "-v", "0", "--label", "y", "train.parquet", "model") == 0
    assert call("svmcut", "export", "model", "out.py") == 0
    score = runpy.run_path("out.py")["score"]
    assert score({"c0": "1.5", "c1": None}) == score({"c0": 1.5, "c1": float("nan")})
    with pytest.raises(error):
        score(row)


@pytest.mark.parametrize("kind", [kind for kind, row in MODELS.items() if "t" not in row[2]])
def test_onnx_answers_on_columns_as_classify(kind):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, rows, columns = trained(kind)
    assert call("svmcut", "export", "model", "out.onnx") == 0
    session = runtime.InferenceSession("out.onnx", providers=["CPUExecutionProvider"])
    inputs = {}
    for name, of in columns.items():
        cells = [row[name] for row in rows]
        if of in "nb":
            own = np.array([np.nan if cell is None else cell for cell in cells], float)
        else:
            own = np.array([(cell or "").strip(" \t\r\n") for cell in cells], object)
        inputs[name] = own.reshape(-1, 1)
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, inputs), strict=True))
    wanted = answers(model)
    scores = np.array([scores for _, scores, _ in wanted], float)
    scale = 1e-5 * (1 + np.abs(scores).max())
    if not getattr(model, "paired", False):
        np.testing.assert_allclose(found["scores"][:, -scores.shape[1] :], scores, atol=scale)
    for row, (label, own, odds) in enumerate(wanted):
        gaps = np.diff(np.sort(np.abs(scores[row]))) if len(own) > 1 else np.abs(scores[row])
        if "label" in found and label is not None and gaps.min() > 1e-4:
            assert shown(str(found["label"][row]), [0], None)[0] == label
        if odds is not None:
            np.testing.assert_allclose(
                found["probabilities"][row], np.array(odds, float), atol=1e-5
            )
