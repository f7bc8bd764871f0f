"""The site: built strictly, every page in it, nothing from elsewhere; and what its pages are made of is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import api_pages
import behaviour
import behaviour_texts
import build_site
import reference_pages
import safebandit as sb
from fenced_examples import fenced

ROOT = Path(__file__).resolve().parent.parent
KINDS = [kind.key for kind in reference_pages.KINDS]


def test_everything_has_its_words_and_nothing_else_has():
    catalogue = reference_pages.read_catalogue()
    assert set(catalogue) == {*KINDS, "parameter"}
    taken = set()
    for kind in KINDS:
        listed = reference_pages.things(kind)
        assert {thing.name for thing in listed} == set(catalogue[kind]), kind
        for thing in listed:
            assert {"tex", "guarantee", "when"} == set(catalogue[kind][thing.name])
            taken |= {name for name, _ in reference_pages.parameters(thing.constructor)}
    assert taken == set(catalogue["parameter"])


def test_everything_has_its_picture_and_it_is_small():
    wanted = {path for _, _, path in behaviour.wanted()}
    assert wanted == set(behaviour.FOLDER.glob("*"))
    assert len(wanted) > 80
    for path in wanted:
        text = path.read_text(encoding="utf-8")
        assert len(text) < 100_000, path
        assert set(re.findall(r"https?://[^\"' <]+", text)) <= {
            "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink", "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
            "http://creativecommons.org/ns#", "http://purl.org/dc/elements/1.1/", "http://purl.org/dc/dcmitype/StillImage",
            "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd", "https://matplotlib.org/",
        }, path  # fmt: skip


def test_a_picture_drawn_again_has_the_same_bytes(tmp_path):
    behaviour.save_small(behaviour.draw_stopping("too-many-harms"), tmp_path / "again.svg")
    kept = behaviour.FOLDER / "stopping-too-many-harms.svg"
    assert (tmp_path / "again.svg").read_bytes() == kept.read_bytes(), "draw them anew: tools/behaviour.py --all"


@pytest.mark.parametrize("kind", ["policy", "reward", "safety"])
def test_policies_on_their_pages_are_policies(kind):
    from safebandit.core.policies import policy_from_text, policy_to_text

    for thing in reference_pages.things(kind):
        policy = policy_from_text(behaviour_texts.policy_text(thing.name, kind))
        assert policy_from_text(policy_to_text(policy)) == policy


def test_a_list_has_whole_sentences():
    for kind in KINDS:
        for line in reference_pages.list_of(kind).splitlines():
            assert line.count("(") == line.count(")"), line


def test_every_public_name_is_in_the_reference_once():
    pages = {path: text for path, text in api_pages.api_pages().items() if not path.endswith("index.md")}
    named = re.findall(r"^(?:::: safebandit\.[\w.]*?|## `)(\w+)`?$", "\n".join(pages.values()), flags=re.MULTILINE)
    assert sorted(named) == sorted(sb.__all__)
    for name in named:
        assert f"`{name}`" in api_pages.api_pages()["docs/reference/api/index.md"]


def test_examples_in_docstrings_become_blocks_of_code():
    text = "Add one.\n\n>>> 1 + 1\n2\n\nThat is all."
    assert fenced(text) == "Add one.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nThat is all."


def test_links_out_of_the_docs_lead_to_pages_or_are_none():
    page = Path("how-to/live.md")
    assert build_site.with_links("[a](../../CONTRIBUTING.md#habits)", page) == "[a](../contributing.md#habits)"
    assert build_site.with_links("[a](designs.md)", page) == "[a](../how-to/designs.md)"
    assert build_site.with_links("[a](../../benchmarks/bench.py)", page) == "a"
    assert build_site.with_links("[a](../tutorials/1.ipynb)", page) == "[a](../tutorials/1.md)"
    assert build_site.with_links("[a](https://example.org/x)", page) == "[a](https://example.org/x)"
    assert build_site.with_links("[a](docs/index.md)", Path("contributing.md")) == "[a](index.md)"


def test_formulas_are_drawn_by_the_browser():
    drawn = build_site.with_formulas("a\n\n$$\n\\frac{1}{2} \\le \\alpha\n$$\n\nb")
    assert "<mfrac>" in drawn
    assert "$$" not in drawn
    for kind in KINDS:
        for words in reference_pages.read_catalogue()[kind].values():
            # What the converter does not know it would leave as it is.
            assert "\\" not in build_site.with_formulas(f"$$\n{words['tex']}\n$$")


def test_a_notebook_is_a_page(tmp_path):
    import nbformat

    output = nbformat.v4.new_output("stream", text="42\n")
    cells = [nbformat.v4.new_markdown_cell("# A title"), nbformat.v4.new_code_cell("print(42)", outputs=[output])]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "small.ipynb")
    page = build_site.notebook_page(tmp_path / "small.ipynb")
    assert page.startswith("# A title")
    assert "print(42)" in page
    assert "    42" in page


def test_the_site_is_built_anew_only_where_something_has_changed_or_it_failed(tmp_path, monkeypatch):
    for name in ("docs/index.md", "src/a.py", "tools/b.py", *build_site.MORE, "constraints.txt", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    tries = []

    def build(work):
        tries.append(work)
        return None if len(tries) == 2 else work / "site"

    monkeypatch.setattr(build_site, "ROOT", tmp_path)
    monkeypatch.setattr(build_site, "build", build)
    work = tmp_path / "build" / "site"
    assert [build_site.build_once(work) for _ in range(2)] == [work / "site"] * 2
    assert len(tries) == 1
    (tmp_path / "src" / "a.py").write_text("another")
    assert [build_site.build_once(work) for _ in range(3)] == [None, work / "site", work / "site"]
    assert len(tries) == 3


def test_the_site_is_built_strictly_and_loads_nothing_from_elsewhere(site):
    pages, docs = list(site.rglob("*.html")), site.parent / "docs"
    made = {page.relative_to(site).with_suffix(".md") for page in pages} - {Path("404.md")}
    assert made == {page.relative_to(docs) for page in docs.rglob("*.md")}
    search = (site / "search.json").read_text(encoding="utf-8")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=\"([^\"]+)\"", text)
        loaded += re.findall(
            r"<link\b(?=[^>]*\brel=\"(?:stylesheet|icon|preconnect|preload)\")[^>]*\bhref=\"([^\"]+)\"", text
        )
        for address in loaded:
            assert not re.match(r"(?:https?:)?//", address), (page, address)
            assert (page.parent / address).resolve().is_file() or page.name == "404.html", (page, address)
        if page.name != "404.html":
            assert str(page.relative_to(site)) in search, page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", sheet.read_text(encoding="utf-8")), sheet
