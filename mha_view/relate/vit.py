"""The parts of the page of the small ViT."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_core.errors import DataError
from mha_core.model.digits import SIDE, Digits, digit_from_canvas, load_digits, split_digits
from mha_core.sizes import measure, read_bundled
from mha_view import compute, controls, state
from mha_view.about import About
from mha_view.closing import Question, draw_question
from mha_view.components.canvas import canvas
from mha_view.figures import relate_vit as figures
from mha_view.figures.walk import head_patterns
from mha_view.figures.whatif import entropy_title
from mha_view.indices import low
from mha_view.page import Page, open_page_as
from mha_view.relate.drawing import unpack_drawing
from mha_view.scene import read_drawing
from mha_view.show import show
from mha_view.table_files import draw_table
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.model.vit import VitTrace
    from mha_core.trace import AttentionTrace
    from mha_view.components.plot import Cell

SOURCE = "https://doi.org/10.24432/C50P49"
GRID = 4


@dataclass(frozen=True)
class Beside(Page):
    """The page of the small ViT beside the sentence."""

    @cached_property
    def held_out(self) -> Digits:
        """The digits the model has not learned from."""
        return split_digits(load_digits())[1]

    @cached_property
    def image(self) -> NDArray[np.uint8]:
        """The digit that is looked at; blank where nothing is drawn yet."""
        if not self.scene.drawn:
            chosen: NDArray[np.uint8] = self.held_out.images[self.scene.digit]
            return chosen
        try:
            return digit_from_canvas(unpack_drawing(self.scene.drawing))
        except DataError:
            return np.zeros((SIDE, SIDE), dtype=np.uint8)

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to look at yet."""
        return not self.image.any()

    @cached_property
    def seen(self) -> VitTrace:
        """The digit through the ViT."""
        from mha_core.model.vit import load_vit

        with st.spinner(self.words("working")):
            return load_vit().trace(self.image)

    @property
    def vit_layer(self) -> int:
        """The ViT's layer looked at, the last one where it has fewer than the scene says."""
        return min(self.scene.layer, len(self.seen.layers) - 1)

    @property
    def layer(self) -> AttentionTrace:
        """That layer's trace."""
        return self.seen.layers[self.vit_layer]

    @property
    def vit_head(self) -> int:
        """The ViT's head looked at, the last one where it has fewer."""
        return min(self.scene.head, self.layer.config.n_heads - 1)


def open_beside() -> Beside:
    """Open the page."""
    return open_page_as(Beside, "vit")


def draw_source(page: Beside) -> None:
    """A digit from the set, or the reader's own."""
    words = page.words
    st.segmented_control(
        words("vit.source"), [False, True], required=True, label_visibility="collapsed",
        format_func=lambda drawn: words("vit.draw" if drawn else "vit.set"), **state.bind("drawn"),
    )  # fmt: skip
    if page.scene.drawn:
        canvas(
            page.scene.drawing, key="canvas", label=words("canvas.label"),
            words=words.group("plot") | words.group("canvas"), on_draw=_keep_drawing,
        )  # fmt: skip
        return
    label = int(page.held_out.labels[page.scene.digit])
    st.session_state["wanted_digit"] = label
    st.pills(
        words("vit.wanted"), range(10), required=True, key="wanted_digit",
        on_change=lambda: _next_digit(page.held_out, st.session_state["wanted_digit"]),
    )  # fmt: skip
    st.button(words("vit.another", digit=label), on_click=_next_digit, args=(page.held_out, label))


def _keep_drawing(ink: str) -> None:
    """Put a drawing into the scene, if it is one."""
    try:
        state.change(drawing=read_drawing(ink))
    except ValueError:
        return


def _next_digit(held_out: Digits, digit: int) -> None:
    """Go to the next held-out image of a digit, from the last on to the first."""
    now = state.scene().digit
    places = np.flatnonzero(held_out.labels == digit)
    state.change(digit=int(places[np.searchsorted(places, now, side="right") % len(places)]))


