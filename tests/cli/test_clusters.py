# SPDX-License-Identifier: BSD-3-Clause
"""Training on the workers of Dask: real schedulers and workers on the loopback."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from parted import lines, trained, written
from programs import BENCHMARKS, benchmark, call, options_of, run

pytest.importorskip("distributed")

import svmcut.dask
from svmcut.base.errors import ClusterError, DataError, UsageError
from svmcut.distributed import connection, engine, histograms, jobs, newton
from svmcut.distributed.engine import connect
from svmcut.distributed.parts import Part, Told, group_files
from svmcut.formats import read_model


@pytest.fixture(scope="module")
def client():
    """Of a scheduler here and two workers, processes of one thread."""
    with connect("local:2") as client:
        client.wait_for_workers(2)
        yield client


def forget(dask_worker):
    """Has the parts of a worker forget the vectors that they were told."""
    for part in dask_worker.data.values():
        if isinstance(part, Part):
            part._told = Told()


@pytest.mark.every(3)
@pytest.mark.parametrize("road", ["direct", "margin", "tasks", "newton", "gathered"])
def test_workers_give_the_bytes_of_one_process(client, tmp_path, monkeypatch, road):
    paths = written(tmp_path, lines(), 5)
    own = {
        "gathered": dict(gap=0.3, loss="f1", cost=3.0),
        "newton": dict(gap=1e-5, solver="newton"),
        "margin": dict(gap=1e-5),
    }
    if road == "margin":  # as of many features, whose Hessian is not formed
        monkeypatch.setattr(newton, "FULL_DIM", 0)
        monkeypatch.setattr(newton, "DENSE_DIM", 0)
    parameters = own.get(road, dict(gap=0.1))
    if road == "tasks":
        monkeypatch.setattr(connection, "MOST_PASSED", 0)

    def observe(progress):
        if road in ("direct", "newton") and progress.iteration == 3:
            client.run(forget)

    here = trained(paths, **parameters)
    there = svmcut.dask.train(client, paths, task="classification", callback=observe, **parameters)
    assert here.model.w.tobytes() == there.model.w.tobytes() and here.model.b == there.model.b
    moved = there.details.pop("bytes_moved")
    assert there.converged and there.details == {**here.details, "workers": 2, "workers_lost": 0}
    d, rounds, iterations = len(here.model.w) + 1, there.details["rounds"], there.progress.iteration
    if (
        road not in own
    ):  # per iteration w to both, 2 x 1280 values and a cut from both: rows never travel
        assert (
            moved <= 8 * (4 * (iterations + 4) * d + 2 * rounds * 2560)
            and moved >= 8 * 2560 * iterations > 8 * 7680
        )


@pytest.mark.slow
def test_workers_count_bins_of_scores(client, tmp_path, monkeypatch):
    monkeypatch.setattr(histograms.BinnedOracle.__init__, "__defaults__", (500,))
    paths, parameters = written(tmp_path, lines(200), 3), dict(gap=0.2, loss="f1", cost=3.0)
    here = trained(paths, how={"most_gathered": 0}, **parameters)
    there = svmcut.dask.train(client, paths, task="classification", most_gathered=0, **parameters)
    gathered = svmcut.dask.train(client, paths, task="classification", **parameters)
    assert here.model.w.tobytes() == there.model.w.tobytes() != gathered.model.w.tobytes()
    assert gathered.dual <= there.primal and there.dual <= gathered.primal


def test_long_vectors_go_by_files(client, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "LARGE", 50)
    folder, seen = tmp_path / "work", []
    folder.mkdir()
    paths, parameters = written(tmp_path, lines(), 3), dict(gap=0.1)
    here = trained(paths, **parameters)
    observe = lambda progress: seen.append(len(list(folder.iterdir())))  # noqa: E731
    there = svmcut.dask.train(client, paths, work_dir=str(folder), callback=observe, **parameters)
    assert (
        here.model.w.tobytes() == there.model.w.tobytes()
        and max(seen) > 1
        and list(folder.iterdir()) == []
    )
    plain = svmcut.dask.train(client, paths, **parameters)
    assert here.model.w.tobytes() == plain.model.w.tobytes() and not any(
        "work_dir" in text for text in there.warnings
    )
    assert [
        text
        for text in plain.warnings
        if "name a folder that all of them see with parameter 'work_dir'" in text
    ]
    assert there.details["bytes_moved"] < plain.details["bytes_moved"]
    with pytest.raises(
        UsageError, match="is no folder; parameter 'work_dir' is one that all workers see"
    ):
        svmcut.dask.train(client, paths, work_dir=str(folder / "none"))
    with pytest.raises(
        ClusterError,
        match=r"cannot read .*none.npy: No such file or directory; all workers must see",
    ):
        engine.read(str(folder / "none.npy"))


def test_workers_read_urls_and_write_them(client, tmp_path, capsys):
    paths, address = written(tmp_path, lines(), 3), client.scheduler.address
    here = trained(paths, gap=0.1)
    there = svmcut.dask.train(client, f"local://{tmp_path}/part-*.dat", gap=0.1)
    assert here.model.w.tobytes() == there.model.w.tobytes()
    there.save(f"local://{tmp_path}/model")
    (tmp_path / "scores").mkdir()
    names = (f"local://{tmp_path}/part-*.dat", tmp_path / "model", f"local://{tmp_path}/scores/")
    assert call("svmcut classify", "--scheduler", address, *names) == 0, capsys.readouterr().err
    written_there = [path.name for path in (tmp_path / "scores").iterdir()]
    assert sorted(written_there) == ["part-0.dat", "part-1.dat", "part-2.dat"]


def test_workers_train_the_cells_of_a_grid(client, tmp_path, capsys):
    (path,), address = written(tmp_path, lines(200), 0), client.scheduler.address
    grid = ("svmcut learn", "--cv", "3", "-v", "2", path)
    for kind, of_kernel in (("linear", ()), ("rbf", ("-t", "2", "-g", "0.1,1"))):
        own = (*grid, "-c", "1,10", *of_kernel)
        names = [tmp_path / f"{where}-{kind}" for where in ("here", "there")]
        assert call(*own, names[0], "--report", tmp_path / "here") == 0, capsys.readouterr().err
        there = ("--scheduler", address, "--report", tmp_path / "there")
        assert call(*own, names[1], *there) == 0, capsys.readouterr().err
        assert names[0].read_bytes() == names[1].read_bytes()
        reports = [json.loads((tmp_path / name).read_text()) for name in ("here", "there")]
        assert reports[0]["cv"] == reports[1]["cv"] and len(reports[0]["cv"]) == 2 * (
            1 + bool(of_kernel)
        )
    assert "C=1 gamma=0.1: accuracy " in capsys.readouterr().out


@pytest.mark.slow
def test_a_grid_outlives_a_worker(client, tmp_path, monkeypatch):
    X, y = svmcut.load_svmlight_file(*written(tmp_path, lines(1500), 0))
    asked = {"kernel": "rbf", "gamma": [0.1, 1.0], "example_cost": [1.0, 30.0], "gap": 1e-4}
    here = svmcut.cross_validate((X, y), 3, **asked)
    pids, told = sorted(client.run(os.getpid).values()), []

    def killing(self, *given):
        if not told:
            told.append(os.kill(pids[0], signal.SIGKILL))
        return submit(self, *given)

    submit = jobs.Jobs._submit
    monkeypatch.setattr(jobs.Jobs, "_submit", killing)
    there = svmcut.dask.cross_validate(client, (X, y), 3, **asked)
    assert there.cells == here.cells and there.best == here.best


def test_nothing_is_left_with_the_workers(client, tmp_path):
    svmcut.dask.train(client, written(tmp_path, lines(100), 2), gap=0.1)
    ends, held = time.monotonic() + 10, ["?"]
    while held and time.monotonic() < ends:  # it is told in the background
        time.sleep(0.05)
        keys = client.run(lambda dask_worker: list(map(str, dask_worker.data))).values()
        held = [key for keys in keys for key in keys if "svmcut" in key]
    assert held == []


def test_a_scheduler_without_workers_and_none_at_all(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(engine, "FIRST_WORKER", 0.2)
    monkeypatch.setattr(engine, "CONNECT", 0.5)
    with (
        connect("local:0") as client,
        pytest.raises(ClusterError, match=r"no worker came .* within 0.2 s; start "),
    ):
        svmcut.dask.train(client, written(tmp_path, lines(20), 1))
    path = tmp_path / "part-0.dat"
    assert call("svmcut learn", "--scheduler", "tcp://127.0.0.1:9", path, tmp_path / "model") == 1
    found = capsys.readouterr().err.strip()
    assert "no scheduler answers at tcp://127.0.0.1:9: " in found and found.endswith(
        "start one with: dask scheduler"
    )
    assert len(found.splitlines()) == 1 and not (tmp_path / "model").exists()
    assert (
        call("svmcut learn", "--scheduler-file", tmp_path / "none.json", path, tmp_path / "model")
        == 1
    )
    found = capsys.readouterr().err.strip()
    assert (
        "no scheduler answers at that of " in found
        and "there has been no such file for 0.2 s; start one" in found
    )


@pytest.mark.slow
def test_an_estimator_on_files_and_on_arrays(client, tmp_path):
    array = pytest.importorskip("dask.array")
    paths = written(tmp_path, lines(), 3)
    X, y = svmcut.load_svmlight_file(*written(tmp_path, lines(), 0))
    machine = svmcut.dask.LinearSVM(C=0.5, tol=0.1).fit(paths)
    assert machine.client is None and machine.converged_ and machine.classes_.tolist() == [-1, 1]
    blocks, labels = array.from_array(X.toarray(), chunks=(150, 6)), array.from_array(y, chunks=400)
    other = svmcut.dask.LinearSVM(C=0.5, tol=0.1, client=client).fit(blocks, labels)
    local = svmcut.LinearSVM(C=0.5, tol=0.1).fit(X, y)
    for found in (machine, other):
        assert local.dual_ <= found.primal_ and found.dual_ <= local.primal_
    scores = other.decision_function(blocks)
    assert (
        scores.chunks == ((150, 150, 100),) and (other.predict(blocks).compute() == y).mean() > 0.85
    )
    assert scores.compute() == pytest.approx(other.decision_function(X), abs=1e-6)


def test_an_error_of_a_file_keeps_its_place(client, tmp_path):
    paths = written(tmp_path, lines(), 3)
    with open(paths[1], "a") as file:
        file.write("1 1:2 2:x\n")
    with pytest.raises(DataError, match=r"part-1\.dat:\d+:9: feature value x is not a number"):
        svmcut.dask.train(client, tmp_path / "part-*.dat")
    for path in paths:
        open(path, "w").close()
    with pytest.raises(DataError, match=r"part-\*\.dat: no examples"):
        svmcut.dask.train(client, tmp_path / "part-*.dat")


@pytest.mark.slow
def test_a_file_that_a_worker_does_not_see_is_told_once_with_its_address(tmp_path):
    written(tmp_path, lines(), 4)
    gone = tmp_path / "gone.dat"
    gone.mkdir()
    words = ("--scheduler", "local:2", tmp_path / "[gp]*.dat", tmp_path / "model")
    done = run("svmcut learn", *words)
    told = r"\S+gone\.dat: Is a directory; the worker tls://127\.0\.0\.1:\d+ reads it\n"
    assert done.returncode == 1 and re.fullmatch(
        told, done.stderr.replace("\n\n", "\n").lstrip()
    ), done.stderr


def test_many_small_files_are_few_parts(client, tmp_path):
    paths = written(tmp_path, lines(1000), 100)
    for path in paths[20:25]:
        open(path, "w").close()
    there = svmcut.dask.train(client, paths, gap=0.1)
    here = trained(paths, gap=0.1)
    assert here.model.w.tobytes() == there.model.w.tobytes()
    assert 32 <= there.details["partitions"] == len(group_files(paths)) < 60
    assert any(
        "no examples in 5 of 100 files, which are left out:" in text for text in there.warnings
    )
    assert group_files(paths[:64]) == paths[:64] and group_files([*paths, "/none"])[:2] == paths[:2]
    with open(paths[3], "a") as file:
        file.write("1 1:2 2:x\n")
    with pytest.raises(DataError, match=r"part-3\.dat:11:9: feature value x is not a number"):
        svmcut.dask.train(client, paths)


def test_nothing_of_local_workers_listens_beyond_this_machine(client):
    psutil = pytest.importorskip("psutil")
    pids = [os.getpid(), *client.run(os.getpid).values()]
    found = [one for pid in pids for one in psutil.Process(pid).net_connections("inet")]
    places = {one.laddr.ip for one in found if one.status == psutil.CONN_LISTEN}
    assert places == {"127.0.0.1"}


def test_another_svmcut_on_a_worker_is_refused(client, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "__version__", "0.0")
    with pytest.raises(
        ClusterError, match=r"svmcut \S+ is on the worker tls://\S+, and 0.0 here; in"
    ):
        svmcut.dask.train(client, written(tmp_path, lines(20), 1))


@pytest.mark.slow
def test_the_benchmark_holds_both_certificates_together(tmp_path):
    words = [
        *("--rows", "2000", "--parts", "4", "--gap", "0.1", "--repeat", "1"),
    ]  # a fork of Dask's threads lacks them
    line = [sys.executable, str(BENCHMARKS / "workers.py"), *words]
    done = subprocess.run(
        line, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=120
    )
    table = done.stdout.splitlines()
    assert table[2].startswith("| one machine, 2 threads") and table[3].startswith(
        "| Dask, 2 workers"
    )
    assert [line.split()[1] for line in table[7:12]] == [
        "compute",
        "driver",
        "w",
        "sums",
        "scheduler",
    ]
    sizes = benchmark(tmp_path, "cluster_sizes.py", "table")
    assert sizes[2].startswith("| 10^5 |") and sizes[-1].startswith("Limits: ")


def test_learn_on_workers(client, tmp_path, capsys):
    written(tmp_path, lines(), 4)
    model, report = tmp_path / "model", tmp_path / "report"
    address = client.scheduler.address
    line = (
        "svmcut learn",
        *("--scheduler", address, "--gap", "0.1", tmp_path / "part-*.dat", model),
        *("--report", report),
    )
    assert call(*line) == 0, capsys.readouterr().err
    found = json.loads(report.read_text())
    assert (found["partitions"], found["workers"], found["workers_lost"], found["examples"]) == (
        4,
        2,
        0,
        400,
    )
    assert (
        found["rounds"] <= 2 * found["iterations"] + 3
        and found["converged"]
        and found["class_counts"][1] > 100
    )
    first = model.read_bytes()
    assert call(*line[:-2], "--example-cost", "1,2") == 0
    assert "train error" in capsys.readouterr().out and (tmp_path / "model.1").read_bytes() == first


def test_classify_on_workers(client, tmp_path, capsys):
    paths, whole = written(tmp_path, lines(), 3), written(tmp_path, lines(), 0)
    model, folder, address = tmp_path / "model", tmp_path / "scores", client.scheduler.address
    assert call("svmcut learn", "-v", "0", *whole, model) == 0
    assert call("svmcut classify", *whole, model, tmp_path / "all") == 0
    here = capsys.readouterr().out
    line = ("svmcut classify", "--scheduler", address, tmp_path / "part-*.dat", model, folder)
    assert (
        call(*line) == 2
        and "is no folder; the predictions of every file go there" in capsys.readouterr().err
    )
    folder.mkdir()
    assert call(*line) == 0
    assert capsys.readouterr().out == here
    names = [path.rpartition("/")[2] for path in paths]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert "".join((folder / name).read_text() for name in names) == (tmp_path / "all").read_text()
    assert call(*line[:-1], tmp_path) == 2 and "are the same file" in capsys.readouterr().err


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_no_byte(client, tmp_path):
    paths, seen = written(tmp_path, lines(), 5), []

    def observe(progress):
        seen.append(progress.iteration)
        if len(seen) == 3:
            os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)

    here = trained(paths, gap=0.1)
    there = svmcut.dask.train(client, paths, gap=0.1, callback=observe)
    assert (
        here.model.w.tobytes() == there.model.w.tobytes()
        and len(seen) == here.progress.iteration > 3
    )


@pytest.mark.slow
def test_classes_on_workers(client, tmp_path, capsys):
    text = lines(task="multiclass")
    paths, (whole,) = written(tmp_path, text, 3), written(tmp_path, text, 0)
    model, folder, address = tmp_path / "model", tmp_path / "scores", client.scheduler.address
    folder.mkdir()
    line = ("svmcut learn", "--task", "multiclass", "--gap", 0.05, "--scheduler", address)
    assert call(*line, tmp_path / "part-*.dat", model, "--report", tmp_path / "report") == 0
    found = json.loads((tmp_path / "report").read_text())
    assert (
        found["labels"] == [3, 4, 5, 6] and sum(found["class_counts"]) == 400 and found["converged"]
    )
    here = trained(paths, task="multiclass", gap=0.05)
    assert np.abs(read_model(str(model)).W - here.model.W).max() < 1e-6 and found["partitions"] == 3
    capsys.readouterr()
    assert call("svmcut classify", whole, model, tmp_path / "all") == 0
    here = capsys.readouterr().out
    assert (
        call("svmcut classify", "--scheduler", address, tmp_path / "part-*.dat", model, folder) == 0
    )
    assert capsys.readouterr().out == here
    assert (
        "".join((folder / path.rpartition("/")[2]).read_text() for path in paths)
        == (tmp_path / "all").read_text()
    )


def test_without_dask_the_message_says_what_to_install(monkeypatch, tmp_path, capsys):
    written(tmp_path, lines(20), 1)
    monkeypatch.delitem(sys.modules, "svmcut.distributed.engine")
    monkeypatch.setitem(sys.modules, "dask", None)
    assert (
        call("svmcut learn", "--scheduler", "local:1", tmp_path / "part-0.dat", tmp_path / "model")
        == 2
    )
    assert (
        capsys.readouterr().err.strip().endswith("install it with: pip install 'dask[distributed]'")
    )
    assert not (tmp_path / "model").exists()


def test_dask_is_imported_where_it_is_asked_for_alone(tmp_path):
    (path,) = written(tmp_path, lines(20), 1)
    code = (
        "import sys; from svmcut.cli.start import main; main(sys.argv[1:]); sys.exit('dask' in "
        "sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code, "learn", "-v", "0", path, tmp_path / "model"]
        ).returncode
        == 0
    )


def test_the_manifest_of_kubernetes_fits_together():
    yaml = pytest.importorskip("yaml")
    found = list(
        yaml.safe_load_all(
            (Path(__file__).parents[2] / "examples" / "cluster_kubernetes.yaml").read_text()
        )
    )
    assert [one["kind"] for one in found] == [
        "Service",
        "Deployment",
        "Deployment",
        "Job",
        "NetworkPolicy",
    ]
    service, *pods, policy = found
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in pods]
    assert (
        service["spec"]["selector"] == labels[0] and {"app": "svmcut"}.items() <= labels[2].items()
    )
    assert [one["spec"]["selector"]["matchLabels"] for one in pods[:2]] == labels[:2]
    assert policy["spec"]["podSelector"]["matchLabels"] == {"app": "svmcut"}
    for one in pods:
        pod = one["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        volumes = {volume["name"] for volume in pod.get("volumes", [])}
        assert {mount["name"] for mount in container.get("volumeMounts", [])} == volumes
        assert all(isinstance(word, str) for word in container["command"])
    learn = container["command"]
    address = f"tcp://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    assert (
        address in pods[1]["spec"]["template"]["spec"]["containers"][0]["command"]
        and learn[0] == "svmcut"
    )
    options = options_of(learn[1:])
    assert options.scheduler == address and options.resume and options.checkpoint == "/models/state"


def test_workers_here_are_reached_with_the_credentials_of_the_run_alone(client):
    address = client.scheduler.address
    assert address.startswith("tls://127.0.0.1:") and all(
        name.startswith("tls://") for name in client.nthreads()
    )
    with connect(address) as other:  # of the process that made them
        assert other.nthreads() == client.nthreads()
    key, certificate = connection.make_credentials()
    assert (
        "PRIVATE KEY" in key
        and "BEGIN CERTIFICATE" in certificate
        and connection.make_credentials() != (key, certificate)
    )


@pytest.mark.slow
def test_nobody_else_reaches_workers_here(client, tmp_path):
    (path,) = written(tmp_path, lines(20), 1)
    key, certificate = connection.make_credentials()  # of another run
    for name, text in (("key", key), ("certificate", certificate)):
        (tmp_path / name).write_text(text)
    tls = {"CA_FILE": "certificate", "CLIENT__CERT": "certificate", "CLIENT__KEY": "key"}
    other = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": value for name, value in tls.items()}
    for more, told in (
        ({}, "reached by tls:// and with certificates"),
        (other, "no scheduler answers at tls://"),
    ):
        done = run(
            "svmcut learn",
            "--scheduler",
            client.scheduler.address,
            path,
            "model",
            cwd=tmp_path,
            env=os.environ | more | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"},
        )
        assert done.returncode == 1 and told in done.stderr, done


def test_without_a_library_for_certificates_the_warning_says_so(client, monkeypatch):
    monkeypatch.setattr(connection, "make_credentials", lambda: None)
    monkeypatch.setattr(client.cluster, "security", connection._own_security())
    rows = engine.DaskRows(client)
    rows.workers()
    assert (
        rows.warnings == [connection.PLAIN]
        and "cryptography or the program openssl" in connection.PLAIN
    )


def test_openssl_makes_what_the_library_makes(monkeypatch):
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert connection.make_credentials() is not None
    monkeypatch.setenv("PATH", "")
    assert connection.make_credentials() is None


def test_an_empty_part_is_left_out_with_a_warning(client, tmp_path, capsys):
    paths, model = written(tmp_path, lines(), 3), tmp_path / "model"
    address, pattern = client.scheduler.address, tmp_path / "part-*.dat"
    assert call("svmcut learn", "-v", 0, "--gap", 0.3, "--scheduler", address, pattern, model) == 0
    before = model.read_bytes()
    (tmp_path / "part-00.dat").write_text("")
    assert call("svmcut learn", "-v", 0, "--gap", 0.3, "--scheduler", address, pattern, model) == 0
    warning = f"no examples in 1 of 4 files, which are left out: {tmp_path / 'part-00.dat'}"
    assert model.read_bytes() == before and warning in capsys.readouterr().err
    folder = tmp_path / "scores"
    folder.mkdir()
    assert call("svmcut classify", "-v", 0, "--scheduler", address, pattern, model, folder) == 0
    assert f"warning: {tmp_path / 'part-00.dat'}: no examples" in capsys.readouterr().err
    assert (folder / "part-00.dat").read_bytes() == b"" and len(list(folder.iterdir())) == 1 + len(
        paths
    )


@pytest.mark.slow
@pytest.mark.parametrize("at", [1, 3])
def test_all_workers_killed_come_again(tmp_path, at):
    paths, seen = written(tmp_path, lines(), 5), []
    with connect("local:2") as client:
        client.wait_for_workers(2)

        def observe(progress):
            seen.append(progress.iteration)
            if len(seen) == at:
                for process in client.run(os.getpid).values():
                    os.kill(process, signal.SIGKILL)

        there = svmcut.dask.train(client, paths, gap=0.1, callback=observe)
    assert trained(paths, gap=0.1).model.w.tobytes() == there.model.w.tobytes()
    assert there.details["workers_lost"] == 2


@pytest.mark.slow
def test_a_run_whose_workers_do_not_come_again_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "WITHOUT_OWN", 4)
    paths = written(tmp_path, lines(), 5)
    with connect("local:2") as client:
        client.wait_for_workers(2)

        def observe(progress):
            if progress.iteration == 2:
                processes = client.run(os.getpid).values()
                for nanny in client.cluster.workers.values():
                    nanny.auto_restart = False
                    nanny.instantiate = None  # fails
                for process in processes:
                    os.kill(process, signal.SIGKILL)

        with pytest.raises(ClusterError, match=r"^all workers of local:N are gone, and none"):
            svmcut.dask.train(client, paths, gap=1e-6, callback=observe)
