# SPDX-License-Identifier: BSD-3-Clause
"""What a message advises is done: the command works then, or says something else."""

import re
import shlex
import sys

import pytest
from programs import BENCHMARKS, call

#: Beside those that people get wrong: what is said of files, and what excludes itself.
FILES = {
    "dates.csv": "y,x,d\n" + "".join(f"{'ab'[k % 2]},{k},2020-01-{k + 1:02}\n" for k in range(28)),
    "dates.jsonl": "".join(
        f'{{"y": "{"ab"[k % 2]}", "x": {k}, "d": "2020-01-{k + 1:02}"}}\n' for k in range(28)
    ),
    "ids.csv": "y,x,name\n" + "".join(f"{'ab'[k % 2]},{k},No{k}\n" for k in range(40)),
    "texts.csv": "y,x,told,id\n"
    + "".join(f"{'ab'[k % 2]},{k},good day {k},No{k}\n" for k in range(40)),
    "lists.jsonl": "".join(f'{{"y": "{"ab"[k % 2]}", "x": {k}, "z": [1, 2]}}\n' for k in range(20)),
    "twenty": "".join(f"{k % 20} 1:{k}\n" for k in range(60)),
    "classes2": "".join(f"{1 + k % 3} 1:{k % 5} 2:{k % 3}\n" for k in range(60)),
    "zeros": "1 0:1 1:2\n-1 0:2 1:1\n" * 9,
}
LINES = """\
learn dates.csv m --label y
learn dates.jsonl m --label y
learn ids.csv m --label y
learn texts.csv m --label y
learn lists.jsonl m --label y
learn twenty m
learn zeros m
learn -l f1 train m
learn --select f1 -c 1,2 train m
learn --hold-out 0.2 train m
learn --quick train m
learn --tube 0.1 train m
learn --beta 2 train m
learn --at 5 -l f1 -c 1 train m
learn -l kld -t rbf --free-bias -c 1 train m
learn -l roc-area -c 1 --class-weight balanced train m
learn -l roc-area --solver dual-cd -c 1 train m
learn --budget 20 train m
learn --polish train m
learn --maintenance merge train m
learn --added test train m
learn --initial model -t rbf train m
learn --l1-ratio 0.3 train m
learn --penalty l1 -l f1 -c 1 train m
learn --penalty elastic-net --free-bias --b 1 train m
learn --free-bias --b 1 train m
learn --task one-class -c 1 train m
learn --task one-class --nu 0.1 -l hinge train m
learn --multiclass one-vs-one classes2 m
learn --multiclass crammer-singer -l logistic classes2 m
learn --task multiclass -l f1 classes2 m
learn --positive 1 --task multiclass classes2 m
learn --checkpoint-every 5 train m
learn --fraction 0.5 train m
learn --at-least recall=0.5 train m
learn --maximise recall train m
learn --validate test --at-least recall=0.5 --maximise recall train m
learn -l squared-hinge -p 2 train m
learn -t rbf --basis 20 --solver smo train m
learn --tree --task multilabel sets m
learn --prune 0.1 --task multilabel sets m
learn --label y train m
learn --text told train m
learn --input csv --label y --text told --categories told texts.csv m
learn --epochs 3 train m
learn --rescaling slack train m
classify --labels test model --n-best 2
classify --partial test model
classify --label-names train test model
classify --scheme iob1 test model
threshold test model out --maximise recall --at-least recall=0.5
threshold test model out --maximise precision --at-least precision=0.5
convert dates.csv out
learn --penalty l1 -l error-rate train m
learn --penalty l1 --solver cutting-plane -l squared-hinge train m
learn --penalty elastic-net --l1-ratio 1 -l error-rate train m
learn --free-bias -l f1 -c 1 train m
learn --free-bias --solver dual-cd train m
learn -c 1 --example-cost 1 train m
learn --input conll train m
learn --zero-based --input csv --label y dates.csv m
learn --rescaling slack -l hinge train m
learn --example-cost 1 -l f1 train m
learn --nu 0.1 -c 1 -t rbf train m
learn --nu 0.1 --tube 0.2 --task regression -t rbf train m
learn --nu 0.1 --initial model -t rbf train m
learn --keep-multipliers --penalty l1 -l squared-hinge train m
learn --certify --quick train m
learn --solver newton -t rbf train m
learn --solver pegasos --gap 0.1 -t rbf train m
learn --solver newton --multiclass crammer-singer classes2 m
learn --solver smo -t sigmoid --maintenance project train m
learn -t polynomial --maintenance merge --solver bsgd train m
learn -t sigmoid --maintenance project --solver bsgd train m
learn --sampling adaptive --solver bsgd -t rbf train m
learn --epochs 2 --gap 0.1 --quick train m
learn --quick --gap 0.1 train m
learn --basis-kind fourier -t polynomial train m
learn --basis-kind fourier train m
learn --basis 20 train m
learn --maintenance merge -t rbf --solver pegasos train m
learn --task sequence --b 1 seq m
learn --select precision -c 1,2 train m
learn --at-least recall=0.5 --validate test --select f1 -c 1,2 train m
learn --confidence 0.6 train m
learn --checkpoint-every 5m train m
learn --label y --cache folder dates.csv m
rank -l f1 queries m
learn --class-weight balanced --task regression train m
learn --positive 1 --task regression train m
learn --added test --removed test train m
"""
#: A setting in a message: an option, and what may be its value.
SETTING = re.compile(r"(?<![\w-])(--[a-z0-9][a-z0-9-]+|-[a-zA-Z])(?:[ =]([^\s;,]+))?")
PLACEHOLDERS = {"FILE": "test", "K": "3", "C": "1", "DIR": "folder", "LABEL": "1", "MODEL": "model"}
#: English behind an option that is no value of it.
WORDS = frozenset(
    re.findall(
        r"\w+",
        "to or and for if in on of is are with has as a the names that trains reads writes beside "
        "have no stands cannot does goes needs both without one changes counts keeps shows by it "
        "more lists uses",
    )
)


