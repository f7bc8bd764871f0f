"""Numbers from what people write into tables: points or commas, yes and no, and what stands for nothing."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# What stands for a value that is missing.
MISSING = frozenset(("", ".", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None"))
WORDS = {"yes": 1.0, "y": 1.0, "true": 1.0, "t": 1.0, "no": 0.0, "n": 0.0, "false": 0.0, "f": 0.0}
_DECIMAL, _THOUSANDS = re.compile(r"[+-]?\d*,\d+"), re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def are_missing(cells: pd.Series[Any]) -> pd.Series[bool]:
    """Whether each cell of a column holds nothing."""
    nothing = [cell for cell in cells.dropna().unique() if isinstance(cell, str) and cell.strip() in MISSING]
    return cells.isna() | cells.isin(nothing)


def read_numbers(cells: pd.Series[Any]) -> pd.Series[float]:
    """The numbers of a column, NaN for what is missing and for what cannot be read without a doubt.

    Yes and no are read where the whole column says so. A comma is a decimal one where no other value of the column has
    a point, and not all could be thousands: "1,000" alone may be either.
    """
    import pandas as pd

    if pd.api.types.is_numeric_dtype(cells):
        return pd.Series(cells.to_numpy(float, na_value=math.nan), cells.index)
    cells = cells.astype(object)
    distinct = list(cells[~are_missing(cells)].unique())
    texts = {cell: cell.strip() for cell in distinct if isinstance(cell, str)}
    if texts and all(text.lower() in WORDS for text in texts.values()) and len(texts) == len(distinct):
        return cells.map({cell: WORDS[text.lower()] for cell, text in texts.items()}).astype(float)
    plain = {**dict(zip(distinct, distinct, strict=True)), **_without_commas(texts)}
    numbers = pd.to_numeric(pd.Series(list(plain.values()), dtype=object), errors="coerce").astype(float)
    return cells.map(dict(zip(plain, numbers, strict=True))).astype(float)


def _without_commas(texts: dict[Any, str]) -> dict[Any, str]:
    commas = [text for text in texts.values() if "," in text]
    points = any("." in text for text in texts.values())
    if points or not all(map(_DECIMAL.fullmatch, commas)) or all(map(_THOUSANDS.fullmatch, commas)):
        return texts
    return {cell: text.replace(",", ".") for cell, text in texts.items()}
