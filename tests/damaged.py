# SPDX-License-Identifier: BSD-3-Clause
"""Damaged files through the programs: models of every kind, and tables of every format, of which
bytes, lines, numbers or arrays were changed. Each is used as if it were whole.

    python tests/damaged.py [SECONDS [SEED [NAME ...]]]

A finding is a crash, a traceback, an internal error, more than ten seconds or two gigabytes, and a
refusal of more than one line or without the name of the file. Nothing of a corpus is kept: all of
it is made here.
"""

import collections
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import warnings
import zlib

import numpy as np
import pyarrow as pa
from fuzz import mutated
from pyarrow import csv, ipc, parquet

from svmcut.cli.start import main

CPU_SECONDS, MEGABYTES = 10, 2000
"""More than this for one file is a finding."""

BATCH = 40
"""Files that one child tries."""

RBF = ("-t", "2", "-g", "0.3")
OF_TABLE = ("--label", "y", "--text", "t")
#: Models: what they are trained on, and how.
MODELS = {
    "linear": ("rows", "--keep-multipliers"),
    "l1": ("rows", "--penalty", "l1", "-l", "logistic", "--example-cost", "1"),
    "probability": ("rows", "--probability"),
    "kernel": ("rows", *RBF, "--certify"),
    "polynomial": ("rows", "-t", "1", "-d", "2", "--probability"),
    "fourier": ("rows", *RBF, "--basis-kind", "fourier", "--basis", "8"),
    "classes": ("rows.classes", "--probability"),
    "classes, joint": ("rows.classes", "--multiclass", "crammer-singer", "--bias", "2"),
    "machines": ("rows.classes", *RBF, "--probability"),
    "expansions": ("rows.classes", *RBF, "--multiclass", "crammer-singer"),
    "regression": ("rows.numbers", "--task", "regression", "--probability"),
    "ranking": ("rows.queries", "-c", "1"),
    "survival": ("rows.numbers", "--task", "survival"),
    "one class": ("rows", *RBF, "--task", "one-class", "--nu", "0.3"),
    "label sets": ("rows.sets", "--task", "multilabel"),
    "labels": ("rows.sets", "--task", "multilabel", "--pairs", "none", "--model-format", "binary"),
    "label tree": ("rows.sets", "--task", "multilabel", "--pairs", "none", "--tree"),
    "label tree, binary": (
        *("rows.sets", "--task", "multilabel", "--pairs", "none", "--tree"),
        *("--model-format", "binary"),
    ),
    "chain": ("rows.tags", "--task", "sequence"),
    "chain, kernel": ("rows.tags", "--task", "sequence", *RBF),
    "chain, columns": ("columns", "--task", "sequence", "--input", "conll"),
    "chain, names": ("named", "--task", "sequence", "--input", "crfsuite"),
    "words": ("rows.words",),
    "table": ("table.csv", *OF_TABLE),
    "table, hashed": ("table.csv", *OF_TABLE, "--hash-bits", "5", "--ngrams", "1,2"),
    "table, kernel": ("table.csv", *OF_TABLE, *RBF),
    "table, classes": ("table.csv", "--label", "c", "--text", "t"),
    "table, labels": (
        *("table.csv", "--label", "s", "--text", "t", "--task", "multilabel"),
        *("--pairs", "none", "--model-format", "binary"),
    ),
}
EXPORTS = {
    "liblinear": ("liblinear", "linear"),
    "liblinear, classes": ("liblinear", "classes"),
    "libsvm": ("libsvm", "kernel"),
    "libsvm, classes": ("libsvm", "machines"),
    "svm_light": ("svm_light", "kernel"),
}
#: Tables: their endings, and how they are written.
TABLES = {
    "csv": lambda table, path: csv.write_csv(_flat(table), path),
    "tsv": lambda table, path: csv.write_csv(_flat(table), path, csv.WriteOptions(delimiter="\t")),
    "jsonl": lambda table, path: _write_lines(table, path),
    "parquet": lambda table, path: parquet.write_table(table, path, compression="none"),
    "zstd.parquet": lambda table, path: parquet.write_table(table, path, compression="zstd"),
    "plain.parquet": lambda table, path: parquet.write_table(
        table, path, compression="snappy", use_dictionary=False, row_group_size=16
    ),
    "arrow": lambda table, path: _write_arrow(table, path, ipc.new_file),
    "stream.arrow": lambda table, path: _write_arrow(table, path, ipc.new_stream),
    "lz4.arrow": lambda table, path: _write_arrow(table, path, ipc.new_file, compression="lz4"),
    "txt": lambda table, path: _write_texts(table, path),
}
BINARY = re.compile(rb"svmcut label (sets|tree) binary 1\n")
NUMBERS = (
    *(b"0", b"-1", b"1", b"2", b"7", b"-5", b"1e9", b"1e39", b"1e400", b"-1e308", b"nan", b"inf"),
    *(b"2147483647", b"2147483648", b"9007199254740993", b"9223372036854775808", b"9" * 40),
    *(b"0.5", b"", b"x", b"+3", b"1_0", b"0x10", "²".encode(), b"00"),
)
INTEGERS = (-1, -5, 0, 1, 3, 255, 2**16, 2**31 - 1, -(2**31), 10**6)
_NUMBER = re.compile(rb"-?\d+(\.\d+)?(e-?\d+)?")


