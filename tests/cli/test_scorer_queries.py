# SPDX-License-Identifier: BSD-3-Clause
"""Queries that svmcut export writes score the rows of a database as svmcut classify does, but for
the rounding of features."""

import csv
import io
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from programs import call
from pyarrow import parquet
from raw_tables import MODELS, answers, shown, trained

LINEAR = [
    kind
    for kind, (_, options, columns) in MODELS.items()
    if "-t" not in options and "t" not in columns
]
KINDS = {"n": "DOUBLE PRECISION", "b": "BOOLEAN", "c": "TEXT"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def created(columns):
    listed = ", ".join(f"{quoted(name)} {KINDS[kind]}" for name, kind in columns.items())
    return f"CREATE TABLE input ({listed})"


def run_sqlite(query, rows, columns):
    base = sqlite3.connect(":memory:")
    if "EXP(" in query:
        try:
            base.execute("SELECT EXP(1)")
        except sqlite3.OperationalError:
            base.create_function("EXP", 1, np.exp)
    base.execute(created(columns))
    places = ", ".join("?" * len(columns))
    base.executemany(f"INSERT INTO input VALUES ({places})", [[*row.values()] for row in rows])
    return base.execute(query).fetchall()


def run_duckdb(query, rows, columns):
    base = pytest.importorskip("duckdb").connect()
    base.execute(created(columns))
    places = ", ".join("?" * len(columns))
    base.executemany(f"INSERT INTO input VALUES ({places})", [[*row.values()] for row in rows])
    return base.execute(query).fetchall()


def in_sql(cell):
    if cell is None:
        return "NULL"
    return "'" + cell.replace("'", "''") + "'" if isinstance(cell, str) else repr(cell)


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """Runs queries on a server of its own, which lives as long as these tests."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.skip("PostgreSQL is not installed")
    folder = tmp_path_factory.mktemp("postgres")
    user = {}
    if os.getuid() == 0:  # whom it refuses
        user = {"user": "postgres"}
        for part in (folder, *folder.parents[:2]):
            part.chmod(0o755)
        shutil.chown(folder, "postgres")

    def run(name, *words, **more):
        done = subprocess.run(
            [programs[-1] / name, *words],
            capture_output=True,
            text=True,
            cwd=folder,
            **user,
            **more,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    data = folder / "data"
    run("initdb", "-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "--locale", "C")
    how = ["-w", "-l", folder / "log", "-o", f"-k {folder} -c listen_addresses=''"]
    subprocess.run(
        [programs[-1] / "pg_ctl", "-D", data, *how, "start"], cwd=folder, check=True, **user
    )
    words = [
        "-h",
        folder,
        "-U",
        "test",
        "-d",
        "postgres",
        "--csv",
        "-t",
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
    ]
    yield lambda text: run("psql", *words, "-f", "-", input=text)
    run("pg_ctl", "-D", data, "-w", "-m", "fast", "stop")


DIALECTS = {"sqlite": run_sqlite, "duckdb": run_duckdb}


def check(kind, dialect, run, seed=0):
    model, rows, columns = trained(kind, seed)
    words = ["export", "model", "out.sql", "--dialect", dialect]
    alike = len({name.lower() for name in columns}) < len(columns) and dialect != "postgresql"
    assert call("svmcut", *words) == 2 * alike
    if alike:  # double and Double, which these databases cannot tell apart
        return
    found = run(Path("out.sql").read_text(encoding="utf-8"), rows, columns)
    scales = np.abs(getattr(model, "w", getattr(model, "W", 0.0))).sum() + 1
    for row, own, (label, scores, odds) in zip(rows, found, answers(model), strict=True):
        scores = [*map(float, scores)]
        assert abs(own[0] - max(scores)) < 1e-6 * (scales + np.abs(scores).max()), row
        clear = len(scores) == 1 and abs(scores[0]) > 1e-5
        clear |= len(scores) > 1 and np.diff(np.sort(scores))[-1] > 1e-5
        if label is not None and clear:
            assert shown(own[1], [0], None)[0] == label
        if odds is not None and clear:
            place = np.argmax(scores) if len(scores) > 1 else -1
            assert abs(own[-1] - float(odds[place])) < 1e-5


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", LINEAR)
def test_a_query_answers_as_classify(kind, dialect):
    check(kind, dialect, DIALECTS[dialect])


def test_columns_that_a_database_takes_for_one_are_refused(capsys):
    table = {"a": [1.0, 2, 3, 4], "A": [4.0, 1, 2, 2], "y": [0, 0, 1, 1]}
    parquet.write_table(pa.table(table), "train.parquet")
    assert call("svmcut", "learn", "-v", "0", "--label", "y", "train.parquet", "model") == 0
    for dialect, status in (("sqlite", 2), ("duckdb", 2), ("postgresql", 0)):
        assert call("svmcut", "export", "model", "out.sql", "--dialect", dialect) == status
    assert "two columns are called 'A' but for case" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 33))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_queries_answer_as_classify_on_many_tables(dialect, seed):
    for kind in LINEAR:
        check(kind, dialect, DIALECTS[dialect], seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LINEAR)
def test_postgresql_answers_as_classify(kind, postgres):
    def run(query, rows, columns):
        lists = (", ".join(map(in_sql, row.values())) for row in rows)
        inserts = "".join(f"INSERT INTO input VALUES ({row});\n" for row in lists)
        made = postgres(f"DROP TABLE IF EXISTS input; {created(columns)};\n{inserts}{query}")
        cells = csv.reader(io.StringIO(made, newline=""))
        return [(float(row[0]), *row[1:2], *map(float, row[2:])) for row in cells]

    check(kind, "postgresql", run)
