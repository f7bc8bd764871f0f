"""Run the notebooks of the tutorials, and write what they show into them.

    python tools/run_tutorials.py              # all of them, about a minute
    python tools/run_tutorials.py 3-past-data  # some, by name

A test runs them too, and fails where a notebook says something else than is written there.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "tutorials"
SECONDS = 600  # for one cell; a first run compiles


def notebooks() -> list[Path]:
    """The notebooks of the tutorials, in their order on the site."""
    return sorted(FOLDER.glob("*.ipynb"))


def run(path: Path, commands: Path = Path(sys.executable).parent) -> nbformat.NotebookNode:
    """Run a notebook in an empty folder, with the data beside it, and return it with what it shows now.

    `!safebandit` in a cell is the command in the folder `commands`: that beside the Python that runs the notebook.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        for data in path.parent.glob("*.csv"):
            shutil.copy(data, folder)
        found = os.pathsep.join([str(commands), os.environ.get("PATH", os.defpath)])
        surroundings = {**os.environ, "PATH": found, "COLUMNS": "120", "NO_COLOR": "1"}
        client = NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": folder}})
        client.execute(env=surroundings)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when each cell was run
        if cell.cell_type == "code":
            # What is said on stderr, such as that something is compiled, is not so the next time.
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def shown(notebook: nbformat.NotebookNode) -> list[list[Any]]:
    """What each cell shows as text; a picture is there or not, its bytes depend on fonts and versions.

    What is printed in a row is one text: in how many parts it arrives depends on how busy the machine is.
    """
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            by_kind = itertools.groupby(cell.outputs, lambda output: output.output_type == "stream")
            texts = (("".join if printed else list)(map(_text, outputs)) for printed, outputs in by_kind)
            found.append(list(texts))
    return found


def _text(output: nbformat.NotebookNode) -> Any:
    if output.output_type == "stream":
        return output.text
    return "a picture" if "image/png" in output.data else output.data.get("text/plain")


def main(names: list[str]) -> None:
    """Run some notebooks, or all, and write them."""
    known = [path.stem for path in notebooks()]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"there is no tutorial {unknown[0]}; known: {', '.join(known)}")
    for path in notebooks():
        if not names or path.stem in names:
            nbformat.write(run(path), path)
            print(f"ran {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