@pytest.fixture
def wrong(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import wrong_inputs

    yield wrong_inputs
    sys.modules.pop("wrong_inputs")


def advice_of(told, line):
    """The command lines that a message advises in the place of this one: by what is to be done, or
    where no verb says it with the settings it names."""
    advised = [*_of_verbs(told, line)]
    words = shlex.split(line)
    if advised or "train it with" in told:  # which is a command before this one
        return advised
    if re.search(r" is (-\w|--\S+) \S+ with --", told):  # both together
        for option, value in SETTING.findall(told.partition(" is ")[2]):
            words = with_setting(words, option, value.strip(";,"))
        return [words]
    if (other := re.search(r"option (\S+): .* is what", told)) and other[1] in words:
        words = without(words, other[1])
    named = [(option, value.strip("'?.,")) for option, value in SETTING.findall(told)]
    for option, value in named:
        if value not in {*WORDS, ""} and option != "--help" and f"{option} {value}" not in line:
            advised.append(with_setting(words, option, value))
    flags = re.findall(r"with (--[a-z-]+)$", told)
    return advised or [with_setting(words, option, "") for option in flags]


def _of_verbs(told, line):
    """Those of clauses that begin with what is to be done."""
    told = re.sub(r", one that was trained with .*", "", told)
    _, *clauses = re.split(r"; |,? or (?=take|leave|give|add|train)|(?<=\w) or (?=as --)", told)
    if not clauses and "use " in told:
        clauses = [told[told.index("use ") :]]
    here = shlex.split(line)
    if (unknown := re.search(r"option (\S+) is unknown", told)) and unknown[1] in here:
        here = without(here, unknown[1])
    for clause in clauses:
        if "--help" in clause:
            continue
        settings = SETTING.findall(clause)
        if re.search(r"leave (it|one of them) out|one of them", clause):
            for option, _ in SETTING.findall(told):
                if option in here:
                    yield without(here, option)
        elif "leave" in clause and "out" in clause and " by " not in clause:
            for option, _ in settings:
                if option in here:
                    yield without(here, option)
        elif re.match(r"(add|give|use|take|name|try|or|all|as|leave)\b", clause):
            for option, value in settings:
                yield with_setting(here, option, value.strip("'?."))


def without(words, option):
    """A command line without an option, and its value where it has one."""
    at = words.index(option)
    last = len(words) - 2 if words[0] != "rank" else 3  # the files stand last
    value = at + 1 < last and not words[at + 1].startswith("-")
    return words[:at] + words[at + 1 + value :]


def with_setting(words, option, value):
    given = [] if not value or value in WORDS or value.startswith("-") else [value]
    given = [PLACEHOLDERS.get(one, one) for one in given]
    kept = without(words, option) if option in words and given else words
    return [*kept[:1], option, *given, *kept[1:]]


@pytest.fixture
def answer(wrong, tmp_path, monkeypatch, capsys):
    """Status and first line of a command line, in a folder of its own."""
    made = iter(range(1 << 20))

    def run(words):
        folder = tmp_path / str(next(made))
        folder.mkdir()
        monkeypatch.chdir(folder)
        wrong.write_files(folder)
        for name, text in FILES.items():
            (folder / name).write_text(text)
        status = call("svmcut", *words)
        return status, (capsys.readouterr().err.strip().splitlines() or [""])[0]

    return run


def followed(line, answer):
    """How many pieces of advice were followed, and those that led to the same answer."""
    status, told = answer(shlex.split(line))
    advised = advice_of(told, line) if status else []
    answers = [(words, *answer(words)) for words in advised]
    return len(advised), [(told, words) for words, after, more in answers if after and more == told]


@pytest.mark.parametrize("line", LINES.splitlines())
def test_advice_leads_on(line, answer):
    count, same = followed(line, answer)
    assert same == [] and count > 0


def test_advice_on_what_people_get_wrong_leads_on(wrong, answer):
    total, bad = 0, []
    for line in wrong.LINES.splitlines():
        count, same = followed(line, answer)
        total, bad = total + count, bad + same
    assert bad == [] and total > 30
