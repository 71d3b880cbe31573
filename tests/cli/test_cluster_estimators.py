# SPDX-License-Identifier: BSD-3-Clause
"""svmcut.dask on blocks of rows: estimators beside those of one machine, checkpoints, refusals. The
workers are threads here."""

import asyncio
import pickle

import numpy as np
import pytest
from parted import lines, written
from programs import call

pytest.importorskip("distributed")
import dask
import dask.array as da
from dask.distributed import Client

import svmcut
import svmcut.dask
from svmcut.base.errors import CheckpointError, ClusterError, DataError, UsageError
from svmcut.distributed import jobs, scoring
from svmcut.distributed.connection import here
from svmcut.distributed.jobs import SpreadSearch
from svmcut.distributed.parts import Part
from svmcut.formats import write_model
from svmcut.selection.grid import Search, Terms, cells_of, parts_of
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import plain
from svmcut.tasks.protocol import make_task

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6))
SCORES = X @ RNG.normal(size=(6, 4)) + 0.3 * RNG.normal(size=(400, 4))
TWO = np.where(SCORES[:, 0] > 0, "yes", "no")
FOUR = np.array(["ant", "bee", "cat", "dog"])[SCORES.argmax(1)]
WEIGHTS = RNG.random(400)


@pytest.fixture(scope="module")
def client():
    """Of two workers, threads of this process."""
    few = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with Client(**few, dashboard_address="127.0.0.1:0") as client:
        yield client


@pytest.fixture(scope="module")
def blocks():
    """X in blocks of rows and of columns."""
    return da.from_array(X, chunks=(150, 3))


def meet(there, here):
    """Two certificates hold together."""
    sums = [np.sum(values) for values in (there.primal_, here.dual_, here.primal_, there.dual_)]
    assert sums[0] >= sums[1] * (1 - 1e-9) and sums[2] >= sums[3] * (1 - 1e-9)
    assert sums[0] <= 1.01 * sums[2] and there.converged_ and there.coef_.shape == here.coef_.shape


def cut(values):
    """Three delayed pieces."""
    return [dask.delayed(values[k::3]) for k in range(3)]


@pytest.mark.parametrize(
    "kind",
    [
        "unknown",
        "delayed",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("arrays", "persisted", "sets")),
    ],
)
def test_blocks_of_every_kind_train_as_rows_in_memory(client, blocks, kind):
    given = {
        "arrays": lambda: (blocks, da.from_array(TWO, chunks=100)),
        "persisted": lambda: (client.persist(blocks), client.persist(da.from_array(TWO, 100))),
        "unknown": lambda: (blocks[da.from_array(np.ones(400, bool), 150)], TWO),
        "delayed": lambda: (cut(X), cut(TWO)),
        "sets": lambda: ([client.submit(np.array, X[:200]), dask.delayed(X[200:])], TWO),
    }[kind]()
    machine = svmcut.dask.LinearSVM(client=client).fit(*given)
    meet(machine, svmcut.LinearSVM().fit(X, TWO))
    assert machine.classes_.tolist() == ["no", "yes"] and machine.n_features_in_ == 6
    assert (machine.predict(X) == TWO).mean() > 0.9


def test_weights_and_classes(client, blocks):
    parameters = {"class_weight": {"yes": 3, "no": 1}}
    machine = svmcut.dask.LinearSVM(client=client, **parameters)
    for weights in (WEIGHTS, da.from_array(WEIGHTS, chunks=70)):
        machine.fit(blocks, TWO, sample_weight=weights)
        meet(machine, svmcut.LinearSVM(**parameters).fit(X, TWO, WEIGHTS))
    gone = svmcut.dask.LinearSVM(client=client).fit(blocks, FOUR, np.where(FOUR == "ant", 0, 1))
    assert gone.classes_.tolist() == ["bee", "cat", "dog"]


