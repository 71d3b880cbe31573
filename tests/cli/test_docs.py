# SPDX-License-Identifier: BSD-3-Clause
"""The documentation says what the programs do today."""

import importlib
import importlib.util
import json
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def generator():
    spec = importlib.util.spec_from_file_location(
        "svmcut_docs_generate", ROOT / "docs" / "generate.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", generator().PAGES)
def test_generated_pages_are_up_to_date(page):
    text = generator().PAGES[page]()
    assert (ROOT / page).read_text(encoding="utf-8") == text, (
        "the help texts changed; run make docs"
    )


def man_sections():
    """Heading -> {first line of an entry: its text} of man/, with roff's escapes undone; "" has
    what a section shares with svmcut learn."""
    sections = {}
    for path in sorted((ROOT / "man").glob("*.1")):
        text = path.read_text(encoding="utf-8").replace("\\-", "-").replace("\\&", "")
        for part in text.replace("\\e", "\\").split("\n.SH ")[1:]:
            heading, _, body = part.partition("\n")
            body, _, shared = body.partition("\n.PP\nAs for svmcut learn: ")
            entries = [entry.split("\n", 1) for entry in f"\n{body}".split("\n.TP\n.B ")[1:]]
            sections[heading] = {flags: entry.strip() for flags, entry in entries}
            sections[heading][""] = shared.strip().rstrip(".")
    return sections


@pytest.mark.parametrize(
    ("heading", "arguments"),
    [
        ("SVMCUT LEARN", ["learn", "data", "model"]),
        ("SVMCUT LEARN --TASK SEQUENCE", ["learn", "--task", "sequence", "data", "model"]),
        ("SVMCUT LEARN --TASK MULTILABEL", ["learn", "--task", "multilabel", "data", "model"]),
        ("SVMCUT RANK", ["rank", "data", "model"]),
        ("SVMCUT CLASSIFY", ["classify", os.devnull, os.devnull]),
        ("SVMCUT INSPECT", ["inspect", os.devnull]),
    ],
)
def test_man_pages_have_the_options_that_a_command_line_takes(heading, arguments):
    """Held against the command as it parses, not against the generator of the page."""
    import click

    from svmcut.cli.main import svmcut

    command = svmcut.get_command(click.Context(svmcut), arguments[0])
    context = command.make_context(arguments[0], arguments[1:], ignore_unknown_options=True)
    options = [
        param
        for param in command.get_params(context)
        if isinstance(param, click.Option) and not param.hidden and "--help" not in param.opts
    ]
    sections = man_sections()
    entries = sections[heading]
    shared, told = entries.pop("").split(", "), sections["SVMCUT LEARN"]
    assert len(entries) + len([flag for flag in shared if flag]) == len(options)
    for option in options:
        known = told if {*shared} & {*option.opts} else entries
        (flags,) = [flags for flags in known if set(re.split(r", | / | ", flags)) >= {*option.opts}]
        assert " ".join((option.help or "").split()) in known[flags]


def test_man_pages_tell_the_tasks_apart():
    from svmcut.cli.option_texts import options

    sections = man_sections()
    tasks = [
        sections[f"SVMCUT LEARN{task}"] for task in ("", " --TASK SEQUENCE", " --TASK MULTILABEL")
    ]
    for task, flag, holders in (
        ("sequence", "--t", [False, True, False]),
        ("sequence", "--e", [False, True, False]),
        ("multilabel", "--pairs", [False, False, True]),
    ):
        (text,) = [option.help_with_default for option in options(task) if flag in option.flags]
        text = " ".join(text.split())
        assert [text in entries.values() for entries in tasks] == holders


def test_man_pages_name_each_other_and_have_examples():
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "man").glob("*.1")}
    assert pages.keys() == {"svmcut", "svmcut-learn", "svmcut-classify"}
    for name, text in pages.items():
        assert ".SH EXAMPLES\n" in text and ".SH SEE ALSO\n" in text
        others = text.partition(".SH SEE ALSO")[2].replace("\\-", "-")
        assert [other for other in pages if f"\\fB{other}\\fR(1)" in others] == [
            other for other in pages if other != name
        ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if not target.startswith(("http:", "https:"))]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_every_plot_is_one_file_that_a_page_shows():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    plots = {path.name for path in (ROOT / "docs" / "plots").iterdir() if path.is_file()}
    assert set(re.findall(r"!\[[^]]*\]\([\w/]*plots/([^)]*)\)", text)) == plots