def _flat(table):
    return table.drop_columns(["l"])


def _write_lines(table, path):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in table.to_pylist())


def _write_arrow(table, path, new, **options):
    options = {"options": ipc.IpcWriteOptions(**options)} if options else {}
    with new(path, table.schema, **options) as writer:
        writer.write_table(table, max_chunksize=17)


def _write_texts(table, path):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{row['y']}\t{row['t']}\n" for row in table.to_pylist())


def rows_of(rng, n=36, d=5):
    """Files of rows by name, whose labels are of every kind."""
    X = rng.normal(size=(n, d)).round(3)
    X[rng.random((n, d)) < 0.2] = 0
    scores = X @ rng.normal(size=(d, 3)) + 0.3 * rng.normal(size=(n, 3))
    texts = [" ".join(f"{j + 1}:{x:g}" for j, x in enumerate(row) if x) for row in X]
    best = scores.argmax(axis=1)
    sets = [",".join(str(k + 4) for k in np.flatnonzero(row > 0)) for row in scores]
    labels = {
        "rows": [f"{1 if k else -1} {text}" for k, text in zip(best, texts)],
        "rows.classes": [f"{3 * k + 1} {text}" for k, text in zip(best, texts)],
        "rows.words": [f"{('a b', 'c', 'dé')[k][:1]} {text}" for k, text in zip(best, texts)],
        "rows.numbers": [f"{s:.3f} {text}" for s, text in zip(scores[:, 0], texts)],
        "rows.queries": [f"{k} qid:{i // 6 + 1} {t}" for i, (k, t) in enumerate(zip(best, texts))],
        "rows.tags": [f"{k + 1} qid:{i // 4 + 1} {t}" for i, (k, t) in enumerate(zip(best, texts))],
        "rows.sets": [f"{names} {text}" for names, text in zip(sets, texts)],
        "columns": [
            f"w{i % 7} p{k} {'BI'[i % 2]}-T" + "\n" * (i % 4 == 3) for i, k in enumerate(best)
        ],
        "named": [f"T{k}\tw={i % 7}\tp{k}" + "\n" * (i % 4 == 3) for i, k in enumerate(best)],
    }
    return {name: "\n".join(lines) + "\n" for name, lines in labels.items()}


def table_of(rng, n=40):
    """A table with columns of every kind."""
    words = np.array(["free", "money", "ten", "bob", "café", "日本", "ok"])
    k = rng.integers(0, 2, n)
    some = [
        None if j % 9 == 4 else f"{' '.join(rng.choice(words, 3))} {'win' * v}"
        for j, v in enumerate(k)
    ]
    return pa.table(
        {
            "y": np.array(["spam", "ham"])[k],
            "c": rng.choice(["r", "g", "b"], n),
            "s": rng.choice(["u|v", "v", "", "w|u"], n),
            "t": some,
            "n n": pa.array(rng.normal(k, 1).round(3), mask=rng.random(n) < 0.1),
            "i": rng.integers(0, 50, n),
            "b": rng.random(n) < 0.5,
            "d": pa.array(rng.choice(["x", "y z"], n)).dictionary_encode(),
            "l": [["p", "q"][: j % 3] for j in range(n)],
        }
    )


