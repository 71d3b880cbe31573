# SPDX-License-Identifier: BSD-3-Clause
"""The example of dask-jobqueue with a queue of this machine in the place of SLURM's, and the
manifests of Kubernetes."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from parted import lines, trained, written

from svmcut.formats import read_model

EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster_jobqueue.py"
#: A job is a session of its own; the script is gone once it is submitted.
SBATCH = """#!/bin/sh
for last; do :; done
copy="$JOBS/script-$$"
cp "$last" "$copy"
setsid bash "$copy" >"$JOBS/log-$$" 2>&1 &
echo $! >>"$JOBS/pids"
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
for id; do kill -9 -- "-$id" 2>/dev/null; done
exit 0
"""


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """A folder of jobs, whose processes end with the test."""
    programs, jobs = tmp_path / "bin", tmp_path / "jobs"
    programs.mkdir()
    jobs.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("JOBS", str(jobs))
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__INTERFACE", "lo")
    monkeypatch.setenv("DASK_DISTRIBUTED__DASHBOARD__LINK", "")
    yield jobs
    pids = jobs / "pids"
    for pid in pids.read_text().split() if pids.exists() else ():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int(pid), signal.SIGKILL)


@pytest.mark.slow
def test_workers_of_a_queue_train(queue, tmp_path):
    pytest.importorskip("dask_jobqueue")
    paths, model = written(tmp_path, lines(), 4), tmp_path / "model"
    line = [sys.executable, str(EXAMPLE), str(tmp_path / "part-*.dat"), str(model)]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert "'partitions': 4" in done.stdout and not (tmp_path / "model.checkpoint").exists()
    (script, *_) = queue.glob("script-*")
    assert "--lifetime 110m" in script.read_text() and "#SBATCH -t 02:00:00" in script.read_text()
    here = trained(paths, example_cost=1.0, gap=1e-3)
    assert read_model(str(model)).w == pytest.approx(here.model.w, abs=1e-6)


@pytest.mark.parametrize("version", ["1.28", "1.31"])
def test_the_manifest_of_kubernetes_is_of_its_schema(version):
    yaml, schemas = pytest.importorskip("yaml"), pytest.importorskip("kubernetes_validate")
    text = (EXAMPLE.with_name("cluster_kubernetes.yaml")).read_text()
    for one in yaml.safe_load_all(text):
        schemas.validate(one, version, strict=True)
        with pytest.raises(schemas.ValidationError, match="'nobody'"):
            schemas.validate(one | {"spec": {**one["spec"], "nobody": 1}}, version, strict=True)


@pytest.mark.slow
def test_the_table_of_tight_gaps_holds_both_certificates_together(tmp_path):
    (one,) = written(tmp_path, lines(), 1)
    script = EXAMPLE.parents[1] / "benchmarks" / "tight_gaps.py"
    words = ["--gaps", "0.01", "--losses", "logistic", "--workers", "1", one]
    line = [sys.executable, str(script), *words]
    done = subprocess.run(line, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[2].startswith("| logistic | 0.01 | ")
    assert "| newton | " in done.stdout
