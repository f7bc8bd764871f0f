"""Files as the programs of the world write them: the same outcomes from each, or one line that says what to do."""

import bz2
import codecs
import gzip
import lzma
import re

import pandas as pd
import pytest

from safebandit import Instance
from safebandit.errors import InstanceError

ROWS = [("Müller", 1, 0), ("größe 5 µg", 0.5, 1), ("Müller", 0.25, 0), ("größe 5 µg", 1, 0)]


def refused(text):
    """An InstanceError whose message is one line that holds `text`."""
    return pytest.raises(InstanceError, match=rf"\A[^\n]*{re.escape(text)}[^\n]*\Z")


def text_of(rows=ROWS, separator=",", decimal=".", header=("arm", "reward", "risk")):
    lines = [header, *((arm, *(str(value).replace(".", decimal) for value in values)) for arm, *values in rows)]
    return "".join(separator.join(line) + "\r\n" for line in lines)


def read(folder, data, alpha=0.5, **options):
    path = folder / "past.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return Instance.from_data(path, alpha, **options)


def assert_same(instance):
    assert instance.arms == ("Müller", "größe 5 µg")
    assert instance.mu.tolist() == [0.625, 0.75]
    assert instance.nu.tolist() == [0, 0.5]


@pytest.mark.parametrize(
    ("encoding", "mark", "said"),
    [
        ("utf-8", b"", ""),
        ("utf-8", codecs.BOM_UTF8, ""),
        ("latin-1", b"", ", read as Latin-1 (Windows-1252)"),
        ("utf-16-le", codecs.BOM_UTF16_LE, ", read as UTF-16"),
        ("utf-16-be", codecs.BOM_UTF16_BE, ", read as UTF-16"),
        ("utf-16-le", b"", ", read as UTF-16"),
        ("utf-16-be", b"", ", read as UTF-16"),
        ("utf-32-le", codecs.BOM_UTF32_LE, ", read as UTF-32"),
    ],
)
def test_encodings(encoding, mark, said, tmp_path):
    instance = read(tmp_path, mark + text_of().encode(encoding))
    assert_same(instance)
    assert instance.origin == f"past.csv: 4 rows{said}"


@pytest.mark.parametrize(
    ("arm", "encoding"),
    [("плацебо", "cp1251"), ("Łódź", "iso8859-2"), ("żółw", "cp1250"), ("ομάδα", "cp1253"), ("用量", "gbk")],
)
def test_an_encoding_that_can_only_be_guessed_is_refused(arm, encoding, tmp_path):
    with refused("it is not UTF-8, and which encoding it has cannot be told; save it as UTF-8"):
        read(tmp_path, text_of([(arm, 1, 0)]).encode(encoding))


def test_zeros_in_a_text_are_refused(tmp_path):
    with refused("it holds zero bytes and is no text; save it as CSV in UTF-8"):
        read(tmp_path, b"arm,reward,risk\na\0\0,1,0\n")


