# SPDX-License-Identifier: BSD-3-Clause
"""What mkdocs is told by mkdocs.yml to do beside its own work: pages made of other files, links to
them, formulas.

README.md is the first page; CONTRIBUTING.md, CHANGELOG.md, data/README.md and the scripts of
examples/ are pages too, and so is the API, of the names that `svmcut` exports. Links in the
Markdown are those of the repository; here they become links of the site. Formulas become MathML,
which browsers draw without scripts and without asking another host.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Pages of the site that are files elsewhere in the repository.
ELSEWHERE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changes.md": "CHANGELOG.md",
    "data.md": "data/README.md",
}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".sh": "bash", ".slurm": "bash", ".yaml": "yaml"}
API = """\
# API

For Python users: every public name. Those of `svmcut.dask` need the extra `dask`, estimators the extra `sklearn`.
[From Python](python.md) says which one you need.
"""  # noqa: E501
#: Beside the names that svmcut exports.
MODULES = {
    "What they take and return": [
        "svmcut.loading.Fitted",
        "svmcut.training.outcome.Outcome",
        "svmcut.api.Choice",
        "svmcut.loading.Model",
    ],
    "Under scikit-learn's names": [
        "svmcut.estimators.libsvm.SVC",
        "svmcut.estimators.libsvm.SVR",
        "svmcut.estimators.libsvm.NuSVC",
        "svmcut.estimators.libsvm.NuSVR",
        "svmcut.estimators.libsvm.OneClassSVM",
        "svmcut.estimators.liblinear.LinearSVC",
        "svmcut.estimators.liblinear.LinearSVR",
    ],
    "Folds": ["svmcut.data.folds.make_folds"],
    "On the workers of Dask": ["svmcut.dask.train", "svmcut.estimators.clusters.LinearSVM"],
}
#: Their attributes stand in their docstrings; listed one by one they would be there twice.
PLAIN = {"svmcut.training.outcome.Outcome", "svmcut.api.Choice"}


def scripts() -> list[Path]:
    """What examples/ holds."""
    return sorted(path for path in (ROOT / "examples").rglob("*") if path.suffix in LANGUAGES)


def anchor(name: str) -> str:
    """The id of a heading, as Python-Markdown and GitHub make it of plain words."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", name).strip().lower())


def examples_page() -> str:
    """Every script of examples/ with its name above."""
    parts = [
        "# Example scripts\n\nThey are in `examples/` and train on the sets of [data/](data.md), "
        "or on yours.\n"
    ]
    for path in scripts():
        text = path.read_text(encoding="utf-8").rstrip()
        parts.append(f"\n## {path.name}\n\n```{LANGUAGES[path.suffix]}\n{text}\n```\n")
    for path in sorted((ROOT / "examples").rglob("*.ipynb")):
        parts.append(f"\n## {path.name}\n{notebook_cells(path)}")
    return "".join(parts)


def notebook_cells(path: Path) -> str:
    """The cells of a notebook, and what they print."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            title = re.sub(r"^#+ (.*)", r"**\1**", text)
            parts.append(f"\n{title}\n")
            continue
        parts.append(f"\n```python\n{text}\n```\n")
        shown = "".join(line for output in cell["outputs"] for line in output["text"])
        parts += [f"\n```text\n{shown}```\n"] * bool(shown)
    return "".join(parts)


def api_page() -> str:
    """What mkdocstrings makes pages of: functions before classes."""
    import svmcut

    names = sorted(svmcut._WHERE, key=lambda name: (name[0].isupper(), name))
    sections = {
        "Functions and estimators": [f"{svmcut._WHERE[name]}.{name}" for name in names],
        **MODULES,
    }
    parts = [API]
    for title, objects in sections.items():
        parts.append(f"\n## {title}\n")
        for name in objects:
            members = ", members: false" if name in PLAIN else ""
            parts.append(f"\n::: {name}\n    options: {{heading_level: 3{members}}}\n")
    return "".join([*parts, parameters_section()])


PARAMETERS = """
## Parameters of training

`svmcut.train` takes these by name; None leaves a choice to the task, the kernel or the solver.
An option that a text names is a parameter too: `--max-memory` is `max_memory`.

"""


def parameters_section() -> str:
    """Every parameter with its type, its default and the help of its option."""
    from svmcut.cli.option_texts import options
    from svmcut.spec.catalog import TASKS
    from svmcut.spec.parameters import KINDS

    source = (ROOT / "svmcut" / "spec" / "parameters.py").read_text(encoding="utf-8")
    notes = {
        name: re.sub(r"\s*#: ?", " ", lines).rstrip()
        for lines, name in re.findall(r"((?:    #: .*\n)+)    (\w+):", source)
    }
    rows = {row.field: row for task in reversed(TASKS) for row in options(task)}
    lines = []
    for name, kind in KINDS.items():
        row = rows[name]
        text = html.escape(f"{row.help} {row.more}".strip(), quote=False) + notes.get(name, "")
        default = f" *Default: {html.escape(row.default)}.*" if row.default else ""
        lines.append(f"- **`{name}`** (`{kind.type}`) {text}{default}\n".replace("*w", r"\*w"))
    return PARAMETERS + "".join(lines)


GENERATED = {"examples.md": examples_page, "api.md": api_page}


def place(path: str) -> str:
    """Where a file of the repository, or a folder, is in the site; outside it, a page that tells of
    it."""
    pages = {source: page for page, source in ELSEWHERE.items()} | {
        "data": "data.md",
        "examples": "examples.md",
    }
    if path in pages:
        return pages[path]
    if path.startswith("examples/"):
        return (
            f"examples.md#{anchor(posixpath.basename(path))}"
            if posixpath.splitext(path)[1]
            else "examples.md"
        )
    return path.removeprefix("docs/") if path.startswith("docs/") else f"../{path}"


def relinked(markdown: str, page: str) -> str:
    """The links of a page's Markdown, from places of the repository to places of the site."""
    folder = posixpath.dirname(ELSEWHERE.get(page, f"docs/{page}"))

    def link(found: re.Match) -> str:
        target, _, part = found[2].partition("#")
        if not target or ":" in target:
            return found[0]
        path = place(posixpath.normpath(posixpath.join(folder, target)))
        path = posixpath.relpath(path, posixpath.dirname(page) or ".")
        return f"{found[1]}{path}{'#' + part if part else ''}{found[3]}"

    return "".join(
        part if part.startswith("```") else LINK.sub(link, part) for part in FENCE.split(markdown)
    )


def on_files(files, config):
    """Adds the pages that are made."""
    from mkdocs.structure.files import File

    for page, source in ELSEWHERE.items():
        files.append(
            File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8"))
        )
    for page, make in GENERATED.items():
        files.append(File.generated(config, page, content=make()))
    return files


def on_page_markdown(markdown, page, **_):
    """Links of the repository become links of the site; pages that are made have those already."""
    return markdown if page.file.src_uri in GENERATED else relinked(markdown, page.file.src_uri)


def on_page_content(content, **_):
    """Formulas as MathML."""
    from latex2mathml.converter import convert

    def formula(found: re.Match) -> str:
        made = convert(
            html.unescape(found[3].strip()), display="block" if found[2] == "[" else "inline"
        )
        return re.sub(
            "<mo>(&#x02016;|&#x0007C;)", r'<mo stretchy="false">\1', made
        )  # else they hang below a power

    return FORMULA.sub(formula, content)
