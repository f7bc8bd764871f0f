"""Build the site of the docs into site/: pages from docs/, notebooks and docstrings; strict, and readable from disk.

The generator is Zensical. A copy of docs/ is made under build/site/ and completed there: the changelog and
CONTRIBUTING.md become pages, formulas become MathML, notebooks become pages, and search works without a server.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "site"
# Files beside docs/ that are pages, too.
MORE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
# A part of a formula with more characters than this is broken at its smaller gaps, too.
LONG = 110
SEARCH_FROM_DISK = "assets/iframe-worker-from-disk.js"


def assemble(pages: Path) -> list[Path]:
    """Make the copy of the pages, and say which notebooks there are."""
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages)
    for name, made in MORE.items():
        shutil.copyfile(ROOT / name, pages / made)
    notebooks = sorted((pages / "tutorials").glob("*.ipynb"))
    for notebook in notebooks:
        notebook.with_suffix(".md").write_text(notebook_page(notebook), encoding="utf-8")
    _list_notebooks(pages / "tutorials" / "index.md", notebooks)
    for page in pages.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(with_formulas(with_links(text, page.relative_to(pages))), encoding="utf-8")
    (pages / "assets").mkdir(exist_ok=True)
    shutil.copyfile(ROOT / "src/safebandit/service/page/static/icon.svg", pages / "assets" / "icon.svg")
    shutil.copyfile(Path(__file__).parent / "site.css", pages / "assets" / "site.css")
    (pages / SEARCH_FROM_DISK).write_text(search_from_disk(), encoding="utf-8")
    return notebooks


def with_links(text: str, page: Path) -> str:
    """Links to notebooks and out of docs/ go to the pages made of those files; what has no page is no link."""
    came_from = {made: ROOT / name for name, made in MORE.items()}.get(str(page), ROOT / "docs" / page)

    def fixed(found: re.Match[str]) -> str:
        label, target, anchor = found[1], found[2], found[3] or ""
        aim = (came_from.parent / target).resolve()
        if not aim.is_relative_to(ROOT) or ":" in target:
            return found[0]
        inside = MORE.get(str(aim.relative_to(ROOT)))
        if inside is None and not aim.is_relative_to(ROOT / "docs"):
            return label
        inside = inside or str(aim.relative_to(ROOT / "docs"))
        inside = re.sub(r"\.ipynb$", ".md", inside)
        way = "/".join([".."] * (len(page.parts) - 1) + [inside])
        return f"[{label}]({way}{anchor})"

    return re.sub(r"\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)", fixed, text)


def with_formulas(text: str) -> str:
    """Formulas between $$ as MathML, which browsers draw by themselves, a line for each part."""
    from latex2mathml.converter import convert

    def drawn(found: re.Match[str]) -> str:
        lines = [
            line
            for part in found[1].split(r"\qquad")
            for line in (part.split(r"\quad") if len(part) > LONG else [part])
        ]
        return (
            "\n"
            + "".join(f'<div class="formula">{convert(line.strip(), display="block")}</div>' for line in lines)
            + "\n"
        )

    return re.sub(r"^\$\$\n(.*?)\n\$\$$", drawn, text, flags=re.DOTALL | re.MULTILINE)


def notebook_page(notebook: Path) -> str:
    """A notebook as a page with the outputs that it holds; its pictures lie beside it."""
    from nbconvert import MarkdownExporter

    folder = f"{notebook.stem}_files"
    exporter: Any = MarkdownExporter  # it has no types
    text, found = exporter().from_filename(str(notebook), resources={"output_files_dir": folder})
    for name, content in found.get("outputs", {}).items():
        path = notebook.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return str(text)


def _list_notebooks(index: Path, notebooks: list[Path]) -> None:
    """Name every notebook on the page of tutorials by its title and its first sentence."""
    lines = []
    for notebook in notebooks:
        text = notebook.with_suffix(".md").read_text(encoding="utf-8")
        title = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
        lines.append(f"- [{title[1] if title else notebook.stem}]({notebook.stem}.md)")
    index.write_text(index.read_text(encoding="utf-8") + "\n" + "\n".join(lines) + "\n", encoding="utf-8")


def search_from_disk() -> str:
    """A script by which the search runs from disk: browsers refuse to start a worker from a file, not from its text.

    Without a script of this name the generator would have one loaded from elsewhere.
    """
    import zensical

    (worker,) = (Path(zensical.__file__).parent / "templates/assets/javascripts/workers").glob("search.*.js")
    source = json.dumps(worker.read_text(encoding="utf-8")).replace("</", "<\\/")
    return f"""if (location.protocol === "file:") {{
  const source = {source};
  window.Worker = class extends Worker {{
    constructor() {{ super(URL.createObjectURL(new Blob([source], {{ type: "text/javascript" }}))); }}
  }};
}}
"""


def configuration(notebooks: list[Path]) -> str:
    """What the generator is told, with the navigation."""
    from site_navigation import navigation

    text = (Path(__file__).parent / "site.toml").read_text(encoding="utf-8")
    return (
        text.replace("nav = []", f"nav = {_toml(navigation(notebooks))}")
        .replace("SOURCES", str(ROOT / "src"))
        .replace("TOOLS", str(ROOT / "tools"))
    )


def _toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value)


def build(work: Path) -> Path | None:
    """Build the site in a folder, and say where it is; None if something is wrong, which the generator has said."""
    notebooks = assemble(work / "docs")
    (work / "zensical.toml").write_text(configuration(notebooks), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean"]
    return None if subprocess.run(command, cwd=work, check=False).returncode else work / "site"


def build_once(work: Path = ROOT / "build" / "site") -> Path | None:
    """Build the site, unless what is in the folder was built of the same files; one process builds, others wait."""
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark, made_of = work / "made-of", _hash_of_all_that_is_read()
        if mark.exists() and mark.read_text(encoding="utf-8") == made_of:
            return work / "site"
        mark.unlink(missing_ok=True)
        built = build(work)
        if built is not None:
            mark.write_text(made_of, encoding="utf-8")
        return built


def _hash_of_all_that_is_read() -> str:
    """Of pages, of docstrings, of what builds them, and of the versions of that."""
    found = hashlib.sha256()
    folders = [path for name in ("docs", "src", "tools") for path in (ROOT / name).rglob("*")]
    for path in sorted([*folders, *(ROOT / name for name in (*MORE, "constraints.txt", "pyproject.toml"))]):
        if path.is_file() and path.suffix != ".pyc":
            found.update(f"{path.relative_to(ROOT)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return found.hexdigest()


def main() -> int:
    """Build it, and say how long that took."""
    began = time.perf_counter()
    built = build_once()
    if built is None:
        return 1
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(built, SITE)
    pages = sum(1 for _ in SITE.rglob("*.html"))
    print(f"site: {pages} pages in {time.perf_counter() - began:.0f} s; open {SITE / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