def make(rng, names=()):
    """(Name, bytes, path, commands) of every file, whole; what they are used with is written to the
    folder at hand; of those whose names have one of these in them. A command has FILE in the place
    of the file."""
    for name, text in rows_of(rng).items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    table = table_of(rng)
    for ending, write in TABLES.items():
        write(table, f"table.{ending}")
    quiet = ("-v", "0", "--threads", "1", "--time-limit", "2")
    corpus = {}

    def wanted(name):
        return not names or any(part in name for part in names)

    sources = {source for name, (_, source) in EXPORTS.items() if wanted(f"model of {name}")}
    for name, (data, *options) in MODELS.items():
        if not wanted(f"model of {name}") and name not in sources:
            continue
        model = name.replace(", ", "-").replace(" ", "-")
        status = main(["rank" if name == "ranking" else "learn", *quiet, *options, data, model])
        assert status in (0, 3), (name, status)
        commands = (
            ["classify", "-v", "0", data, "FILE", "out"],
            ["inspect", "FILE"],
            ["export", "FILE", "out", "--to", "json"],
        )
        corpus[f"model of {name}"] = model, commands
    for name, (kind, source) in EXPORTS.items():
        if not wanted(f"model of {name}"):
            continue
        model = f"{kind}-{source}"
        assert main(["export", source, model, "--to", kind]) == 0, name
        data = MODELS[source][0]
        corpus[f"model of {name}"] = (
            model,
            (["classify", "-v", "0", data, "FILE", "out"], ["inspect", "FILE"]),
        )
    learn = ["learn", *quiet, "--example-cost", "1", "FILE", "out"]
    for ending in TABLES:
        if not wanted(f"table.{ending}"):
            continue
        path = f"table.{ending}"
        options = OF_TABLE if ending != "txt" else ("--input", "text")
        drop = () if ending in ("csv", "tsv", "txt") else ("--drop", "l")
        model = f"model.{ending}"
        assert main([*learn[:-2], *options, *drop, path, model]) == 0, ending
        use = ["classify", "-v", "0", "FILE", model, "out"]
        input = ("--input", "text") if ending == "txt" else ()
        commands = [[*learn, *options, *drop], [*use, *input]]
        if drop:
            commands.append(
                [*learn, "--task", "multilabel", "--label", "l", "--text", "t", "--pairs", "none"]
            )
        corpus[f"table.{ending}"] = path, commands
    for name in filter(wanted, corpus):
        path, commands = corpus[name]
        with open(path, "rb") as file:
            yield name, file.read(), path, commands


def sealed(data):
    """A binary model whose checksum and length are right again."""
    first, head, body = data.split(b"\n", 2)
    try:
        found = json.loads(head)
        found["crc32"] = zlib.crc32(body[: found["body"]])
    except (ValueError, KeyError, TypeError):
        return data
    line = first + b"\n" + json.dumps(found).encode()
    return line + b" " * (-(len(line) + 1) % 64) + b"\n" + body


def _with_lines(choose, data):
    """Lines twice, left out, exchanged, moved or cut."""
    lines = data.splitlines(True)
    i, j = choose.randrange(len(lines)), choose.randrange(len(lines))
    kind = choose.randrange(6)
    if kind == 0:
        lines.insert(j, lines[i])
    elif kind == 1:
        del lines[i]
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 3:
        words = lines[i].split(b" ")
        choose.shuffle(words)
        lines[i] = b" ".join(words)
    elif kind == 4:
        words = lines[i].split(b" ")
        k = choose.randrange(len(words))
        words[k : k + 1] = choose.choice(([], [words[k]] * 2, [choose.choice(words)]))
        lines[i] = b" ".join(words)
    else:
        del lines[max(1, i) :]
    return b"".join(lines)


def _with_number(choose, data):
    """Another number in the place of one."""
    at = (
        choose.randrange(len(data) + 1)
        if choose.random() < 0.6
        else choose.randrange(min(400, len(data)))
    )
    match = _NUMBER.search(data, at)
    if match is None:
        return data
    return data[: match.start()] + choose.choice(NUMBERS) + data[match.end() :]


def _with_integer(choose, data):
    """Another integer of four or eight bytes in the place of some."""
    size = choose.choice((4, 8))
    at = choose.randrange(max(1, len(data) - size)) // size * size
    return (
        data[:at]
        + choose.choice(INTEGERS).to_bytes(size, "little", signed=True)
        + data[at + size :]
    )