def draw_answer(page: Beside) -> None:
    """What the model says the digit is."""
    words, trace = page.words, page.seen
    if page.is_blank:
        st.info(words("canvas.empty"))
        return
    share = f"{trace.probabilities.max():.0%}"
    told = words("vit.says", digit=trace.digit, share=share)
    if not page.scene.drawn:
        told += "  \n" + words("vit.label", digit=int(page.held_out.labels[page.scene.digit]))
    st.markdown(told)
    show(figures.answer(trace, words), words, about=_about(page))


def _about(page: Beside) -> About:
    """What the pictures of the digit were made from."""
    facts = page.words(
        "picture.digit", layer=page.vit_layer, head=page.vit_head, patch=page.scene.patch
    )
    return About(facts)


def draw_looking(page: Beside) -> None:
    """Where the chosen patch looks: on the image, in every head, in the matrix."""
    words, patch, scale = page.words, page.scene.patch, page.scene.scale
    about = _about(page)
    _draw_choice(page)
    row = page.layer.pattern[page.vit_head, patch]
    left, right = st.columns(2)
    with left:
        st.markdown(f"##### {words('vit.on_image', patch=patch, head=page.vit_head)}")
        picture = figures.looking(page.image, row, patch, words, head=page.vit_head, scale=scale)
        show(picture, words, (page.vit_head, *divmod(patch, GRID)), _pick_patch, about=about)
    with right:
        st.markdown(f"##### {words('vit.matrix', head=page.vit_head)}")
        matrix = figures.whole_matrix(
            page.layer.pattern[page.vit_head], page.vit_head, words, scale
        )
        show(matrix, words, (page.vit_head, patch, int(row.argmax())), _pick_row, about=about)
    st.markdown(f"##### {words('vit.every_head', patch=patch)}")
    folded = figures.every_head(page.layer.pattern, patch, words, scale)
    show(folded, words, (page.vit_head, *divmod(patch, GRID)), _pick_folded, about=about)
    controls.draw_scale(words)


def _draw_choice(page: Beside) -> None:
    """The ViT's layer and head, and the patch that looks."""
    words = page.words
    choices = {
        "layer": (range(len(page.seen.layers)), page.vit_layer, "layer.option"),
        "head": (range(page.layer.config.n_heads), page.vit_head, "head.chip"),
    }
    columns = st.columns([3, 5, 2])
    for column, (field, (options, now, label)) in zip(columns, choices.items(), strict=False):
        key = f"vit_{field}"
        names = [words(label, **{field: number}) for number in options]
        st.session_state[key] = now
        column.pills(
            words(f"vit.{field}"), options, required=True, format_func=names.__getitem__, key=key,
            on_change=_choose, args=(field, key),
        )  # fmt: skip
    columns[-1].number_input(words("vit.patch"), 0, GRID**2 - 1, step=1, **state.bind("patch"))


def _choose(field: str, key: str) -> None:
    """Put the ViT's layer or head into the scene."""
    state.change(**{field: st.session_state[key]})


def _pick_patch(cell: Cell | None) -> None:
    """A patch picked on the image looks from now on."""
    if cell is not None:
        state.change(patch=cell.row * GRID + cell.column)


def _pick_row(cell: Cell | None) -> None:
    """A row picked in the matrix is a patch."""
    if cell is not None:
        state.change(patch=cell.row)


def _pick_folded(cell: Cell | None) -> None:
    """A tile picked is a head, its cell a patch."""
    if cell is not None:
        state.change(head=cell.head, patch=cell.row * GRID + cell.column)


def draw_sentence(page: Beside) -> None:
    """The sentence's heads on the same scale."""
    words = page.words
    st.markdown(f"##### {words('vit.sentence')}")
    show(head_patterns(page.trace, page.labels, words, scale=page.scene.scale), words)


