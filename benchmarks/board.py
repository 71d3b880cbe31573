# SPDX-License-Identifier: BSD-3-Clause
"""The whole board: svmcut and every peer that can be installed, over sets, losses and C; what is
recorded is kept.

    python benchmarks/board.py runs.jsonl --data FOLDER --made FOLDER [--sets a9a skin] [--tasks
        hinge] [--limit 10]
    python benchmarks/board_duels.py runs.jsonl --data FOLDER --made FOLDER      close jobs again
    python benchmarks/board_page.py runs.jsonl                     docs/board.md and its plot

FOLDER of --data is searched for the public sets by name (those that are not there are left out);
--made is where stand-ins are made once (benchmarks/make_board_sets.py). A run is a process on one
pinned CPU, from the text to the model, at one setting of its tolerance; peers called from Python
are not charged for importing their libraries. Of each run are kept the CPU seconds (median of three
where it takes less than 0.5) and the objective of the written weights, 1/2 |w|^2 + C sum of losses
with the bias inside w, in float64; of kernels the dual objective; of sequences and rankings the
percentage of wrong test tokens and 100 (1 - NDCG@10). Runs that stand in the file are not made
again: with --seconds 280 it ends after so long, and the same command goes on from there. --quick is
C = 1 (0.01 too of losses of two classes, and 100 of the hinge), with LIBLINEAR as program and as
its newest, LIBSVM and one peer more of a task; a peer is ended there after five times the CPU
seconds of svmcut.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import make_board_sets
import numpy as np
from arguments import SVMCUT
from make_cod_rna_like import write as write_cod_rna
from objective import Evaluator, label_objective, read_liblinear, read_numpy, read_svm_light
from timing import ProcessFailed, time_process

HERE = Path(__file__).resolve().parent
LINEAR = ("hinge", "squared-hinge", "logistic")
COSTS = ("0.01", "1", "100")
#: name: tasks, pattern of the training file, pattern of the test file.
PUBLIC = {
    "a9a": (LINEAR, "a9a", ""),
    "ijcnn1": (LINEAR, "ijcnn1.tr", ""),
    "covtype": (LINEAR, "covtype.class1.scale.20k.train", ""),
    "mnist8": (LINEAR, "mnist8.scale.t", ""),
    "acq": (LINEAR, "acq.train", ""),
    "covtype 7": (("crammer-singer", "one-vs-rest"), "covtype.20k", ""),
    "a9a 10k": (("rbf",), "a9a", ""),
    "ijcnn1 10k": (("rbf",), "ijcnn1.tr", ""),
    "mnist8 10k": (("rbf",), "mnist8.scale.t", ""),
    "ocr": (("tags",), "ocr_letters/train_large.hmm", "ocr_letters/test_large.hmm"),
    "mq2008": (("ranking",), "MQ2008.Fold1.train.txt", "MQ2008.Fold1.test.txt"),
}
MADE = {
    "rcv1": LINEAR,
    "w8a": LINEAR,
    "url-day": LINEAR,
    "news20-binary": LINEAR,
    "skin": LINEAR,
    "cod-rna": LINEAR,
    "cod-rna 10k": ("rbf",),
    "news20": ("crammer-singer", "one-vs-rest"),
    "counts": LINEAR,
    "dense": LINEAR,
    "wide": LINEAR,
    "rare": LINEAR,
    "copies": LINEAR,
    "hashed": LINEAR,
    "thousand": ("crammer-singer", "one-vs-rest"),
    "labels": ("labels",),
}
#: Of the rbf kernel.
GAMMAS = {"a9a 10k": "0.05", "ijcnn1 10k": "1", "mnist8 10k": "0.02", "cod-rna 10k": "1"}
LIBLINEAR = {
    "hinge": ("3",),
    "squared-hinge": ("1", "2"),
    "logistic": ("0", "7"),
    "crammer-singer": ("4",),
    "one-vs-rest": ("3",),
}
#: Tasks of several classes, by their names in benchmarks/multiclass.py.
JOINT = ("crammer-singer", "one-vs-rest")
TIGHTER = ("0.1", "0.01", "0.001")
#: Tasks whose worth is an error of a test set.
ERRORS = ("tags", "ranking")
#: What names an entry of a record.
KEY = ("set", "task", "C", "peer", "setting")
#: An objective this close to the best one known counts as reached.
NEAR = 1e-3
#: Of --quick.
QUICK_COSTS = {
    "hinge": ("0.01", "1", "100"),
    "squared-hinge": ("0.01", "1"),
    "logistic": ("0.01", "1"),
}
QUICK_PEERS = {
    "tags": {"crfsuite": ("ap-20", "lbfgs-30")},
    "ranking": {"lightgbm": ("100",)},
    "rbf": {"LIBSVM": TIGHTER[1:]},
}
#: CPU seconds that importing a peer's libraries may take.
IMPORTS = 8.0
#: Peers whose versions are told, by what installs them.
PACKAGES = (
    "liblinear-official",
    "libsvm-official",
    "scikit-learn",
    "scikit-learn-intelex",
    "skglm",
    "rehline",
    "vowpalwabbit",
    "lightgbm",
    "xgboost",
    "python-crfsuite",
)


class Job(NamedTuple):
    """A set, a task and a C."""

    set: str
    task: str
    C: str
    train: Path
    test: str


class Contest(NamedTuple):
    """A program for a job, and the settings to be tried in this order until one takes too long."""

    peer: str
    settings: tuple[str, ...]


def found(folder: Path | None, pattern: str, made: Path) -> Path | None:
    """The file, unpacked once."""
    for path in sorted(folder.rglob(Path(pattern).name + "*")) if folder else []:
        if str(path).removesuffix(".gz").endswith(pattern):
            plain = made / path.name.removesuffix(".gz")
            if path.suffix != ".gz":
                return path
            if not plain.exists():
                with gzip.open(path) as packed, open(plain, "wb") as out:
                    shutil.copyfileobj(packed, out)
            return plain
    return None


def stand_in(name: str, made: Path, rcv1: Path | None) -> Path | None:
    """The file of a set that is made, once."""
    path = made / name.removesuffix(" 10k")
    if not path.exists():
        print(f"making {path}", flush=True)
        if name.startswith("cod-rna"):
            write_cod_rna(str(path), 59_535, 1)
        elif name == "rcv1" and rcv1:
            words = [sys.executable, str(rcv1), "-n", "100000", "-o", str(path)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        elif name == "rcv1":
            return None
        else:
            make_board_sets.write(name, path)
    return path


def jobs(given) -> Iterator[Job]:
    """All that was asked for and whose files are there."""
    generators = sorted(given.data.rglob("gen_rcv1_like.py")) if given.data else []
    for name, tasks in {**{key: row[0] for key, row in PUBLIC.items()}, **MADE}.items():
        tasks = [task for task in tasks if task in (given.tasks or tasks)]
        if not tasks or (given.sets and name not in given.sets):
            continue
        _, pattern, other = PUBLIC.get(name, ("", "", ""))
        if pattern:
            path, test = (
                found(given.data, pattern, given.made),
                found(given.data, other, given.made) if other else "",
            )
            path = scaled(path) if path and name == "covtype 7" else path
        else:
            path, test = stand_in(name, given.made, next(iter(generators), None)), ""
        if path is None:
            print(f"{name}: its file is not there, left out", flush=True)
            continue
        if name.endswith(" 10k"):
            path, test = head(path, 10_000), GAMMAS[name]
        for task in tasks:
            for C in costs_of(task, given.quick):
                if C in given.costs:
                    yield Job(name, task, C, path, str(test))


def costs_of(task: str, quick: bool) -> tuple[str, ...]:
    """The values of C of a task."""
    if task in ("tags", "ranking", "labels"):
        return ("1",)
    if quick:
        return QUICK_COSTS.get(task, ("1",))
    return ("1", "100") if task == "rbf" else COSTS


def scaled(path: Path) -> Path:
    """The rows with every feature in [0, 1]: the public file of seven classes has raw numbers."""
    out = path.with_name(path.name + ".scaled")
    if not out.exists():
        with open(out, "wb") as sink:
            subprocess.run(
                [SVMCUT, "scale", "-l", "0", "-u", "1", str(path)], check=True, stdout=sink
            )
    return out


def head(path: Path, rows: int) -> Path:
    """A file of the first rows."""
    part = path.with_name(f"{path.name}.{rows}")
    if not part.exists():
        with open(path, encoding="ascii") as source, open(part, "w", encoding="ascii") as sink:
            sink.writelines(line for line, _ in zip(source, range(rows)))
    return part


def quick_contests(task: str) -> list[Contest]:
    """svmcut and its nearest peers."""
    chosen = QUICK_PEERS.get(task)
    return [
        contest if chosen is None or contest.peer == "svmcut" else Contest(*named)
        for contest in contests(task)
        for named in [(contest.peer, (chosen or {}).get(contest.peer, contest.settings))]
        if contest.peer == "svmcut"
        or (contest.peer in chosen if chosen else contest.peer.lower().startswith("liblinear"))
    ]


def contests(task: str) -> list[Contest]:
    """svmcut and its peers."""
    ours = Contest("svmcut", ("0.01", "0.001"))
    if task == "rbf":
        theirs = ("svm-train", "LIBSVM", "SVC", "SVC-intelex")
        return [ours, *(Contest(peer, TIGHTER[1:]) for peer in theirs)]
    if task == "tags":
        trainers = (
            "ap-5",
            "ap-20",
            "ap-50",
            "pa-5",
            "pa-20",
            "arow-20",
            "l2sgd-10",
            "l2sgd-50",
            "lbfgs-30",
            "lbfgs-100",
        )
        return [
            Contest("svmcut", ("-e 0.5", "-e 0.1", *given_quick())),
            Contest("crfsuite", trainers),
        ]
    if task == "ranking":
        kernel = "-t 2 -g 0.3 --solver subspace --basis"
        return [
            # the loss that both peers minimise, and that of swapped pairs
            Contest("svmcut", (f"{NDCG} 10", f"{NDCG} 100", "linear", f"{kernel} 500")),
            Contest("lightgbm", ("30", "100", "300")),
            Contest("xgboost", ("30", "100", "300")),
        ]
    if task == "labels":
        return [ours, Contest("LIBLINEAR labels", TIGHTER)]
    numbers, names = LIBLINEAR[task], ("liblinear", "LIBLINEAR")
    theirs = [Contest(f"{name} -s {number}", TIGHTER) for name in names for number in numbers]
    return [ours, *theirs, *OTHERS.get(task, ())]


NDCG = "-l ndcg --at 10 -c"
SGD, VOWPAL_WABBIT = Contest("SGDClassifier", ("5", "20", "100")), Contest("vowpal-wabbit", ("5",))
#: Peers of a linear task besides LIBLINEAR's programs.
OTHERS = {
    "hinge": (
        Contest("LinearSVC", TIGHTER),
        Contest("skglm", TIGHTER),
        Contest("ReHLine", TIGHTER[1:]),
        SGD,
        VOWPAL_WABBIT,
    ),
    "squared-hinge": (Contest("LinearSVC", TIGHTER), SGD),
    "logistic": (
        Contest("LogisticRegression", TIGHTER),
        Contest("LogisticRegression-intelex", TIGHTER),
        SGD,
        VOWPAL_WABBIT,
    ),
}


@cache
def given_quick() -> tuple[str, ...]:
    """Where svmcut has --quick for sequences."""
    text = subprocess.run(
        [SVMCUT, "learn", "--help"], capture_output=True, text=True, check=True
    ).stdout
    return ("--quick",) if "--quick" in text else ()


def command(job: Job, peer: str, setting: str, model: str, python: str) -> list[str]:
    """What is run for one entry; python has the peers that are called from it."""
    train, C = str(job.train), job.C
    if peer == "svmcut":
        words = [SVMCUT, "learn", "-v", "0", "--threads", "1", "--report", model + ".report"]
        if job.task == "tags":
            words += ["--task", "sequence", "--example-cost", "0.5", *setting.split()]
        elif job.task == "ranking":
            words[1] = "rank"
            given = setting.split() if setting != "linear" else []
            words += given if "-c" in given else ["--example-cost", "0.01", *given]
        else:
            words += ["--example-cost", C, "--gap", setting]
            if job.task == "rbf":
                words += ["-t", "2", "-g", job.test, "--solver", "smo"]
            elif job.task in JOINT:
                words += ["--task", "multiclass", "--multiclass", job.task]
            elif job.task == "labels":
                words += ["--task", "multilabel", "--pairs", "none"]
            elif job.task != "hinge":
                words += ["-l", job.task]
        return [*words, train, model]
    if peer.startswith("liblinear"):
        return [
            "liblinear-train",
            "-q",
            "-s",
            peer.split()[-1],
            *("-B", "1", "-c", C, "-e", setting, train, model),
        ]
    if peer == "svm-train":
        return ["svm-train", "-m", "200", "-c", C, "-g", job.test, "-e", setting, train, model]
    return [
        str(python),
        str(HERE / "board_peers.py"),
        peer,
        job.task,
        train,
        job.test,
        C,
        setting,
        model,
    ]


@lru_cache(maxsize=1)
def evaluator(path: Path) -> Evaluator:
    """The last file alone is kept."""
    return Evaluator(path)


@lru_cache(maxsize=1)
def classes_of(path: Path) -> Any:
    """The last file alone is kept."""
    from svmcut.files.examples import read_examples

    return read_examples(str(path))


@lru_cache(maxsize=1)
def label_sets_of(path: Path) -> Any:
    """The last file alone is kept."""
    from svmcut.files.multilabel import read_multilabel

    return read_multilabel(str(path))


def value(job: Job, peer: str, model: Path) -> float:
    """What the result is worth: an objective, or an error in percent."""
    report = Path(f"{model}.report")
    told = json.loads(report.read_text(encoding="utf-8")) if peer == "svmcut" else {}
    if job.task == "rbf":
        # svmcut says the dual objective; svm-train's is formed from its file by svmcut's reader
        return -told["dual"] if told else libsvm_objective(model)
    if job.task in ("tags", "ranking"):
        words = [
            *(SVMCUT, "classify", "-v", "0", "--report", str(report), job.test, str(model)),
            f"{model}.out",
        ]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        scored = json.loads(report.read_text(encoding="utf-8"))
        return float(scored["token_error"] if job.task == "tags" else 100 * (1 - scored["ndcg@10"]))
    if job.task == "labels":
        from svmcut.formats import read_model

        sets, found = label_sets_of(job.train), read_model(str(model))
        W = np.zeros((sets.X.n_features, len(found.names)))
        columns = slice(None) if found.columns is None else found.columns
        if hasattr(found, "W"):
            W[columns] = found.W
        else:  # labels by the thousand: the weights of each feature that are not 0
            from scipy.sparse import csr_matrix

            shape = len(found.indptr) - 1, len(found.names)
            W[columns] = csr_matrix((found.values, found.places, found.indptr), shape).toarray()
        return label_objective(sets, W, found.constant, float(job.C))
    if job.task in JOINT:
        from multiclass import objective as joint

        from svmcut.formats import read_model

        return joint(read_model(str(model)), classes_of(job.train), job.task, float(job.C))
    read = {"svmcut": read_svm_light, "liblinear": read_liblinear}.get(peer.split()[0].lower())
    w, bias = read(model) if read else read_numpy(Path(f"{model}.npy"))
    return evaluator(job.train)(w, bias, float(job.C), job.task)


def libsvm_objective(model: Path) -> float:
    """svm-train's dual objective, 1/2 b'Kb - sum |b|, from its model."""
    from svmcut.formats import read_model

    found = read_model(str(model))
    K = found.kernel.expansion(found.support, found.support, found.alpha, 0.0, 1)
    return float(0.5 * found.alpha @ K - np.abs(found.alpha).sum())


def run(
    job: Job, contest: tuple[str, str], folder: Path, given: Any, most: float
) -> dict[str, Any]:
    """CPU seconds and worth of one entry, a peer at a setting, or why there is none; `most` seconds
    are given to it."""
    peer, setting = contest
    model, times, told = folder / "model", [], {}
    for old in folder.glob("model*"):
        old.unlink()
    words = command(job, peer, setting, str(model), given.python)
    again = 1 if words[0] == given.python else 3
    while not times or (max(times) < 0.5 and len(times) < again):
        try:
            times.append(seconds_of(words, model, peer, most))
        except (ProcessFailed, OSError) as error:
            return {"failed": str(error), "given": most}
    if peer == "svmcut":
        report = json.loads(Path(f"{model}.report").read_text(encoding="utf-8"))
        told = {
            key: report.get(key)
            for key in ("seconds", "solver", "iterations", "converged", "relative_gap")
        }
    side = Path(f"{model}.json")
    worth = json.loads(side.read_text(encoding="ascii")).get("value") if side.exists() else None
    return {
        "cpu": statistics.median(times),
        "value": value(job, peer, model) if worth is None else worth,
        **told,
    }


def seconds_of(words: list[str], model: Path, peer: str, most: float) -> float:
    """CPU seconds of one process: what a peer called from Python says of itself, else the whole."""
    spent = time_process(words, most=most, statuses=(0, 3) if peer == "svmcut" else (0,)).cpu
    side = Path(f"{model}.json")
    return json.loads(side.read_text(encoding="ascii"))["cpu"] if side.exists() else spent


def settled(row: dict[str, Any], last: dict[str, Any]) -> bool:
    """Whether a tighter tolerance moved the objective by nothing that counts."""
    if row["task"] in ERRORS or "value" not in row or "value" not in last:
        return False
    return abs(row["value"] - last["value"]) <= 1e-5 * abs(row["value"])


def reached(row: dict[str, Any], certified: float) -> bool:
    """Whether no objective is lower by more than what counts, by a certificate of svmcut."""
    return row["task"] not in ERRORS and row.get("value", np.inf) <= certified * (1 + NEAR)


def lowest(row: dict[str, Any]) -> float:
    """No objective is lower than this, by the certificate of this run."""
    gap = row.get("relative_gap")
    return row["value"] * (1 - gap) if gap is not None and "value" in row else -np.inf


def recorded(path: Path) -> list[dict[str, Any]]:
    """All that was written down."""
    return list(
        map(json.loads, path.read_text(encoding="ascii").splitlines() if path.exists() else ())
    )


def record(path: Path, row: dict[str, Any]) -> None:
    """Writes it down."""
    with open(path, "a", encoding="ascii") as out:
        out.write(json.dumps(row) + "\n")


def versions(python: str) -> dict[str, str]:
    """Of svmcut and of all peers that are there."""
    code = (
        "import importlib.metadata as m, json; found = {}\n"
        f"for name in {PACKAGES!r}:\n"
        "    try: found[name] = m.version(name)\n"
        "    except m.PackageNotFoundError: pass\n"
        "print(json.dumps(found))"
    )
    run = lambda *words: subprocess.run(words, capture_output=True, text=True, check=True).stdout  # noqa: E731
    return {"svmcut": run(SVMCUT, "--version").split()[-1], **json.loads(run(python, "-c", code))}


def arguments(description: str) -> argparse.ArgumentParser:
    """What board_duels.py takes too."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("record", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--made", type=Path, required=True)
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--tasks", nargs="+")
    parser.add_argument("--costs", nargs="+", default=COSTS, choices=COSTS, help="values of C")
    parser.add_argument("--quick", action="store_true", help="the jobs and peers that decide most")
    parser.add_argument("--seconds", type=float, default=np.inf, help="by the clock, then it ends")
    parser.add_argument(
        "--python",
        default=sys.executable,
        help="that has the peers that are called from Python, and svmcut on its path",
    )
    return parser


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--peers", nargs="+", help="their first words")
    parser.add_argument(
        "--limit",
        type=float,
        default=10,
        help="CPU seconds after which no tighter setting is tried",
    )
    given, began = parser.parse_args(), time.monotonic()
    given.made.mkdir(parents=True, exist_ok=True)
    rows = recorded(given.record)
    known = {tuple(row[name] for name in KEY): row for row in rows if "peer" in row}
    if not any("versions" in row for row in rows):
        record(given.record, {"versions": versions(given.python)})
    folder = given.made / f"work.{given.record.name}"
    folder.mkdir(exist_ok=True)
    for job in jobs(given):
        certified, ours = -np.inf, np.inf
        for peer, settings in (quick_contests if given.quick else contests)(job.task):
            if given.peers and not any(peer.startswith(name) for name in given.peers):
                continue
            last: dict[str, Any] = {}
            for setting in settings:
                entry = (job.set, job.task, job.C, peer, setting)
                row = known.get(entry)
                if row is None:
                    if time.monotonic() - began > given.seconds:
                        print("more is left: the same command goes on")
                        return 75
                    most = 2 * given.limit + 10
                    if given.quick and peer != "svmcut":
                        most = min(most, 5 * ours + IMPORTS)
                    row = dict(zip(KEY, entry, strict=True)) | run(
                        job, (peer, setting), folder, given, most
                    )
                    record(given.record, row)
                    said = (row[name] for name in ("cpu", "value", "failed") if name in row)
                    print(*entry, *said, flush=True)
                if peer == "svmcut":
                    certified = max(certified, lowest(row))
                    ours = min(ours, row.get("cpu", np.inf))
                over = row.get("cpu", 1e9) > given.limit or settled(row, last)
                if over or reached(row, certified):
                    break
                last = row
    return 0


if __name__ == "__main__":
    sys.exit(main())