def damaged(choose, data):
    """The bytes of a file with one to three changes."""
    is_text = b"\0" not in data
    ways = (
        (mutated, _with_lines, _with_number, _with_number)
        if is_text
        else (mutated, _with_integer, _with_integer)
    )
    seal = BINARY.match(data) is not None
    if seal:
        ways = (*ways, _with_number)
    for _ in range(choose.choice((1, 1, 1, 2, 3))):
        data = choose.choice(ways)(choose, data) or data
    return sealed(data) if seal and data.count(b"\n") > 1 and choose.random() < 0.9 else data


def verdict(status, errors, path):
    """What is wrong with the end of a run; empty where nothing is."""
    if "internal error" in errors or "Traceback" in errors:
        return "internal error"
    lines = [line for line in errors.splitlines() if ": warning: " not in line]
    if status in (1, 2) and len(lines) != 1:
        return "not one line"
    if status == 1 and "model" in path and not lines[0].startswith(f"{path}:"):
        return "not the name of the file"
    return "" if status in (0, 1, 2, 3) else f"status {status}"


def _tried(path, data, commands):
    """(Verdict, status, messages) of the commands on a file, in this process: of the first that
    goes wrong, or of the last."""
    with open(path, "wb") as file:
        file.write(data)
    for command in commands:
        with open("errors", "w+", encoding="utf-8") as errors:
            before = os.dup(2)
            os.dup2(errors.fileno(), 2)
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
            try:
                status = main([path if word == "FILE" else word for word in command])
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                sys.stderr.flush()
                os.dup2(before, 2)
                os.close(before)
            errors.seek(0)
            told = errors.read()
        if wrong := verdict(status, told, path):
            return f"{wrong} of {' '.join(command)}", status, told
    return "", status, told


def batch(files):
    """Verdicts of files in order, tried in one child; of fewer where it does not live to the
    last."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        most = used + MEGABYTES * 1_000_000
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        warnings.resetwarnings()
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        with open(writing, "w", encoding="utf-8") as out:
            for file in files:
                print(json.dumps(_tried(*file)), file=out, flush=True)
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as lines:
        verdicts = [json.loads(line) for line in lines]
    _, status = os.waitpid(child, 0)
    if len(verdicts) < len(files):
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        ended = {signal.SIGPROF: "beyond its time"}.get(number, f"killed by signal {number}")
        verdicts.append([ended, None, ""])
    return verdicts


def attack(seed, count=None, seconds=None, names=(), report=lambda line: None):
    """Findings of so many damaged files, or of so many seconds, and how many ended with each
    status, by what they are; in the folder at hand."""
    choose, findings = random.Random(seed), []
    ends = collections.defaultdict(collections.Counter)
    corpus = [*make(np.random.default_rng(seed), names)]
    for name, data, path, commands in corpus:
        ((wrong, status, told),) = batch([(f"whole-{path}", data, commands)])
        assert not wrong and status == 0, (name, wrong, status, told)
    tried, end = 0, None if seconds is None else time.monotonic() + seconds
    while tried < count if end is None else time.monotonic() < end:
        most = BATCH if count is None else min(BATCH, count - tried)
        files = []
        for k in range(tried, tried + most):
            name, data, path, commands = corpus[k % len(corpus)]
            files.append((name, (f"damaged-{path}", damaged(choose, data), commands)))
        verdicts = batch([file for _, file in files])
        for (name, file), (wrong, status, told) in zip(files, verdicts):
            ends[name][status] += 1
            if wrong:
                findings.append(f"{name}: {wrong}: {told.strip()[:300]}")
                report(findings[-1])
                if keep := os.environ.get("SVMCUT_KEEP"):
                    with open(f"{keep}/{len(findings)}-{file[0]}", "wb") as kept:
                        kept.write(file[1])
        tried += len(verdicts)
    return findings, ends


if __name__ == "__main__":
    seconds, seed, *names = [*sys.argv[1:], *["60", "1"][len(sys.argv) - 1 :]]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        findings, ends = attack(int(seed), seconds=float(seconds), names=names, report=print)
    total = sum(ends.values(), collections.Counter())
    for name in sorted(ends):
        print(f"{name}: {ends[name].total()} files, {ends[name][0]} used, {ends[name][1]} refused")
    print(
        f"{total.total()} damaged files in {time.monotonic() - began:.0f} s, {len(findings)} "
        f"findings; used {total[0] + total[3]}, refused {total[1] + total[2]}"
    )
    sys.exit(bool(findings))