@pytest.mark.parametrize(
    ("command", "name", "options"),
    [
        ("learn", "wine", ["-c", "1"]),
        ("learn", "wine", ["-c", "1,2"]),
        ("rank", "ranking", ["-c", "1"]),
        ("classify", "wine", []),
        ("classify", "ranking", []),
    ],
)
def test_report_keys_are_documented(command, name, options, tmp_path):
    from svmcut.cli.start import main

    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    model, report = str(tmp_path / "model"), str(tmp_path / "report")
    data = str(ROOT / "data" / f"{name}.train")
    trainer = "rank" if name == "ranking" else "learn"
    if command == "classify":
        assert main([trainer, "-c", "1", "-v", "0", data, model]) == 0
        assert (
            main(["classify", "-v", "0", "--report", report, data, model, str(tmp_path / "scores")])
            == 0
        )
    else:
        assert main([command, *options, "-v", "0", "--report", report, data, model]) == 0
    document = json.loads(Path(report).read_text())
    keys = [
        *document,
        *document["seconds"],
        *(key for entry in document.get("path", ()) for key in entry),
    ]
    assert [key for key in keys if f"`{key}`" not in page] == []


def test_report_keys_of_sequences_are_documented(tmp_path):
    from svmcut.cli.start import main

    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    data, model, report = (str(tmp_path / name) for name in ("data", "model", "report"))
    Path(data).write_text("1 qid:1 1:1\n2 qid:1 2:1\n2 qid:2 2:1\n")
    assert (
        main(
            ["learn", "--task", "sequence", "-c", "1,2", "-v", "0", "--report", report, data, model]
        )
        == 0
    )
    learned = json.loads(Path(report).read_text())
    classify = [
        "classify",
        *("-v", "0", "--report", report, data, f"{model}.1", str(tmp_path / "tags")),
    ]
    assert main(classify) == 0
    keys = [*learned, *json.loads(Path(report).read_text()), *learned["path"][0]["training"]]
    assert [key for key in keys if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("page", "program", "words"),
    [
        ("commands.md", "learn", ["learn"]),
        ("commands.md", "rank", ["rank"]),
        ("classes.md", "multiclass", ["learn", "--task", "multiclass"]),
        ("tasks.md", "sequence", ["learn", "--task", "sequence"]),
        ("models.md", "classify", ["classify"]),
    ],
)
def test_every_option_has_one_anchor(page, program, words):
    """In its section, or, where it is the same as for learn, in that of learn."""
    import click

    from svmcut.cli.main import svmcut

    command = svmcut.get_command(click.Context(svmcut), words[0])
    context = command.make_context(
        words[0], [*words[1:], os.devnull, os.devnull], ignore_unknown_options=True
    )
    names = [
        param.name.replace("_", "-")
        for param in command.get_params(context)
        if isinstance(param, click.Option) and not param.hidden and "--help" not in param.opts
    ]
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    (section,) = [
        part for part in text.split("\n## ") if part.startswith(f"svmcut {' '.join(words)}\n")
    ]
    found = re.findall(rf'<a id="{program}-([^"]+)" href="#{program}-\1">', section)
    found += re.findall(r"\]\((?:commands\.md)?#learn-([^)]+)\)", section)
    assert sorted(found) == sorted(names)


