"""The parts of the page on which a text goes on: what may come next, how it is chosen, the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import streamlit as st

from mha_core.arrays import Array
from mha_core.continuing import chances, choose
from mha_core.heads.measures import total_variation
from mha_view import compute, controls, heavy, state, writing
from mha_view.components.writing import Candidate, Wish
from mha_view.components.writing import writing as draw_component
from mha_view.explore.board import Board
from mha_view.explore.passport import Line, draw_lines
from mha_view.figures import continuing as figures
from mha_view.page import open_page_as
from mha_view.panel import literal
from mha_view.real import SHELF
from mha_view.show import show
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.continuing import Next, Writer
    from mha_view.components.plot import Cell

SHOWN = 12  # candidates


@dataclass(frozen=True)
class Text(Board):
    """A page about a text that goes on."""

    needs: ClassVar[Literal["layer", "patterns", "model"]] = "model"

    @cached_property
    def writer(self) -> Writer:
        """The model that writes."""
        return writing.writer_of(self.scene)

    @cached_property
    def said(self) -> tuple[int, ...]:
        """The new tokens."""
        return writing.said_of(self.scene)

    @property
    def look(self) -> int:
        """How many new tokens stand before the choice that is looked at."""
        return writing.look_of(self.scene)

    @cached_property
    def found(self) -> Next:
        """What the model says there."""
        with st.spinner(self.words("working")):
            return writing.next_after(self.scene, self.look)

    @property
    def there(self) -> tuple[str, ...]:
        """How the tokens read that stand before the choice."""
        said = self.said[: self.look]
        return (*self.labels, *(self.writer.display(token) for token in said))

    @property
    def can_go(self) -> bool:
        """Whether there is room for a further token, and the model has not ended the text."""
        is_over = bool(self.said) and self.said[-1] in self.writer.ends
        return not is_over and len(self.said) < writing.room_of(self.scene)


def open_text() -> Text:
    """Open the page on the scene's model, read as it was trained; where its weights have learned
    nothing, on the shipped one."""
    now = compute.resolve(state.scene())
    is_silent = False
    if now.weights == "real" and now.text.strip():
        heavy.bring(Words(now.lang), now)
        is_silent = not SHELF.load(now.real).speaks
    as_trained = now.with_(mask="causal", rope=True, shift=0)
    if not compute.is_trained(now) or is_silent:
        as_trained = as_trained.with_(weights="toy")
    text = open_page_as(Text, "continue", as_trained)
    if is_silent:
        st.info(text.words("continue.silent", name=literal(now.real)))
    elif not compute.is_trained(now):
        st.info(text.words("continue.random"))
    elif as_trained != now:
        st.info(text.words("continue.as_trained"))
    return text


def draw_settings(text: Text) -> None:
    """How the next token is chosen."""
    words = text.words
    with st.container(horizontal=True, vertical_alignment="bottom", key="continue_settings"):
        st.session_state["temperature"] = text.scene.temperature / 100
        st.slider(
            words("continue.temperature"), 0.0, 3.0, step=0.05, key="temperature", width=220,
            help=words("continue.temperature.help"),
            on_change=lambda: state.change(
                temperature=round(100 * st.session_state["temperature"])
            ),
        )  # fmt: skip
        st.number_input(words("continue.top_k"), 0, 1000, step=1, width=130,
                        help=words("continue.top_k.help"), **state.bind("top_k"))  # fmt: skip
        st.session_state["top_p"] = text.scene.top_p / 100
        st.slider(
            words("continue.top_p"), 0.01, 1.0, step=0.01, key="top_p", width=180,
            help=words("continue.top_p.help"),
            on_change=lambda: state.change(top_p=round(100 * st.session_state["top_p"])),
        )  # fmt: skip
        st.number_input(words("size.seed"), 0, 2**31 - 1, step=1, width=150,
                        help=words("continue.seed.help"), **state.bind("draw"))  # fmt: skip
        controls.draw_scale(words)


def draw_writing(text: Text) -> None:
    """The text, its buttons, and what may come next."""
    words, sampling = text.words, writing.sampling_of(text.scene)
    room = writing.room_of(text.scene)
    own, share = chances(text.found.logits), chances(text.found.logits, sampling)
    chosen, drawn = choose(text.found.logits, sampling, text.look)
    is_back = text.look < len(text.said)
    stands = text.said[text.look] if is_back else chosen
    order = [int(token) for token in np.argsort(-own, kind="stable")[:SHOWN]]
    # A rare token that was drawn, or taken by hand, is shown with the probable ones.
    order = [*order, *(token for token in dict.fromkeys((stands, chosen)) if token not in order)]
    named = [text.writer.display(token) for token in order]
    by_share = np.argsort(-share, kind="stable")
    starts = np.zeros(len(share))
    starts[by_share] = np.cumsum(share[by_share]) - share[by_share]
    draw_component(
        [
            Candidate(token, name, float(own[token]), float(share[token]), float(starts[token]))
            for token, name in zip(order, named, strict=True)
        ],
        key="writing",
        label=words("alt.writing", token=named[0], chance=f"{own[order[0]]:.0%}"),
        words=words.group("writing"),
        text=text.labels,
        said=[text.writer.display(token) for token in text.said],
        look=text.look,
        chosen=stands,
        falls=chosen,
        drawn=drawn,
        n_others=int(np.count_nonzero(share)) - int(np.count_nonzero(share[order])),
        can_go=text.can_go,
        on_wish=lambda wish: _grant(wish, text.writer.n_vocabulary, text.said, room),
    )
    _say_choice(text, stands, chosen, drawn, float(share[stands]), float(own[stands]))


def _grant(wish: Wish, n_vocabulary: int, said: tuple[int, ...], room: int) -> None:
    """Put what a reader wants into the scene, once it is seen to be possible."""
    kept = said[: wish.keep]
    if wish.token is not None and wish.token < n_vocabulary and len(kept) < room:
        kept = (*kept, wish.token)
    state.change(said=kept, look=wish.look if wish.look < len(kept) else -1)


def _say_choice(
    text: Text, stands: int, chosen: int, drawn: float | None, share: float, own: float
) -> None:
    """In a sentence: which token, and why that one."""
    kind = "hand" if stands != chosen else "greedy" if drawn is None else "drawn"
    tense = "back" if text.look < len(text.said) else "next"
    st.markdown(
        text.words(
            f"continue.{kind}" if kind == "hand" else f"continue.{kind}.{tense}",
            token=literal(text.writer.display(stands)), drawn=f"{drawn or 0.0:.3f}",
            share=f"{share:.1%}", own=f"{own:.1%}",
            other=literal(text.writer.display(chosen)), seed=text.scene.draw,
        )
    )  # fmt: skip


def draw_rows(text: Text) -> None:
    """Where every head looks from the last token there is, from which the next is chosen."""
    words, looks, labels = text.words, text.found.rows, text.there
    n_heads = [len(heads) for heads in looks]
    flat = np.concatenate(looks)
    clearest = int(flat[:, 1:].max(axis=1).argmax()) if flat.shape[1] > 1 else 0
    at = int(flat[clearest, 1:].argmax()) + 1 if flat.shape[1] > 1 else 0
    layer, head = _head_at(clearest, n_heads)
    st.markdown(f"##### {words('continue.rows', token=literal(labels[-1]))}")
    told = {
        "head": words("board.short", layer=layer, head=head),
        "weight": f"{flat[clearest, at]:.2f}",
    }
    picture = figures.rows(
        "rows", looks, labels, words, scale=text.scene.scale,
        alt=words("alt.rows", n=len(flat), token=labels[-1], key=labels[at], **told),
    )  # fmt: skip
    show(picture, words, None, lambda cell: _choose_head(cell, n_heads))
    st.caption(words("continue.rows.caption", key=literal(labels[at]), **told))


def _head_at(row: int, n_heads: list[int]) -> tuple[int, int]:
    """The layer and the head of a row of the picture."""
    for layer, n in enumerate(n_heads):
        if row < n:
            return layer, row
        row -= n
    return len(n_heads) - 1, n_heads[-1] - 1


def _choose_head(cell: Cell | None, n_heads: list[int]) -> None:
    """Make a picked row's head the chosen one."""
    if cell is not None:
        layer, head = _head_at(cell.row, n_heads)
        state.change(layer=layer, head=head)


