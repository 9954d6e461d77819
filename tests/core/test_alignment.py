"""Tokens of two readings, aligned by characters."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mha_core.language.alignment import Span, align_tokens

TEXTS = st.text("ab 我\n", min_size=1, max_size=14)


@st.composite
def readings(draw: st.DrawFn) -> tuple[str, list[Span], list[Span]]:
    """A text and two ways to cut it, some characters in several tokens, some tokens of none."""
    text = draw(TEXTS)
    cut = []
    for _ in range(2):
        ends = sorted({0, len(text), *draw(st.sets(st.integers(0, len(text))))})
        spans = list(pairwise(ends))
        spans = [span for span in spans for _ in range(draw(st.integers(1, 2)))]
        cut.append([(0, 0)] * draw(st.integers(0, 1)) + spans)
    return text, cut[0], cut[1]


@given(readings())
def test_stretches_are_the_finest_that_both_cut_alike(
    made: tuple[str, list[Span], list[Span]],
) -> None:
    text, *cut = made
    found = align_tokens(text, *cut)
    owner: list[dict[int, int]] = [{}, {}]  # token → stretch
    for number, each in enumerate(found):
        for side, tokens in enumerate((each.first, each.second)):
            assert tokens == tuple(sorted(tokens))
            assert tokens
            for token in tokens:
                assert token not in owner[side]
                owner[side][token] = number
        assert text[each.start : each.end] == text[each.start : each.end].strip() != ""
    for one, after in pairwise(found):
        assert one.end <= after.start
    # Every character that is no blank is in one stretch, and all tokens that cover it are there.
    for place, letter in enumerate(text):
        inside = [n for n, each in enumerate(found) if each.start <= place < each.end]
        assert len(inside) <= 1
        assert letter.isspace() or len(inside) == 1
        for side, spans in enumerate(cut):
            for token, (start, end) in enumerate(spans):
                if not letter.isspace() and start <= place < end:
                    assert owner[side][token] == inside[0]
    # No finer cut would do: within a stretch some token goes on over every inner cut.
    for each in found:
        for inner in range(each.start + 1, each.end):
            if text[inner - 1].isspace() or text[inner].isspace():
                continue
            pieces = [cut[0][n] for n in each.first] + [cut[1][n] for n in each.second]
            assert any(start < inner < end for start, end in pieces)


@given(readings())
def test_the_sides_may_change_places(made: tuple[str, list[Span], list[Span]]) -> None:
    text, first, second = made
    turned = align_tokens(text, second, first)
    there = [(each.second, each.first, each.start, each.end) for each in turned]
    here = [
        (each.first, each.second, each.start, each.end)
        for each in align_tokens(text, first, second)
    ]
    assert here == there