@pytest.mark.every(2)
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_several_classes_by_words(client, blocks, multi_class):
    machine = svmcut.dask.LinearSVM(client=client, multi_class=multi_class).fit(blocks, FOUR)
    meet(machine, svmcut.LinearSVM(multi_class=multi_class).fit(X, FOUR))
    scores = machine.decision_function(blocks)
    assert scores.chunks == ((150, 150, 100), (4,)) and machine.classes_[0] == "ant"
    found = machine.classes_[scores.compute().argmax(1)]
    assert (machine.predict(blocks).compute() == found).all() and (found == FOUR).mean() > 0.8


def test_numbers_and_rankings(client, blocks):
    there = svmcut.dask.LinearSVMRegressor(client=client, tube=0.2).fit(blocks, SCORES[:, 1])
    meet(there, svmcut.LinearSVMRegressor(tube=0.2).fit(X, SCORES[:, 1]))
    assert there.predict(blocks).compute() == pytest.approx(there.predict(X))
    qid, grades = np.repeat(np.arange(40), 10), np.digitize(SCORES[:, 2], [-1, 1])
    ranker = svmcut.dask.RankSVM(client=client).fit(blocks, grades, da.from_array(qid, chunks=60))
    meet(ranker, svmcut.RankSVM().fit(X, grades, qid))
    assert ranker.decision_function(blocks).compute() == pytest.approx(ranker.predict(X))


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["dask", "sparse"])
def test_sets_of_labels(client, blocks, kind):
    sparse = pytest.importorskip("scipy.sparse")
    Y = np.column_stack([SCORES > 0.5, np.zeros(400, bool)]).astype(int)
    given = {
        "dask": lambda: da.from_array(Y, chunks=(100, 2)),
        "sparse": lambda: sparse.csr_matrix(Y),
    }[kind]()
    machine = svmcut.dask.MultilabelSVM(C=2.0, client=client).fit(blocks, given, WEIGHTS)
    here = svmcut.MultilabelSVM(C=2.0, pairs="none").fit(X, Y, WEIGHTS)
    meet(machine, here)
    assert machine.predict(blocks).compute().tolist() == machine.predict(X).tolist()
    assert (machine.predict(X) == here.predict(X)).mean() > 0.99


def test_what_are_no_sets_of_labels_is_refused(client, blocks):
    machine = svmcut.dask.MultilabelSVM(client=client)
    with pytest.raises(DataError, match="block 1 of 3 of X: Y: an entry is neither 0 nor 1"):
        machine.fit(blocks, SCORES)
    with pytest.raises(UsageError, match="from blocks of rows; give X and Y"):
        machine.fit("part-*.dat")


@pytest.mark.slow
def test_data_frames_keep_their_names(client):
    frames, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(400) * 2)
    F = frames.from_pandas(table, npartitions=3)
    y = frames.from_pandas(pd.Series(TWO, index=table.index), npartitions=3)
    machine = svmcut.dask.LinearSVM(client=client).fit(F, y)
    meet(machine, svmcut.LinearSVM().fit(X, TWO))
    assert machine.feature_names_in_.tolist() == list("abcdef")
    found = machine.predict(F).compute()
    assert (found == TWO).mean() > 0.9 and (found.index == table.index).all()
    assert machine.decision_function(F).compute().to_numpy() == pytest.approx(
        machine.decision_function(table)
    )
    with pytest.raises(DataError, match=r"block 1 of 3 of X: .*column 'g' holds 'x'"):
        svmcut.dask.LinearSVM(client=client).fit(F.assign(g="x"), TWO)


def test_files_of_several_classes_name_the_task(client, tmp_path):
    paths = written(tmp_path, lines(task="multiclass"), 3)
    machine = svmcut.dask.LinearSVM(client=client).fit(paths)
    assert machine.classes_.tolist() == [3, 4, 5, 6] and machine.coef_.shape == (4, 12)
    outcome = svmcut.dask.train(client, paths, gap=0.01)
    assert outcome.model.names.tolist() == [3, 4, 5, 6]


