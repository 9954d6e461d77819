"""Tokens that belong together: the pieces of one word, the bytes of one character."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mha_core.language.tokenizer import Token
from mha_core.language.vocabulary import CJK


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring tokens that a reader takes as one.

    Attributes:
        first, last: their places among the tokens.
        text: what they spell together; a single token's readable form.
    """

    first: int
    last: int
    text: str

    @property
    def is_single(self) -> bool:
        """Whether it is one token."""
        return self.first == self.last

    @property
    def places(self) -> range:
        """The places of its tokens."""
        return range(self.first, self.last + 1)


def joins(before: Token, token: Token, text: str) -> bool:
    """Whether a token goes on with the word of the token before it.

    A joined piece does, and so do the bytes of one character, and letters and digits that touch;
    Chinese characters are words of their own.

    >>> from mha_core import load_tokenizer
    >>> encoding = load_tokenizer().encode("a roboter 42")
    >>> encoding.displays
    ('a', 'robot', '·er', '␣', '4', '2')
    >>> pairs = zip(encoding.tokens, encoding.tokens[1:], strict=False)
    >>> [joins(*pair, encoding.text) for pair in pairs]
    [False, True, False, False, True]
    """
    if token.goes_on or (token.kind == "byte" and token.start == before.start):
        return True
    parts = ("character", "byte", "piece")
    if before.kind not in parts or token.kind not in parts or token.start != before.end:
        return False
    touching = text[before.end - 1], text[token.start]
    return all(sign.isalnum() and not CJK.match(sign) for sign in touching)


def group_tokens(tokens: Sequence[Token], text: str) -> tuple[Group, ...]:
    """Every token in one group, in order.

    Args:
        tokens: of a text, `<bos>` among them or not.
        text: the text they were cut from.

    >>> from mha_core import load_tokenizer
    >>> encoding = load_tokenizer().encode("She met a zebu.")
    >>> [group.text for group in group_tokens(encoding.tokens, encoding.text)]
    ['She', 'met', 'a', 'zebu', '.']
    """
    starts = [
        place
        for place, token in enumerate(tokens)
        if place == 0 or not joins(tokens[place - 1], token, text)
    ]
    groups = []
    for first, after in zip(starts, [*starts[1:], len(tokens)], strict=False):
        last = after - 1
        whole = text[tokens[first].start : tokens[last].end]
        groups.append(Group(first, last, tokens[first].display if first == last else whole))
    return tuple(groups)


def fragments(tokens: Sequence[Token], text: str) -> frozenset[int]:
    """The places of tokens that are only a part of what they spell."""
    groups = group_tokens(tokens, text)
    return frozenset(place for group in groups if not group.is_single for place in group.places)
