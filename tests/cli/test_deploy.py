# SPDX-License-Identifier: BSD-3-Clause
"""The programs of the page on deployment are run as they stand there, and give the answers that
svmcut classify gives."""

import csv
import os
import re
import runpy
import shlex
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
from programs import call

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "howto" / "deploy.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the model of the page and all that it exports; the answers of classify."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    for line in re.findall(r"^\$ (svmcut .*)$", PAGE, re.MULTILINE):
        assert call(*shlex.split(line)) == 0
    rows = [line.split() for line in Path("answers").read_text().splitlines()]
    return [f"{label} {positive}" for label, _, positive in rows]


def finished(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_c_program_answers(folder):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    Path("main.c").write_text(blocks("c")[0], encoding="utf-8")
    finished(*shlex.split(next(line for line in blocks("sh") if line.startswith("cc "))))
    assert finished("./main") == folder[:3]


def test_the_script_of_the_web_page_answers(folder):
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    (script,) = re.findall(r'<script type="module">(.*)</script>', blocks("html")[0], re.DOTALL)
    body = "const document = { body: {} };"
    Path("page.mjs").write_text(f"{body}{script}\nconsole.log(document.body.textContent);")
    label, probability = finished("node", "page.mjs")[0].split()
    assert f"{label} {float(probability):.8g}" == folder[0]


def test_the_query_answers_on_all_rows(folder):
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE mails (label TEXT, text TEXT, length REAL, sender TEXT)")
    with open("data/new_mail.csv", newline="", encoding="utf-8") as file:
        base.executemany("INSERT INTO mails VALUES (?, ?, ?, ?)", list(csv.reader(file))[1:])
    query = Path("mail.sql").read_text(encoding="utf-8")
    rows = base.execute(f"CREATE VIEW scored AS {query}") and base.execute("SELECT * FROM scored")
    for (_, label, probability), line in zip(rows.fetchall(), folder, strict=True):
        assert label == line.split()[0]
        assert probability == pytest.approx(float(line.split()[1]), abs=1e-6)


def test_the_function_in_python_answers(folder, capsys):
    capsys.readouterr()
    exec(blocks("python")[0], {})
    assert capsys.readouterr().out.splitlines() == folder[:3]


def test_the_service_answers_and_refuses(folder, monkeypatch):
    pytest.importorskip("fastapi")
    client = pytest.importorskip("fastapi.testclient")
    monkeypatch.setitem(os.environ, "MODEL", "model")
    app = runpy.run_path(str(ROOT / "examples" / "serve.py"))["app"]
    rows = [{"length": 41, "sender": "bob"}, {"length": 37, "sender": None}]
    http = client.TestClient(app)
    found = http.post("/predict", json=rows)
    assert found.json() == [line.split()[0] for line in folder[:2]]
    assert http.post("/predict", json=[{"length": 41}]).status_code == 422


@pytest.mark.filterwarnings("ignore")  # its own
def test_the_flavour_of_mlflow_logs_columns_and_predicts_frames(folder, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    frames = pytest.importorskip("pandas")
    mlflow.set_tracking_uri(f"file:{Path.cwd()}/runs")
    flavour = runpy.run_path(str(ROOT / "examples" / "mlflow_flavour.py"))
    with mlflow.start_run():
        logged = flavour["log_model"]("mail", "model")
    again = mlflow.pyfunc.load_model(logged.model_uri)
    names = again.metadata.get_input_schema().input_names()
    assert names == ["length", "sender"]
    frame = frames.DataFrame({"length": [41.0, 37.0], "sender": ["bob", None]})
    assert list(again.predict(frame)) == [line.split()[0] for line in folder[:2]]