@pytest.mark.parametrize(("suffix", "packed"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed_texts(suffix, packed, tmp_path):
    path = tmp_path / f"past.csv.{suffix}"
    path.write_bytes(packed(text_of().encode()))
    assert_same(Instance.from_data(path, 0.5))
    path.write_bytes(path.read_bytes()[:-9])
    with refused("cannot be read as a table"):
        Instance.from_data(path, 0.5)


@pytest.mark.parametrize("kind", ["object", "str", "category"])
def test_columns_of_any_type(kind, tmp_path):
    table = pd.DataFrame({"arm": ["a", "a", "b"], "reward": ["yes", "no", "yes"], "risk": ["0,25", "", "0,5"]})
    table = table.astype(kind)
    table.to_parquet(tmp_path / "past.parquet")
    for data in (table, tmp_path / "past.parquet"):
        instance = Instance.from_data(data, 0.5, missing_risk="drop")
        assert (instance.mu.tolist(), instance.nu.tolist()) == ([1, 1], [0.25, 0.5])
    nullable = pd.DataFrame({"arm": ["a", "a"], "reward": [1, 0], "risk": pd.array([0, None], "Int64")})
    assert Instance.from_data(nullable, 0.5, missing_risk="worst").nu.tolist() == [0.5]


@pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
@pytest.mark.parametrize("decimal", [".", ","])
def test_separators_and_decimal_commas(separator, word, decimal, tmp_path):
    instance = read(tmp_path, text_of(separator=separator, decimal=decimal))
    assert_same(instance)
    commas = ", with decimal commas" if decimal == "," else ""
    assert instance.origin == f"past.csv: 4 rows, separated by {word}{commas}"


def test_a_first_line_for_excel_and_empty_lines_are_passed_over(tmp_path):
    assert_same(read(tmp_path, "sep=;\r\n" + text_of(separator=";", decimal=",") + ";;\r\n\r\n"))


def test_decimal_commas_in_quotes(tmp_path):
    assert read(tmp_path, 'arm,reward,risk\na,"0,5",0\n').mu.tolist() == [0.5]
    with refused("line 2 has 4 fields, the header has 3; put values that hold the separator, such as decimal commas"):
        read(tmp_path, "arm,reward,risk\na,0,5,0\n")


@pytest.mark.parametrize(
    ("values", "place"),
    [(("0,5", "0.5"), "line 2 has '0,5'"), (("1,000", "1,000"), "line 2 has '1,000'"), (("0", "1,5,5"), "line 3 has")],
)
def test_commas_that_can_mean_two_things_are_refused(values, place, tmp_path):
    rows = "".join(f"a;{value};0\n" for value in values)
    with refused(f"reward must be a number, {place}"):
        read(tmp_path, f"arm;reward;risk\n{rows}")


def test_thousandths_are_read_where_another_value_shows_that_commas_are_decimal(tmp_path):
    assert read(tmp_path, "arm;reward;risk\na;1,000;0\nb;0,125;0\n").mu.tolist() == [1, 0.125]


@pytest.mark.parametrize("words", [("yes", "no"), ("Y", "N"), ("TRUE", "false"), ("t", "f")])
def test_yes_and_no(words, tmp_path):
    yes, no = words
    data = f"arm,reward,risk\na,{yes},{no}\na,{no},\nb,{yes},{yes}\nb,{yes},{no}\n"
    instance = read(tmp_path, data, missing_risk="worst")
    assert (instance.mu.tolist(), instance.nu.tolist()) == ([0.5, 1], [0.5, 0.5])
    table = pd.DataFrame({"arm": ["a", "a"], "reward": [yes, no], "risk": [no, no]})
    assert Instance.from_data(table, 0.5).mu.tolist() == [0.5]


@pytest.mark.parametrize("word", ["ja", "maybe", "50%", "0_1"])
def test_other_words_and_mixtures_are_refused(word, tmp_path):
    with refused(f"risk must be a number, line 3 has '{word}'; write 0.5, 0,5 or yes and no, one way throughout"):
        read(tmp_path, f"arm,reward,risk\na,1,0\na,1,{word}\n")
    with refused("risk must be a number, line 2 has 'yes'"):
        read(tmp_path, "arm,reward,risk\na,1,yes\na,1,0\n")


def test_lines_are_those_of_the_file_whatever_stands_between(tmp_path):
    with refused("risk must lie in [0, 1], line 6 has 7"):
        read(tmp_path, 'arm,reward,risk,note\n\na,1,0,"two\nlines"\n\na,1,7,-\n')


# Columns by another name.


@pytest.mark.parametrize("columns", ["arm=dose, reward=response", {"arm": "dose", "reward": "response"}])
def test_columns_by_another_name(columns, tmp_path):
    data = text_of(separator=";", header=("dose", "response", "risk"))
    assert_same(read(tmp_path, data, columns=columns))
    # The column that was named comes before one that has the name by itself.
    taken = pd.DataFrame({"arm": ["x", "x"], "dose": ["a", "b"], "response": [1, 0], "risk": [0, 0]})
    assert Instance.from_data(taken, 0.5, columns=columns).arms == ("a", "b")
    swapped = pd.DataFrame({"arm": ["a"], "reward": [1], "risk": [0]})
    assert Instance.from_data(swapped, 1, columns={"reward": "risk", "risk": "reward"}).nu.tolist() == [1]


def test_risks_by_another_name(tmp_path):
    data = text_of([("a", 1, 0, 1), ("a", 1, 0, 0)], header=("arm", "reward", "tox", "nau"))
    instance = read(tmp_path, data, risks=["toxicity", "nausea"], columns="toxicity=tox,nausea=nau")
    assert (instance.risks, instance.risk_means.tolist()) == (("toxicity", "nausea"), [[0], [0.5]])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("dose", 'columns must say which is which, such as "arm=dose,reward=response", got "dose"'),
        ("amr=dose", 'columns has no place for "amr"; did you mean "arm"?'),
        ("arm=dos", 'the data have no column "dos"; did you mean "dose"?'),
        ("arm=dose,arm=risk", "columns must use a name once"),
        ("arm=dose,risk=dose", "columns must use a column once"),
        (None, 'the data have no column "arm"; known: dose, reward, risk; say which it is: columns="arm=..."'),
    ],
)
def test_names_that_do_not_fit(columns, message):
    with refused(message):
        Instance.from_data(pd.DataFrame({"dose": ["a"], "reward": [1], "risk": [0]}), 0.5, columns=columns)