@pytest.mark.parametrize("page", generator().BODIES)
def test_lists_in_help_texts_have_no_empty_entries(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.findall(r".{20}, (?:;|\.(?![.\w])).{0,20}", text) == []


def board_at_1(heading):
    """Of docs/board.md by set at C = 1: seconds of svmcut, of the quickest peer, and its name."""
    board = (ROOT / "docs" / "board.md").read_text(encoding="utf-8")
    lines = board.split(f"\n## {heading}\n\n")[1].split("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip(" *") for cell in line[1:-1].split(" | ")] for line in lines]
    cells = {row[0]: row[head.index("C = 1")] for row in rows}
    return {
        name: re.fullmatch(
            r"([\d.]+) / ([\d.]+|-) ?(.*)", re.sub("(?<!LIBLINEAR) -s ", " liblinear -s ", cell)
        ).groups()
        for name, cell in cells.items()
    }


def test_speeds_of_the_readme_are_those_of_the_board():
    readme = (ROOT / "README.md").read_text(encoding="utf-8").split("## Speed\n")[1]
    board = (ROOT / "docs" / "board.md").read_text(encoding="utf-8")
    for heading, title in (
        ("Hinge loss", "hinge loss"),
        ("Kernel exp(-g |x - z|^2), hinge loss", "rbf"),
    ):
        part = readme.split(f"| {title}")[1].split("\n\n")[0].splitlines()[2:]
        rows = [[cell.strip() for cell in line.replace("**", "")[1:-1].split("|")] for line in part]
        known = board_at_1(heading)
        assert {row[0] for row in rows} == set(known), "losses are shown too"
        for name, ours, peer, ratio in rows:
            mine, theirs, who = known[name]
            assert (ours, peer) == (mine, f"{theirs}, {who}" if who else "not reached")
            if who:
                low, high = ((float(mine) + k) / (float(theirs) - k) for k in (-0.005, 0.005))
                assert low - 0.005 <= float(ratio) <= high + 0.005
    jobs, won, short, short_won = re.search(
        r"Of (\d+) jobs that take the quickest peer 0.3 s or more (\d+) are won.*; "
        r"of (\d+) shorter ones (\d+) are won",
        board,
    ).groups()
    assert f"{won} of the {jobs} jobs" in readme.replace("\n", " ")
    assert f"{short_won} of the {short} shorter ones" in readme.replace("\n", " ")


@pytest.mark.slow
def test_sketches_are_those_of_the_script(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import measure_sketches
    import sketches

    monkeypatch.setattr(sketches.Sketch, "saved", lambda to, name: made.update({name: to.parts}))
    made = {}
    for draw in (
        sketches.sketch,
        sketches.speed,
        sketches.certificate,
        sketches.words,
        sketches.proven,
    ):
        draw()
    scored = measure_sketches.scored()
    measure_sketches.labels(*scored)
    measure_sketches.order(*scored)
    assert len(made) == 7
    for name, parts in made.items():
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        words = [re.findall(r">([^<]+)</text>", each) for each in (text, "".join(parts))]
        assert words[0] == words[1] and text.count("<circle") == "".join(parts).count("<circle")
    _, primal, dual = sketches.planes(5)
    assert dual == sorted(dual) and primal == sorted(primal, reverse=True)
    assert dual[-1] <= primal[-1] <= dual[-1] + 1e-6


def test_what_is_said_of_training_for_a_measure_is_what_its_table_shows():
    text = (ROOT / "docs" / "benchmarks-measures.md").read_text(encoding="utf-8")
    lines = text.split("| trained for |")[1].split("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]
    head, values = ["trained for", *head], {row[0]: row for row in rows}
    own = {
        "error-rate": "accuracy",
        "prec-at-k": "precision",
        "rec-at-k": "recall",
    }
    behind = {}
    for loss, row in values.items():
        at = head.index(own.get(loss, loss.replace("-", "_")))
        column = [float(each[at]) for each in values.values()]
        behind[loss] = round(max(column) - float(row[at]), 2)
    assert behind.pop("average-precision") > 0.5
    assert {loss: lost for loss, lost in behind.items() if lost} == {
        "error-rate": 0.06,
        "prbep": 0.14,
    }
    assert "is 0.06 points better" in text and "PRBEP 0.14 points better" in text


def test_files_that_pages_name_are_there():
    pattern = re.compile(
        r"(?<![\w/.-])(?:svmcut|benchmarks|tests|csrc|docs|examples|data)/[\w/*-]+\.\w+"
    )
    pages = {ROOT / "README.md", *(ROOT / "docs").rglob("*.md")}
    pages.remove(ROOT / "docs" / "extending.md")  # whose walk-throughs write files
    named = {
        (page.name, path)
        for page in pages
        for path in pattern.findall(page.read_text(encoding="utf-8"))
    }
    assert len(named) > 40
    assert [pair for pair in named if not any(ROOT.glob(pair[1]))] == []


def test_words_of_pages_are_counted_apart_from_those_made_of_the_help(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import words

    made = f"{generator().BEGIN}\nof the help\n{generator().END}"
    found = words.counts({"README.md": "one two", "docs/a.md": f"# A b\n{made}\nend"})
    options = found.pop("options, made of the help")
    assert found == {"README.md": 2, "pages written by hand": 4}
    assert options == len(made.split())
    assert sum(words.counts(words.pages(None)).values()) > 10_000


def test_a9a_is_told_as_its_three_tables_have_it():
    """benchmarks.md: ahead by the clock and on the board, behind in the figure of gaps."""
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    told = re.search(
        r"a9a is a tie: svmcut is ahead in this table and on\s+the \[board\]\(board.md\) "
        r"\(([\d.]+) CPU seconds against ([\d.]+)\), LIBLINEAR in \[time to a gap\]"
        r"\(#time-to-a-gap\) \(([\d.]+) against ([\d.]+)\)",
        text,
    )
    ours, theirs, least, behind = map(float, told.groups())
    *seconds, peer = board_at_1("Hinge loss")["a9a"]
    assert peer.startswith("liblinear") and ours < theirs and least < behind
    assert (ours, theirs) == tuple(map(float, seconds))
    clock = [
        float(re.search(rf"^\| a9a \| {re.escape(name)} \| ([\d.]+)", text, re.MULTILINE)[1])
        for name in ("svmcut auto --gap 1e-3", "LIBLINEAR -s 3 -e 0.1")
    ]
    assert clock[0] < clock[1]
    points = (ROOT / "docs" / "plots" / "curves" / "gap.csv").read_text(encoding="utf-8")
    seconds = {tuple(line.split(",")[:2]): line.split(",")[2] for line in points.splitlines()[1:]}
    assert float(seconds["a9a", "LIBLINEAR -s 3 -e 0.1"]) == least
    assert float(seconds["a9a", "svmcut auto --gap 1e-3"]) == behind
    shown = text.split("### Time to a gap")[1].split("All points")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown]
    rows = [row for row in rows if len(row) == 5 and (row[0], row[1]) in seconds]
    assert len(rows) == 15 and all(float(seconds[row[0], row[1]]) == float(row[2]) for row in rows)


def test_nothing_is_installed_by_a_name_that_no_index_has():
    sources = [*PAGES, *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.*")]
    sources += [*(ROOT / "svmcut").rglob("*.py")]
    bad = re.compile(r"pip install (?:-\S+ )*['\"]?svmcut")
    assert [path.name for path in sources if bad.search(path.read_text(encoding="utf-8"))] == []


def test_what_is_said_of_three_labels_without_positive(tmp_path, capsys):
    """CHANGELOG: classes; one label and a loss that is no sum is refused with 1."""
    from svmcut.cli.start import main

    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "three labels or more without\n  `--positive` are learnt as classes" in text
    data, model, report = (str(tmp_path / name) for name in ("data", "model", "report"))
    Path(data).write_text("".join(f"{k % 3} {k % 3 + 1}:1\n" for k in range(30)))
    assert main(["learn", "-v", "0", "--report", report, data, model]) == 0
    assert json.loads(Path(report).read_text())["task"] == "multiclass"
    assert main(["learn", "-v", "0", "--positive", "2", "--report", report, data, model]) == 0
    assert json.loads(Path(report).read_text())["task"] == "classification"
    Path(data).write_text("1 1:1\n1 2:1\n")
    assert main(["learn", "-l", "f1", "-c", "1", data, model]) == 1
    assert "needs two classes" in capsys.readouterr().err


def table_below(heading):
    """Rows of the first table below a heading of the how-to for users of other programs."""
    text = (ROOT / "docs/howto/from-another-program.md").read_text(encoding="utf-8")
    lines = text.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0].split("\n")
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [row for row in rows if len(row) == 2]


def flags_of(cell):
    """What stands in a cell as code and begins with a dash."""
    return re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", " ".join(re.findall(r"`([^`]*)`", cell)))


@pytest.mark.parametrize(
    "program, module",
    [("LIBLINEAR", "liblinear_train"), ("LIBSVM", "svm_train")],
)
def test_the_how_to_has_every_option_of_the_other_programs(program, module):
    """Both columns are held to what the programs parse, -b to the one that predicts."""
    import click

    from svmcut.cli.main import svmcut

    parsed = importlib.import_module(f"svmcut.originals.libs.{module}")
    (theirs, ours), *rows = table_below(f"{program}'s options in svmcut")
    assert "-train" in theirs and "learn" in ours
    trained = [row for row in rows if not re.match(r"`\S*(predict|scale)", row[0])]
    named = {flag[1] for left, _ in trained for flag in flags_of(left)}
    assert named == set(parsed.FLAGS + parsed.VALUED)
    files = {"learn": ["data", "model"], "classify": [os.devnull] * 2, "scale": ["data"]}
    for _, right in rows:
        name = (re.search(r"svmcut (\w+)", right) or ["", "learn"])[1]
        words = (re.search(r"--task [a-z-]+", right) or [""])[0].split() + files[name]
        command = svmcut.get_command(click.Context(svmcut), name)
        context = command.make_context(name, words, ignore_unknown_options=True)
        known = {flag for param in command.get_params(context) for flag in param.opts}
        assert set(flags_of(right)) <= known, right