def test_a_list_of_costs_reads_the_rows_once(client, tmp_path):
    paths = written(tmp_path, lines(), 3)
    found = svmcut.dask.train(client, paths, example_cost=[0.1, 1.0], gap=0.01)
    assert [round(outcome.objective.C, 6) for outcome in found] == [0.1, 1.0]
    alone = svmcut.dask.train(client, paths, example_cost=0.1, gap=0.01)
    assert found[0].model.w.tobytes() == alone.model.w.tobytes()
    found[1].save(tmp_path / "model")
    assert svmcut.load(tmp_path / "model").model.certificate is not None


def test_a_run_goes_on_from_its_checkpoint_to_the_same_bytes(client, tmp_path, monkeypatch):
    paths, file = written(tmp_path, lines(), 3), tmp_path / "checkpoint"
    how = {"example_cost": [0.1, 1.0], "gap": 0.01, "checkpoint_every": 0.0}
    whole = svmcut.dask.train(client, paths, **how, checkpoint=file)
    assert not file.exists()
    seen = []

    def stop(progress):
        seen.append(progress)
        if len(seen) == len_first + 4:
            raise RuntimeError("the power is gone")

    len_first = whole[0].progress.iteration
    with pytest.raises(RuntimeError, match="power"):
        svmcut.dask.train(client, paths, **how, checkpoint=file, callback=stop)
    assert file.exists()
    with pytest.raises(CheckpointError, match=r"with gap=0\.01 and not 0\.02; remove it or"):
        svmcut.dask.train(client, paths, **how | {"gap": 0.02}, checkpoint=file, resume=True)
    with pytest.raises(CheckpointError, match="with other examples or weights"):
        svmcut.dask.train(client, paths[:2], **how, checkpoint=file, resume=True)
    steps = []
    again = svmcut.dask.train(
        client, paths, **how, checkpoint=file, resume=True, callback=steps.append
    )
    assert [one.model.w.tobytes() for one in again] == [one.model.w.tobytes() for one in whole]
    assert len(steps) < whole[1].progress.iteration and not file.exists()
    monkeypatch.setattr(scoring, "__version__", "0")
    svmcut.dask.train(client, paths, gap=0.01, max_iterations=2, checkpoint=file)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="with another svmcut"):
        svmcut.dask.train(client, paths, gap=0.01, checkpoint=file, resume=True)


@pytest.mark.slow
def test_an_estimator_goes_on_too(client, tmp_path, blocks):
    file = tmp_path / "checkpoint"
    whole = svmcut.dask.LinearSVM(client=client).fit(blocks, TWO)
    how = {"client": client, "checkpoint": file}
    with pytest.warns(Warning, match="ended"):
        short = svmcut.dask.LinearSVM(max_iter=2, **how).fit(blocks, TWO)
    assert not short.converged_ and file.exists()
    again = svmcut.dask.LinearSVM(resume=True, **how).fit(blocks, TWO)
    assert again.coef_.tobytes() == whole.coef_.tobytes() and not file.exists()


