# SPDX-License-Identifier: BSD-3-Clause
"""The documentation says what the programs do today."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def generator():
    spec = importlib.util.spec_from_file_location("svmcut_docs_generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["docs/commands.md", "docs/tasks.md", "docs/originals.md", "man/svmcut.1"])
def test_generated_pages_are_up_to_date(page):
    text = generator().PAGES[page]()
    assert (ROOT / page).read_text(encoding="utf-8") == text, "the help texts changed; run make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if not target.startswith(("http:", "https:"))]
    assert [target for target in local if not (page.parent / target).exists()] == []


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
    from svmcut.cli.main import main

    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    model, report = str(tmp_path / "model"), str(tmp_path / "report")
    data = str(ROOT / "data" / f"{name}.train")
    trainer = "rank" if name == "ranking" else "learn"
    if command == "classify":
        assert main([trainer, "-c", "1", "-v", "0", data, model]) == 0
        assert main(["classify", "-v", "0", "--report", report, data, model, str(tmp_path / "scores")]) == 0
    else:
        assert main([command, *options, "-v", "0", "--report", report, data, model]) == 0
    document = json.loads(Path(report).read_text())
    keys = [*document, *document["seconds"], *(key for entry in document.get("path", ()) for key in entry)]
    assert [key for key in keys if f"`{key}`" not in page] == []


def test_report_keys_of_sequences_are_documented(tmp_path):
    from svmcut.cli.main import main

    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    data, model, report = (str(tmp_path / name) for name in ("data", "model", "report"))
    Path(data).write_text("1 qid:1 1:1\n2 qid:1 2:1\n2 qid:2 2:1\n")
    assert main(["learn", "--task", "sequence", "-c", "1,2", "-v", "0", "--report", report, data, model]) == 0
    learned = json.loads(Path(report).read_text())
    classify = ["classify", "-v", "0", "--report", report, data, f"{model}.1", str(tmp_path / "tags")]
    assert main(classify) == 0
    keys = [*learned, *json.loads(Path(report).read_text()), *learned["path"][0]["training"]]
    assert [key for key in keys if f"`{key}`" not in page] == []