def draw_without(text: Text) -> None:
    """The same choice with some heads switched off: what was probable, and what is then."""
    words, n_heads = text.words, [len(heads) for heads in text.found.rows]
    every = [(layer, head) for layer, n in enumerate(n_heads) for head in range(n)]
    off = tuple(pair for pair in text.scene.off if pair in set(every))
    st.markdown(f"##### {words('continue.without')}")
    chosen = (min(text.scene.layer, len(n_heads) - 1), text.head)
    st.session_state["continue_off"] = list(off)
    with st.container(horizontal=True, vertical_alignment="bottom", key="continue_without"):
        st.multiselect(
            words("bench.off"),
            every,
            format_func=lambda pair: words("board.short", layer=pair[0], head=pair[1]),
            placeholder=words("bench.placeholder"),
            key="continue_off",
            on_change=lambda: state.change(off=tuple(sorted(st.session_state["continue_off"]))),
        )
        st.button(
            words("continue.this_head", head=words("board.short", layer=chosen[0], head=chosen[1])),
            disabled=chosen in off,
            **state.setter(off=tuple(sorted({*off, chosen}))),
        )
    if not off:
        st.caption(words("continue.without.none"))
        return
    with st.spinner(words("working")):
        after = chances(writing.without(text.scene, text.look, off))
    before = chances(text.found.logits)
    token = text.there[-1]
    left, right = st.columns(2)
    for column, found, other, name in (
        (left, before, after, "before"), (right, after, before, "after"),
    ):  # fmt: skip
        lines = [
            Line(text.writer.display(int(place)), float(found[place]), "share", float(other[place]))
            for place in np.argsort(-found)[:5]
        ]
        title, tick = words(f"bench.{name}", token=token), words(f"bench.{name}.tick")
        with column:
            draw_lines(
                f"continue_{name}", lines, words, text.scene, caption=title, chance=tick,
                rows=[line.label for line in lines],
            )  # fmt: skip
    best, then = (text.writer.display(int(found.argmax())) for found in (before, after))
    st.markdown(
        words(
            "bench.kept" if best == then else "bench.changed",
            before=literal(best), after=literal(then),
            moved=f"{total_variation(before, after):.0%}",
            first=f"{before.max():.0%}", second=f"{after[int(before.argmax())]:.0%}",
        )
    )  # fmt: skip


def draw_check(text: Text) -> None:
    """Whether reading everything anew, in one go, says the same as reading on token by token."""
    words = text.words
    if text.scene.weights == "real" and not st.toggle(words("continue.check.do"), key="anew"):
        return  # a whole reading of a large model, at each step
    ids = (*writing.prompt_of(text.scene), *text.said[: text.look])
    anew = text.writer.read(ids)
    apart = float(np.abs(_finite(anew.logits) - _finite(text.found.logits)).max())
    rows = max(float(np.abs(a - b).max()) for a, b in zip(anew.rows, text.found.rows, strict=True))
    same = int(anew.logits.argmax()) == int(text.found.logits.argmax())
    mark = "✓" if same and apart <= 1e-3 and rows <= 1e-5 else "✗"
    st.caption(
        f"{mark} {words('continue.check', n=len(ids), logits=f'{apart:.1e}', rows=f'{rows:.1e}')}"
    )


def _finite(logits: Array) -> Array:
    """The logits of the tokens that can follow."""
    finite: Array = logits[np.isfinite(logits)]
    return finite
