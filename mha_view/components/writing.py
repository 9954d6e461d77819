"""What may come next, as bars to choose from; and the text, which goes on by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from mha_view.components.mount import mount

RESERVE = 420  # pixels kept free until it is drawn


@dataclass(frozen=True)
class Candidate:
    """A token that may come next.

    Attributes:
        token: its number.
        label: how a person reads it.
        chance: its probability, as the model has it.
        share: its probability of being chosen under the settings, 0 where they leave it out.
        start: where its share begins, all shares laid in a row, the most probable first.
    """

    token: int
    label: str
    chance: float
    share: float
    start: float


@dataclass(frozen=True)
class Wish:
    """What a reader wants: the first tokens kept, one added to them, one looked back at.

    Attributes:
        keep: how many of the new tokens stay.
        token: the number of the one that follows, None for none.
        look: before which new token the choice is looked at, −1 for the next.
    """

    keep: int
    token: int | None
    look: int


def writing(
    candidates: Sequence[Candidate],
    *,
    key: str,
    label: str,
    words: Mapping[str, str],
    text: Sequence[str],
    said: Sequence[str],
    look: int,
    chosen: int,
    falls: int,
    drawn: float | None,
    n_others: int,
    can_go: bool,
    on_wish: Callable[[Wish], None],
) -> None:
    """Draw the text and what may come next, with buttons to step, play, stop and go back.

    While it plays, the browser asks for the next token as soon as the last one has come and has
    stood for a moment; nothing runs on the server meanwhile.

    Args:
        candidates: what may come next, the most probable first.
        key: unique on the page, stable over reruns.
        label: what a reader who cannot see it is told.
        words: the texts under "writing.", by the rest of their key.
        text: the tokens that were there from the start, as they are read.
        said: the new ones.
        look: how many of the new ones stand before the choice that is shown.
        chosen: the token that stands here already, else the one that the settings choose.
        falls: the token that the settings choose here.
        drawn: the number from 0 to 1 that chooses it, None where nothing is drawn.
        n_others: how many tokens may come next besides the candidates.
        can_go: whether there is room for a further token.
        on_wish: called with what the reader wants, before the script runs again.
    """

    def tell() -> None:
        wish = _wish(_sent(key).get("wish"))
        if wish is not None:
            on_wish(wish)

    header = {
        "candidates": [asdict(each) for each in candidates],
        "label": label,
        "words": dict(words),
        "text": list(text),
        "said": list(said),
        "look": look,
        "chosen": chosen,
        "falls": falls,
        "drawn": drawn,
        "n_others": n_others,
        "can_go": can_go,
        "turn": _sent(key).get("turn", 0),
        "reserve": RESERVE,
    }
    mount("writing.js", header, key=key, callbacks={"wished": tell})


def _sent(key: str) -> Mapping[str, Any]:
    """What the browser sent last."""
    sent = st.session_state.get(key, {}).get("wished")
    return sent if isinstance(sent, dict) else {}


def _wish(sent: Any) -> Wish | None:
    """What was sent as a wish; None for anything that is none."""
    if not isinstance(sent, dict):
        return None
    keep, token, look = (sent.get(name) for name in ("keep", "token", "look"))
    if type(keep) is not int or type(look) is not int or type(token) not in (int, type(None)):
        return None
    if keep < 0 or look < -1 or (token is not None and token < 0):
        return None
    return Wish(keep, token, look)