def draw_properties(page: Beside) -> None:
    """Same or different, row for row, read off the two traces."""
    words = page.words
    sides = [_properties(page, page.trace), _properties(page, page.layer)]
    rows = []
    table: dict[str, list[object]] = {"what": [], "sentence": [], "image": [], "same": []}
    for name, sentence in sides[0].items():
        image = sides[1][name]
        for column, told in zip(table.values(), (name, sentence, image, sentence == image),
                                strict=True):  # fmt: skip
            column.append(told)
        mark = words("vit.same" if sentence == image else "vit.different")
        cells = "".join(
            f'<td style="white-space: normal">{html.escape(cell)}</td>'
            for cell in (sentence, image, mark)
        )
        rows.append(
            f'<tr><th scope="row">{low(html.escape(words(f"vit.row.{name}")))}</th>{cells}</tr>'
        )
    head = "".join(
        f'<th scope="col">{html.escape(words(f"vit.column.{name}"))}</th>'
        for name in ("what", "sentence", "image", "mark")
    )
    markup = (
        f'<table class="dimensions"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
    draw_table("properties", markup, table, words, page.scene)
    llama, swin = (measure(read_bundled(name), totals=False) for name in ("llama3.1-8b", "swin"))
    st.caption(
        words("vit.heads_of_real", llama=llama.n_heads, layers=llama.n_layers,
              swin=", ".join(map(str, swin.n_heads if isinstance(swin.n_heads, list) else [])))
    )  # fmt: skip


def _properties(page: Beside, trace: AttentionTrace) -> dict[str, str]:
    """What a trace's layer is, in the reader's words."""
    words, config, is_image = page.words, trace.config, trace is page.layer
    looks = "two_way" if trace.keep.all() else page.scene.mask
    n_layers = len(page.seen.layers) if is_image else len(page.walk.layers)
    answer = "one" if is_image else "none" if page.walk.logits is None else "each"
    position = "learned" if is_image else "rope" if config.rope else "none"
    return {
        "tokens": words("vit.patches" if is_image else "vit.pieces", n=trace.n_tokens),
        "d_model": str(config.d_model),
        "heads": ", ".join([str(config.n_heads)] * n_layers),
        "d_head": str(config.d_head),
        "chain": words("vit.chain"),
        "scale": f"1 / √{config.d_head}",
        "mask": words(f"mask.{looks}"),
        "position": words(f"vit.position.{position}"),
        "norm": words(f"vit.norm.{trace.norm.kind if trace.norm else 'none'}"),
        "bias": words(f"sizes.bias.{trace.weights.b_q is not None}"),
        "answer": words(f"vit.answer.{answer}"),
    }


def draw_masks(page: Beside) -> None:
    """The same sentence, causal and two-way."""
    from mha_core.whatif import look_again

    words, names = page.words, ("causal", "two_way")
    keeps = [compute.keep_of(page.scene.with_(mask=name), len(page.labels)) for name in names]
    patterns = [look_again(page.trace, page.head, keep=keep) for keep in keeps]
    titles = [
        entropy_title(words(f"mask.{name}"), pattern, keep, words)
        for name, pattern, keep in zip(names, patterns, keeps, strict=True)
    ]
    picture = figures.two_masks(patterns, keeps, titles, page.labels, words, page.scene.scale)
    show(picture, words)
    st.caption(words("vit.masks.caption"))


def draw_reading_on(page: Beside) -> None:
    """The last row, a question, and where the digits are from."""
    limits, trip, ask = st.columns(3)
    for place, part in ((limits, "limits"), (trip, "trip")):
        with place.container(border=True, height="stretch"):
            st.markdown(f"##### {page.words(f'card.{part}')}")
            st.markdown(page.text(part))
    with ask.container(border=True, height="stretch"):
        draw_question("vit", _ask(page.words), page.words)
    page.draw_foot()
    st.caption(page.words("vit.digits", source=f"<{SOURCE}>"))


def _ask(words: Words) -> Question:
    """What halving the patches does to the number of weights."""
    before, more = GRID**2, (2 * GRID) ** 2
    said = {"n": before, "more": more, "before": before**2, "after": more**2}
    kinds = {"two": 2, "four": 4, "many": more**2 // before**2}
    return Question(
        words("question.vit.ask"),
        {name: words("question.times", n=n) for name, n in kinds.items()},
        "many",
        words("question.vit.why", **said),
    )
