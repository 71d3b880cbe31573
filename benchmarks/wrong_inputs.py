#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What svmcut says of command lines and files that people really get wrong, as a table.

    python benchmarks/wrong_inputs.py                            # this checkout
    python benchmarks/wrong_inputs.py --beside OTHER/.venv/bin   # and an earlier one, beside it
    python benchmarks/wrong_inputs.py --write docs/messages.md   # what is said today, in that page

Each runs in a folder of its own with the files below; the first line of standard error is shown,
without the name of the command and with its exit status. Of a list of names the first two stand
for all. docs/messages.md has the tables: what 2.0.0 said otherwise, the same, and the rest.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = "".join(f"{1 if i % 2 else -1} 1:{i % 7} 2:{(i * 5) % 11}\n" for i in range(60))
FILES = {
    "train": ROWS,
    "test": ROWS[:200].rsplit("\n", 1)[0] + "\n",
    "classes": ROWS.replace("-1 ", "2 ").replace("\n1 1:3", "\n3 1:3"),
    "grades": "".join(f"{i % 3} qid:{i // 6} 1:{i % 5}\n" for i in range(30)),
    "mail.csv": "label,text\n" + "spam,free money\nham,see you\n" * 20,
    "semi.csv": "label;size\n" + "a;1\nb;2\n" * 20,
    "csv": "5.1,3.5,setosa\n4.9,3.0,versicolor\n",
    "header": "label feature1 feature2\n1 1:1\n",
    "unsorted": "1 2:1 1:1\n-1 1:1\n",
    "zero": "1 0:1 1:2\n-1 1:1\n",
    "nan": "1 1:nan\n-1 1:1\n",
    "one": "1 1:1\n1 1:2\n",
    "empty": "",
    "number": "1.5 1:1\n2.25 1:2\n3 1:1\n",
    "sets": "1,2 1:1\n2 1:2\n",
    "conll": "the DET\ndog NOUN\n\n",
    "words.conll": "the\tDT\tB-NP\ndog\tNN\tI-NP\n\nbarks\tVBZ\tB-VP\n\n",
    "ragged.conll": "the\tDT\tB-NP\ndog\tI-NP\n",
    "binary": "\0\1\2",
    "model": "SVM-light Version V6.20\n0 # kernel type\n3 # -d\n1 # -g\n1 # -s\n1 # -r\nempty# -u\n"
    "2 # features\n4 # documents\n2 # vectors plus 1\n-0.5 # b\n1 1:0.08 2:-0.17 #\n",
}
LINES = """\
lern train m
fit train m
train train m
predict test m
learn --C 1 train m
learn -l hing train m
learn -l F1 train m
learn -l auc -c 1 train m
learn -l ndcg -c 1 train m
learn -t RBF -g 0.1 train m
learn -t gaussian train m
learn -g 0.1 train m
learn -t rbf -g -1 train m
learn --kernel poly -d 0 train m
learn --tube 0.1 train m
learn --at 5 train m
learn --multiclass ovr train m
learn --gap 1% train m
learn --thread 2 train m
learn --solver sgd train m
learn --task regresion train m
learn --task regression -l mse number m
learn csv m
learn header m
learn binary m
learn mail.csv m
learn mail.csv m --label class
learn mail.csv m --label label
learn semi.csv m --label label
learn --penalty l1 train m
learn --max-iter 0 train m
learn --format json train m
learn --positive 1 classes m
learn --task survival train m
learn --verbose train m
learn --nu 0.5 -c 1 train m
rank grades m -l f1
classify test model -c 1
classify test train out
learn
learn nofile m
learn train nofolder/m
learn -c 1,10,10 train m
learn -c 0 train m
learn --class-weight 5=2 train m
learn --positive 7 train m
learn --cv 1 train m
learn --select f1 train m
learn --threads 0 train m
learn --max-memory 0.0001 train m
learn --time-limit soon train m
learn --resume train m
learn --solver newton -l f1 -c 1 train m
learn number m
learn unsorted m
learn zero m
learn nan m
learn one m
learn empty m
learn sets m
learn --example-cost 1 -c 1 train m
learn --cv 100 train m
learn --task sequence train m
learn --task multilabel train m
classify train
classify --probability train model
inspect model --top -1
threshold test model out
threshold test model out --at-least precision=95
export model out --to pmml
convert train out
export model out
names
names --into bin svm_train
names --into train
convert mail.csv mail.csv --label label
learn --lable label mail.csv m
learn --example-cost 0.1:10 train m
learn --example-cost 0.1:10 --certify-choice 0.01 train m
learn --example-cost 0.1:10 --certify-choice 5% --cv 5 train m
learn --tree train m
learn --task multilabel --tree sets m
learn words.conll m
learn --task sequence words.conll m
learn --task sequence --input conll ragged.conll m
learn --template train train m
learn --removed test train m
learn --initial model --removed test train m
learn --until-decided test --gap 0.01 train m
learn --fraction 0.9 train m
learn --penalty l1 -t rbf train m
learn --nu 2 train m
learn --scheduler localhost train m
learn train train
learn -h
classify --proba test model
classify --certify test model
classify --top 5 test model
classify --confidence test model
classify mail.csv model
"""

#: The name in front of a message.
COMMAND = re.compile(r"^svmcut(?: \w+)?: ")
#: More than two names behind what introduces them.
_NAME = r"[\w@()-]+(?: \(\d+\))?"
LIST = re.compile(rf"(one of (?:{_NAME}, ){{2}})(?:{_NAME}, )*{_NAME}")


def write_files(folder: Path) -> None:
    """The files that the command lines name."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def told(errors: str, status: int) -> str:
    """The first line of standard error without the command's name, and the exit status."""
    first = (errors.strip().splitlines() or ["(nothing)"])[0]
    shown = LIST.sub(r"\1...", COMMAND.sub("", first)).replace("|", "\\|")
    return f"{shown} [{status}]"


def said(program: str, words: list[str]) -> str:
    """What a program says of a command line."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        done = subprocess.run(
            [program, *words], cwd=folder, capture_output=True, text=True, timeout=60, input=""
        )
    return told(done.stderr, done.returncode)


def renew(page: Path) -> None:
    """Writes what this checkout says into the last column of a page."""
    program, lines = str(Path(sys.executable).parent / "svmcut"), []
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            words = line.split("`")[1].split()
            told = said(program, [] if words == ["svmcut"] else words)
            line = f"{line.rpartition(' | ')[0]} | {told} |"
        lines.append(line)
    page.write_text("\n".join([*lines, ""]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--beside", help="folder of another version's programs")
    parser.add_argument("--write", type=Path, help="page whose last column is written anew")
    args = parser.parse_args()
    if args.write:
        renew(args.write)
        return
    programs = [
        str(Path(folder) / "svmcut")
        for folder in (args.beside, Path(sys.executable).parent)
        if folder
    ]
    print("| svmcut ... |" + " before |" * bool(args.beside) + " says |")
    print("|---|" + "---|" * len(programs))
    for line in LINES.splitlines():
        words = [] if line == "svmcut" else line.split()
        print(f"| `{line}` | " + " | ".join(said(program, words) for program in programs) + " |")


if __name__ == "__main__":
    main()