@pytest.mark.parametrize(
    "given, error, text",
    [
        (lambda D: (X, TWO), UsageError, "X is in the memory of this process; train on it with"),
        (lambda D: (D, TWO[:9]), DataError, r"y: has shape \(9,\); expected \(400,\)"),
        (lambda D: (cut(X), cut(TWO)[:2]), UsageError, "y is in 2 pieces and X in 3; cut both"),
        (lambda D: (D, np.zeros(400)), DataError, "of one class, 0.0; LinearSVM needs two"),
        (lambda D: (D, TWO, -WEIGHTS), DataError, "expected a finite number of at least 0"),
        (lambda D: (D,), UsageError, "y is missing; give the label of every row"),
        (lambda D: ("part", TWO), UsageError, "y goes with rows in blocks; lines of files"),
        (lambda D: (D, np.full(400, np.nan)), DataError, "y: contains NaN or infinity"),
        (lambda D: (cut(X), [*cut(TWO)[:2], dask.delayed(TWO[:3])]), DataError, "block 3 of 3"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(client, blocks, given, error, text):
    with pytest.raises(error, match=text):
        svmcut.dask.LinearSVM(client=client).fit(*given(blocks))


def test_other_wrong_calls_are_refused(client, blocks, tmp_path):
    with pytest.raises(DataError, match="qid: is missing"):
        svmcut.dask.RankSVM(client=client).fit(blocks, SCORES[:, 0])
    with pytest.raises(DataError, match="no row is of class 'x'; expected 'no', 'yes'"):
        svmcut.dask.LinearSVM(client=client, class_weight={"x": 1}).fit(blocks, TWO)
    with pytest.raises(UsageError, match=r"'gap' is a list; on workers parameter 'cost' or"):
        svmcut.dask.train(client, "part", gap=[0.1, 0.2])
    with pytest.raises(UsageError, match="'cost' is an empty list"):
        svmcut.dask.train(client, "part", cost=[])
    with pytest.raises(
        UsageError, match=r"X is in the memory of this process; .* svmcut\.train, or"
    ):
        svmcut.dask.train(client, (X, SCORES[:, 0] > 0))
    with pytest.raises(UsageError, match="resume=True needs parameter 'checkpoint'"):
        svmcut.dask.train(client, "part", resume=True)
    with pytest.raises(AttributeError, match="has no attribute 'KernelSVM'"):
        svmcut.dask.KernelSVM  # noqa: B018


def test_workers_fit_the_encoding_of_a_table(client, tmp_path, capsys):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": SCORES[:, 0] + 1, "c": FOUR, "w": WEIGHTS, "y": TWO})
    path = tmp_path / "rows.parquet"
    parquet.write_table(table, path, row_group_size=100)
    how = {"label": "y", "weight_column": "w"}
    there = svmcut.dask.train(client, path, **how)
    assert there.details["partitions"] == 4 and there.model.table.words == ("no", "yes")
    there.save(tmp_path / "there")
    scheduler = ("--scheduler", client.scheduler.address)
    options = ("--label", "y", "--weight-column", "w")
    assert call("svmcut learn", *scheduler, *options, path, tmp_path / "model") == 0
    assert "Columns        a: number; c: 4 categories" in capsys.readouterr().out
    assert (tmp_path / "model").read_bytes() == (tmp_path / "there").read_bytes()
    alone = svmcut.train(path, **how)
    assert there.dual <= alone.primal and alone.dual <= there.primal
    with pytest.raises(UsageError, match="'cache' is for"):
        svmcut.dask.train(client, path, **how, cache="x")
    with pytest.raises(UsageError, match="'label' is for tables; leave it out"):
        svmcut.dask.train(client, "rows.dat", label="y")


def test_cells_of_a_grid_on_workers_have_the_numbers_of_one_machine(client, tmp_path):
    data = X, SCORES[:, :3].argmax(1)
    here = svmcut.cross_validate(data, 3, example_cost=[0.1, 1.0])
    there = svmcut.dask.cross_validate(client, data, 3, example_cost=[0.1, 1.0])
    assert there.cells == here.cells and there.best == here.best
    assert there.outcome.model.W.tobytes() == here.outcome.model.W.tobytes()


def test_a_grid_goes_on_and_ends_in_time(client):
    own = make_task("classification")
    data = own.from_arrays(X, np.where(TWO == "yes", 1, -1))
    settings = plain(Settings(gap=1e-3, example_cost=1.0, threads=1, given=frozenset()))
    whole = own.plan(data, settings)
    parts, settings, _ = parts_of(data, whole.settings, 4)
    given = (own, settings, cells_of([0.1, 1.0, 10.0], {}), parts, whole)
    here = Search(*given)
    here.run()
    first = SpreadSearch(client, *given)

    def stop():
        if first.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        first.run(stop)
    again = SpreadSearch(client, *given, Terms(state=first.state()))
    assert 0 < again.done < again.size or first.complete
    again.run()
    assert again.results == here.results
    late = SpreadSearch(client, *given, Terms(time_limit=0.0))
    late.run()
    assert not late.complete


def test_a_job_that_fails_ends_the_others(client):
    def fail(shared, job):
        raise DataError("part", f"job {job} of {shared}")

    with pytest.raises(DataError, match="part: job 1 of all"):
        jobs.Jobs(client, "all").run(fail, [1], lambda job: (job,), print, lambda: None)


def test_a_worker_short_of_memory_is_named(client, tmp_path, monkeypatch):
    def short(self, paths, how):
        raise MemoryError("reading needs 9 GB")

    monkeypatch.setattr(Part, "_of_files", short)
    text = (
        r"the worker inproc://\S+ is out of memory: reading needs 9 GB; use smaller files or more"
    )
    with pytest.raises(ClusterError, match=text):
        svmcut.dask.train(client, written(tmp_path, lines(60), 2), gap=0.1)


def test_an_asynchronous_client_is_refused(client):
    async def refused():
        address = client.scheduler.address
        async with Client(address, asynchronous=True) as other:
            with pytest.raises(UsageError, match=r"this client is asynchronous.*without asynch"):
                here(other)

    asyncio.run(refused())


def label_sets(labels=140, n=90, d=10):
    """Rows, and sets of labels that two blocks of 64 do not hold."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    Y = rows @ rng.normal(size=(d, labels)) > 1.5
    Y[0] = True
    return rows, Y


IN_BLOCKS = {"pairs": "none", "label_block": 64, "example_cost": 0.5, "gap": 1e-3}


@pytest.mark.parametrize("given", [{"prune": "auto"}, {"tree": True}])
def test_blocks_of_labels_on_workers_have_the_bytes_of_one_machine(client, tmp_path, given):
    data, steps = label_sets(), []
    known = IN_BLOCKS | given | {"task": "multilabel", "model_format": "binary"}
    here = svmcut.train(data, **known)
    there = svmcut.dask.train(client, data, callback=steps.append, **known)
    written = []
    for outcome in (here, there):
        write_model(str(tmp_path / "model"), outcome.model)
        written.append((tmp_path / "model").read_bytes())
    assert written[0] == written[1] and (here.primal, here.dual) == (there.primal, there.dual)
    unit = "machines" if "tree" in given else "labels"
    over = [step.extra[f"{unit}_over"] for step in steps]
    assert over == sorted(over) and over[-1] == steps[-1].extra[unit] and len(set(over)) > 2


def test_blocks_on_workers_go_on_on_one_machine(client, monkeypatch):
    monkeypatch.setattr(jobs, "STRETCH", 0.0)
    own = make_task("multilabel")
    data = own.from_arrays(*label_sets())
    settings = plain(Settings(task="multilabel", given=frozenset(), **IN_BLOCKS))
    whole = own.plan(data, settings).fit(None, 0.5)
    driver, states = own.plan(data, settings), []
    jobs.share(driver, data, client)
    driver.fit(None, 0.5, lambda *_: states.append(pickle.dumps(driver.state())))
    assert any(pickle.loads(state)["solver"]["going"] for state in states)
    for spread, state in ((False, states[4]), (True, states[len(states) // 2])):
        driver = own.plan(data, settings)
        if spread:
            jobs.share(driver, data, client)
        again = driver.fit(None, 0.5, state=pickle.loads(state))
        assert again.model.values.tobytes() == whole.model.values.tobytes()
        assert again.model.places.tobytes() == whole.model.places.tobytes()
        assert (again.primal, again.dual) == (whole.primal, whole.dual)


def test_labels_that_are_not_in_blocks_are_refused(client):
    known = {"task": "multilabel", "pairs": "none"}
    with pytest.raises(UsageError, match=r"scheduler.*spreads blocks of labels.*label_block"):
        svmcut.dask.train(client, label_sets(), **known)
