"""One spelling for what people take for one name: `safebandit.names`, against Unicode's own tables."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import safebandit as sb
from safebandit.errors import InstanceError, TrialError
from safebandit.names import find_name, normal, read_name

SAME = {
    "José": ["Jose\u0301", " José", "José\u00a0", "\u2003Jose\u0301\t"],
    "patient 17": ["patient 17 ", "patient  17", "patient\u00a017", "patient \u2009 17", "\npatient\t17\r\n"],
    "Å 1": ["A\u030a 1", "\u212b 1"],
}


@pytest.mark.parametrize(("name", "typed"), [(name, text) for name, texts in SAME.items() for text in texts])
def test_what_looks_alike_by_composition_and_blanks_is_one_name(name, typed):
    assert read_name("a name", typed, TrialError) == name
    assert find_name(typed, ["other", name]) == name


def test_every_blank_of_unicode_is_a_blank():
    # As Unicode's White_Space has it: separators, and the blanks among the controls.
    white = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Zs", "Zl", "Zp")]
    white += [*"\t\n\v\f\r", "\x85"]
    assert {normal(f"a{blank}b") for blank in white} == {"a b"}
    assert {normal(f"{blank}ab{blank}{blank}") for blank in white} == {"ab"}


# The first and the last of each: categories of unseen characters, and letters and marks that are default ignorable.
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("pat\u200bient", "U+200B (ZERO WIDTH SPACE)"),
        ("a\u200db", "U+200D (ZERO WIDTH JOINER)"),
        ("a\ufeffb", "U+FEFF (ZERO WIDTH NO-BREAK SPACE)"),
        ("a\u202eb", "U+202E (RIGHT-TO-LEFT OVERRIDE)"),
        ("a\xadb", "U+00AD (SOFT HYPHEN)"),
        ("a\x00b", "U+0000 (which has no name)"),
        ("a\x1fb", "U+001F"),
        ("a\ud800b", "U+D800"),
        ("a\ufe0f", "U+FE0F (VARIATION SELECTOR-16)"),
        ("a\u3164b", "U+3164 (HANGUL FILLER)"),
        ("a\u2800b", "U+2800 (BRAILLE PATTERN BLANK)"),
        ("a\u034fb", "U+034F (COMBINING GRAPHEME JOINER)"),
        ("a\U000e0041b", "U+E0041 (TAG LATIN CAPITAL LETTER A)"),
        ("a\u0378b", "U+0378 (which has no name)"),
    ],
)
def test_what_nobody_sees_is_refused_by_its_number(typed, said):
    with pytest.raises(TrialError, match=r"\Aa name must not have control or invisible characters") as refusal:
        read_name("a name", typed, TrialError)
    assert said in str(refusal.value)
    assert str(refusal.value).isascii()


@pytest.mark.parametrize("typed", ["", " ", "\u00a0\u2003", "x" * 201, "x" * 100_000, 17, None, b"x"])
def test_a_name_is_a_text_of_some_length(typed):
    with pytest.raises(InstanceError, match="a name must"):
        read_name("a name", typed, InstanceError)
    assert read_name("a name", "x" * 200 + " " * 100, InstanceError) == "x" * 200


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S", "Z"]), max_size=20))
def test_a_spelling_is_its_own_spelling(text):
    once = normal(text)
    assert normal(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert "".join(once.split()) == once.replace(" ", "")


def test_arms_of_instances_have_one_spelling():
    made = sb.Instance.bernoulli([0.3, 0.5], [0.1, 0.2], 0.3, arms=[" Jose\u0301 ", "b\u00a0 2"])
    assert made.arms == ("José", "b 2")
    assert sb.Instance.from_dict(made.to_dict()).arms == made.arms
    with pytest.raises(InstanceError, match="names of arms must differ"):
        sb.Instance.bernoulli([0.3, 0.5], [0.1, 0.2], 0.3, arms=["a", "a "])
    with pytest.raises(InstanceError, match=r"U\+200B"):
        sb.Instance.bernoulli([0.3, 0.5], [0.1, 0.2], 0.3, arms=["a", "a\u200b"])


def test_blanks_in_a_data_file_make_no_arms(tmp_path):
    path = tmp_path / "past.csv"
    rows = [f"{arm}{blank},{i % 2},0" for arm in "abcd" for blank in ("", " ", "\u00a0") for i in range(2)]
    path.write_text("\n".join(["arm,reward,risk", *rows]), encoding="utf-8")
    made = sb.Instance.from_data(path, 0.3)
    assert made.arms == ("a", "b", "c", "d")
    assert made.mu.tolist() == [0.5] * 4
