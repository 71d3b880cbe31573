# SPDX-License-Identifier: BSD-3-Clause
"""The scripts of examples/ run as they stand, on the sets in data/."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path for path in (ROOT / "examples").iterdir() if path.suffix in (".sh", ".slurm"))


def run(name, folder, *arguments, status=0, **environment):
    """What a script run in ``folder``, with the installed programs first on PATH, prints: errors,
    where it fails."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")}
    done = subprocess.run(
        [str(ROOT / "examples" / name), *map(str, arguments)],
        cwd=folder,
        env=clean | {"PATH": path} | environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == status, done.stderr
    if status:
        return done.stderr
    assert done.stderr == ""
    return done.stdout


def sets(name):
    return ROOT / "data" / f"{name}.train", ROOT / "data" / f"{name}.test"


def test_every_script_is_commented_executable_and_run_here():
    here = Path(__file__).read_text(encoding="utf-8")
    for script in SCRIPTS:
        lines = script.read_text(encoding="utf-8").splitlines()
        assert lines[0] == "#!/bin/sh"
        assert lines[1].startswith("# ")
        assert lines[2].startswith("# ")
        assert os.access(script, os.X_OK)
        assert f'run("{script.name}"' in here


def test_text_classification(tmp_path):
    out = run("text_classification.sh", tmp_path, *sets("text"))
    report = json.loads((tmp_path / "text.json").read_text())
    assert f"Accuracy           {report['accuracy']:6.2f} %" in out
    assert report["error_rate"] < 15
    assert len((tmp_path / "text.scores").read_text().splitlines()) == report["examples"] == 600


def test_defaults_are_the_sets_of_the_project(tmp_path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    assert "Accuracy" in run("drop_in.sh", tmp_path)


@pytest.mark.slow
def test_clusters(tmp_path):
    pytest.importorskip("distributed")
    run("cluster_local.sh", tmp_path, *sets("text"))
    assert json.loads((tmp_path / "cluster.json").read_text())["partitions"] == 4
    assert len((tmp_path / "cluster.scores").read_text().splitlines()) == 600
    srun = tmp_path / "srun"  # of SLURM, here for one process
    srun.write_text('#!/bin/sh\nexec "$@"\n')
    srun.chmod(0o755)
    path = os.pathsep.join((str(Path(sys.executable).parent), str(tmp_path), os.environ["PATH"]))
    train = sets("text")[0]
    run("cluster.slurm", tmp_path, train, "slurm.model", PATH=path, SLURM_JOB_ID="7")
    report = json.loads((tmp_path / "slurm.model.json").read_text())
    assert report["workers"] == 1 and report["converged"] and report["partitions"] == 1


def test_grid_over_c(tmp_path):
    out = run("grid_over_c.sh", tmp_path, *sets("text"))
    table = out[: out.index("training on")].splitlines()
    assert table[0].split()[:2] == ["C", "objective"]
    column = re.split(r"  +", table[0].strip()).index("error")
    held_out = {cells[0]: float(cells[column]) for cells in (line.split() for line in table[1:])}
    assert len(held_out) == 6
    best = min(held_out, key=held_out.get)
    assert [line.split()[0] for line in table if line.endswith("<- selected")] == [best]
    assert f"with C = {best}\n" in out
    assert best not in (min(held_out, key=float), max(held_out, key=float))
    assert float(re.search(r"Accuracy *(\S+)", out)[1]) > 91
    assert os.listdir(tmp_path) == ["grid.model"]


def test_unbalanced(tmp_path):
    """Each loss is the best of the three by its own measure, and clearly so where the classes
    matter."""
    out = run("unbalanced.sh", tmp_path, *sets("unbalanced"))
    assert len(out.splitlines()) == 9
    losses = ("error-rate", "f1", "roc-area")
    reports = [json.loads((tmp_path / f"unbalanced.{loss}.json").read_text()) for loss in losses]
    errors, f1, roc = (
        [report[measure] for report in reports] for measure in ("error_rate", "f1", "roc_area")
    )
    assert errors[0] < min(errors[1:]) - 1
    assert f1[1] > max(f1[0], f1[2]) + 10
    assert roc[2] > max(roc[:2]) + 1


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("environment", "c"), [({}, "0.3"), ({"SLURM_ARRAY_TASK_ID": "1"}, "0.03")]
)
def test_job_array(tmp_path, environment, c):
    out = run("job_array.slurm", tmp_path, *sets("text"), **environment)
    assert "Accuracy" in out
    assert json.loads((tmp_path / f"grid.{c}.learn.json").read_text())["options"][
        "example_cost"
    ] == float(c)
    assert sorted(os.listdir(tmp_path)) == [
        f"grid.{c}.{end}" for end in ("classify.json", "learn.json", "model", "scores")
    ]


def test_job_array_has_a_c_for_every_task_it_submits_and_refuses_others(tmp_path):
    script = (ROOT / "examples" / "job_array.slurm").read_text(encoding="utf-8")
    last = int(re.search(r"^#SBATCH --array=0-(\d+)$", script, re.MULTILINE)[1])
    grid = re.search(r"^set -- (.*)$", script, re.MULTILINE)[1].split()
    assert len(grid) == last + 1
    run("job_array.slurm", tmp_path, *sets("wine"), SLURM_ARRAY_TASK_ID=str(last))
    assert (tmp_path / f"grid.{grid[last]}.model").exists()
    for index in (str(last + 1), str(last + 2), "-1", "x"):
        folder = tmp_path / index
        folder.mkdir()
        message = run("job_array.slurm", folder, *sets("wine"), status=2, SLURM_ARRAY_TASK_ID=index)
        assert f"submit with --array=0-{last}\n" in message
        assert os.listdir(folder) == []


def test_drop_in(tmp_path):
    out = run("drop_in.sh", tmp_path, *sets("breast_cancer"))
    assert re.search(r"xi=\d+\.\d{5}\n", out)
    assert re.search(r"\d+ of 189 are predicted positive\n", out)


def test_tagging(tmp_path):
    out = run("tagging.sh", tmp_path, *sets("tags"))
    chain, alone = (float(rate) / 100 for rate in re.findall(r"Token error +(\S+) %", out))
    report = json.loads((tmp_path / "tagging.json").read_text())
    assert chain == pytest.approx(report["token_error"] / 100, abs=1e-4)
    assert 2 * chain < alone
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [f"{100 * rate:.1f} %" in text for rate in (chain, alone)] == [True, True]
    assert len((tmp_path / "tagging.tags").read_text().splitlines()) == report["tokens"]


@pytest.mark.slow
def test_tagging_by_name(tmp_path):
    out = run("tagging_by_name.sh", tmp_path, *sets("tags"))
    assert float(re.search(r"Token error +(\S+) %", out)[1]) < 13
    assert re.search(r"Weights of tag tag1: .*\n +[\d.]+ +\d+ word=\d+ ", out)
    tags = (tmp_path / "named.tags").read_text().split()
    assert set(tags) == {f"tag{k}" for k in range(1, 7)} and len(tags) == len(
        sets("tags")[1].read_text().splitlines()
    )


@pytest.mark.slow
def test_label_sets(tmp_path):
    out = run("label_sets.sh", tmp_path, *sets("labels"))
    assert len(out.splitlines()) == 6
    none, every = (
        json.loads((tmp_path / f"labels.{pairs}.json").read_text()) for pairs in ("none", "all")
    )
    assert every["subset_accuracy"] > none["subset_accuracy"] + 10
    assert every["hamming_loss"] < none["hamming_loss"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"{each['subset_accuracy']:.0f} %" in text for each in (none, every))
    assert len((tmp_path / "labels.all.sets").read_text().splitlines()) == every["examples"] == 200
