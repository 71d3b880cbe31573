# SPDX-License-Identifier: BSD-3-Clause
"""Training on the workers of Dask: real schedulers and workers on the loopback."""

import json
import sys

import pytest
from parted import lines, trained, written
from programs import call

pytest.importorskip("distributed")

import svmcut.dask
from svmcut.distributed.engine import connected
from svmcut.errors import DataError


@pytest.fixture(scope="module")
def client():
    """Of a scheduler here and two workers, processes of one thread."""
    with connected("local:2") as client:
        yield client


@pytest.mark.parametrize("parameters", [dict(gap=1e-3), dict(gap=1e-2, loss="f1", cost=3.0)])
def test_workers_give_the_bytes_of_one_process(client, tmp_path, parameters):
    paths = written(tmp_path, lines(), 5)
    here, there = trained(paths, **parameters), svmcut.dask.train(client, paths, task="classification", **parameters)
    assert here.model.w.tobytes() == there.model.w.tobytes() and here.model.b == there.model.b
    assert there.converged and there.details == {**here.details, "workers": 2, "workers_lost": 0}


def test_an_error_of_a_file_keeps_its_place(client, tmp_path):
    paths = written(tmp_path, lines(), 3)
    with open(paths[1], "a") as file:
        file.write("1 1:2 2:x\n")
    with pytest.raises(DataError, match=r"part-1\.dat:\d+:9: feature value x is not a number"):
        svmcut.dask.train(client, tmp_path / "part-*.dat")


def test_learn_on_workers(client, tmp_path, capsys):
    written(tmp_path, lines(), 4)
    model, report = tmp_path / "model", tmp_path / "report"
    address = client.scheduler.address
    line = ("svmcut learn", "--scheduler", address, "--gap", "1e-3", tmp_path / "part-*.dat", model, "--report", report)
    assert call(*line) == 0, capsys.readouterr().err
    found = json.loads(report.read_text())
    assert (found["partitions"], found["workers"], found["workers_lost"], found["examples"]) == (4, 2, 0, 400)
    assert found["rounds"] <= 2 * found["iterations"] + 3 and found["converged"] and found["class_counts"][1] > 100
    first = model.read_bytes()
    assert call(*line[:-2], "--example-cost", "1,2") == 0
    assert "train error" in capsys.readouterr().out and (tmp_path / "model.1").read_bytes() == first


def test_without_dask_the_message_says_what_to_install(monkeypatch, tmp_path, capsys):
    written(tmp_path, lines(20), 1)
    monkeypatch.delitem(sys.modules, "svmcut.distributed.engine")
    monkeypatch.setitem(sys.modules, "dask", None)
    assert call("svmcut learn", "--scheduler", "local:1", tmp_path / "part-0.dat", tmp_path / "model") == 2
    assert capsys.readouterr().err.strip().endswith("install it with: pip install 'svmcut[dask]'")
    assert not (tmp_path / "model").exists()


def test_dask_is_imported_where_it_is_asked_for_alone(tmp_path):
    (path,) = written(tmp_path, lines(20), 1)
    code = "import sys; from svmcut.cli.start import main; main(sys.argv[1:]); sys.exit('dask' in sys.modules)"
    import subprocess

    assert subprocess.run([sys.executable, "-c", code, "learn", "-v", "0", path, tmp_path / "model"]).returncode == 0
