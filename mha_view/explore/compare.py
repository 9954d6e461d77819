"""Two readings that differ in one thing: what they are, what is drawn, what is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from mha_core.errors import TwelveHeadsError
from mha_core.heads.measures import MEASURES, Seen
from mha_core.heads.regroup import divergences, merge_tokens, moved
from mha_core.language.alignment import Span, align_tokens
from mha_view import compute, controls, heavy, real, state, thread
from mha_view.about import About
from mha_view.explore import checkpoints, live_run
from mha_view.explore.board import Board
from mha_view.explore.passport import counted_note
from mha_view.figures import explore
from mha_view.grouping import Grouping, group_tokens
from mha_view.link import has_own_head, other_of, sizes_of
from mha_view.panel import literal
from mha_view.scene import Against, MaskName, Scene, WeightsName
from mha_view.show import show
from mha_view.table_files import draw_save
from mha_view.texts import TEXTS
from mha_view.words import Words

COMPARED = ("entropy", "entropy_share", "effective_keys", "distance", "confidence", "first")


@dataclass(frozen=True, eq=False)
class Side:
    """One reading: a head's pattern on a sentence.

    Attributes:
        title: what it is, in the reader's words.
        text: the sentence.
        labels: a label a token.
        pattern: [query, key].
        seen: what it was made from.
        outside: in which ways trained weights are used as they were not trained.
        grouping: which tokens are drawn as one.
        spans: the characters that each token covers, from where to where.
    """

    title: str
    text: str
    labels: tuple[str, ...]
    pattern: NDArray[Any]
    seen: Seen
    outside: tuple[str, ...]
    grouping: Grouping
    spans: tuple[Span, ...]

    @property
    def shown(self) -> NDArray[Any]:
        """The pattern as it is drawn, NaN where nothing may be looked at."""
        keep = self.grouping.apply_mask(self.seen.keep)
        return np.where(keep, self.grouping.apply(self.pattern), np.nan)


def make_side(scene: Scene, layer: int, head: int, title: str, step: int | None = None) -> Side:
    """One reading of a scene.

    Args:
        scene: sentence, weights, mask, RoPE.
        layer, head: the last ones where there are fewer.
        title: what it is.
        step: a checkpoint of the training run instead of the final weights.
    """
    if step is None:
        layers = list(heavy.read_of(Words(state.scene().lang), scene).patterns)
    else:
        layers = list(checkpoints.patterns_at(scene, step))
    reading = compute.reading_of(scene)
    patterns = layers[min(layer, len(layers) - 1)]
    seen = Seen(
        compute.keep_of(scene, len(reading)),
        np.array([token.id for token in reading.tokens]),
    )
    pattern = patterns[min(head, len(patterns) - 1)]
    grouping = group_tokens(reading.tokens, scene.text, whole_words=scene.whole_words)
    outside = tuple(compute.outside_training(scene))
    spans = tuple((token.start, token.end) for token in reading.tokens)
    return Side(title, scene.text, reading.labels, pattern, seen, outside, grouping, spans)


def choices(scene: Scene) -> list[str]:
    """What the second reading can differ in: checkpoints only where there are some."""
    possible = list(get_args(Against))
    if compute.resolve(scene).weights != "toy" or not checkpoints.list_steps():
        possible.remove("checkpoint")
    if compute.resolve(scene).weights == "real":  # which is read as it was made
        possible = [each for each in possible if each not in ("mask", "rope")]
    return possible


def as_shown(scene: Scene) -> Scene:
    """The scene with a second reading that there is: its layer, head and step within what exists,
    and something to differ in that is possible."""
    now, possible = compute.resolve(scene), choices(scene)
    step = checkpoints.nearest_step(now.other_step) if "checkpoint" in possible else now.other_step
    now = now.with_(
        against=now.against if now.against in possible else "head",
        other_step=step, other_real=real.second_name(now),
    )  # fmt: skip
    n_layers, n_heads = sizes_of(other_of(now))
    layer = min(now.other_layer, n_layers - 1)
    first = (min(now.layer, compute.n_layers_of(now) - 1), thread.head_of(now))
    another = 0 if (layer, 1) == first and not has_own_head(now) else 1
    return now.with_(
        other_layer=layer,
        other_head=min(another if now.other_head < 0 else now.other_head, n_heads - 1),
    )


def draw_controls(board: Board) -> str:
    """What differs, and the second reading's choice; returns what differs."""
    words, now = board.words, as_shown(state.scene())
    with st.container(horizontal=True, vertical_alignment="bottom", key="compare_controls"):
        st.segmented_control(
            words("compare.against"),
            choices(now),
            required=True,
            format_func=lambda name: words(f"against.{name}"),
            **state.bind("against", shown=now.against),
        )
        _draw_choice(words, now)
    if has_own_head(now) and now.other_weights == "real":
        controls.draw_changed(words, now.other_real, now.other_digest)
    return now.against


def _draw_choice(words: Words, now: Scene) -> None:
    """The control for the second reading."""
    if now.against == "head":
        _draw_head(words, now)
    elif now.against == "mask":
        st.selectbox(words("compare.mask"), get_args(MaskName), width=260,
                     format_func=lambda name: words(f"mask.{name}"),
                     **state.bind("other_mask"))  # fmt: skip
    elif now.against == "weights":
        names = [name for name in get_args(WeightsName) if name != "real" or real.usable()]
        st.selectbox(words("compare.weights"), names, width=260,
                     format_func=lambda name: words(f"weights.{name}"),
                     **state.bind("other_weights"))  # fmt: skip
        if now.other_weights == "real":
            _draw_model(words, now)
        if has_own_head(now):
            _draw_head(words, now)
    elif now.against == "text":
        st.text_input(words("compare.text"), width=420, **state.bind("other_text"))
    elif now.against == "checkpoint":
        st.select_slider(words("compare.step"), checkpoints.list_steps(), width=320,
                         **state.bind("other_step", shown=now.other_step))  # fmt: skip


def _draw_head(words: Words, now: Scene) -> None:
    """The second reading's layer and head."""
    n_layers, n_heads = sizes_of(other_of(now))
    if n_layers > 1:
        st.number_input(words("compare.layer"), 0, n_layers - 1, width=130,
                        **state.bind("other_layer", shown=now.other_layer))  # fmt: skip
    st.number_input(words("compare.head"), 0, max(n_heads - 1, 1), width=130,
                    **state.bind("other_head", shown=now.other_head))  # fmt: skip


def _draw_model(words: Words, now: Scene) -> None:
    """The second reading's model; one that is not here is said to be gone, and the nearest offered,
    and the page ends."""
    names = [card.name for card in real.usable()]
    if now.other_real in names:
        st.selectbox(words("real.label"), names, width=260,
                     **state.bind("other_real", shown=now.other_real))  # fmt: skip
        return
    controls.draw_gone(words, "other_real", now.other_real)
    st.stop()


def make_sides(board: Board, against: str) -> tuple[Side, Side]:
    """Both readings; stops with a message where the second cannot be made."""
    words, now = board.words, as_shown(state.scene())
    layer, head = board.layer, board.head
    here = board.short(board.place)
    if against == "head":
        other = words("board.short", layer=now.other_layer, head=now.other_head)
        return (
            make_side(now, layer, head, here),
            make_side(now, now.other_layer, now.other_head, other),
        )
    if against == "checkpoint":
        step = now.other_step
        return (
            make_side(now, layer, head, words("compare.final", head=here)),
            make_side(now, layer, head, words("compare.at", head=here, step=step), step),
        )
    changes: dict[str, Any] = {
        "mask": now.other_mask,
        "rope": not now.rope,
        "text": now.other_text,
        "weights": now.other_weights,
    }
    own_head = has_own_head(now)
    second = now.with_(**{against: changes[against]})
    if second.weights == "real":
        second = second.with_(real=now.other_real if against == "weights" else now.real)
    if not second.text.strip():
        st.info(words("sentence.empty"))
        st.stop()
    if second.weights == "live" and state.scene().weights != "live":
        live_run.draw_notice(words, second)
    second = compute.resolve(second)
    try:
        if own_head:
            return (
                make_side(now, layer, head, _name_head(now, layer, head, words)),
                make_side(second, now.other_layer, now.other_head,
                          _name_head(second, now.other_layer, now.other_head, words)),
            )  # fmt: skip
        return (
            make_side(now, layer, head, _name(now, against, words)),
            make_side(second, layer, head, _name(second, against, words)),
        )
    except TwelveHeadsError as error:
        st.error(words.error(error))
        st.stop()


def _name_head(scene: Scene, layer: int, head: int, words: Words) -> str:
    """A side by its model, layer and head."""
    card = real.card_of(scene)
    model = words(f"weights.{scene.weights}") if card is None else literal(card.name)
    return words("compare.of_model", model=model, head=words("board.short", layer=layer, head=head))


def _name(scene: Scene, against: str, words: Words) -> str:
    """What a side is called: the thing that differs."""
    if against == "text":
        text = scene.text if len(scene.text) <= 40 else scene.text[:39] + "…"
        return literal(text)
    if against == "rope":
        return words("compare.rope_on" if scene.rope else "compare.rope_off")
    if against == "mask":
        return words("compare.masked", name=words(f"mask.{scene.mask}"))
    return words(f"weights.{scene.weights}")


def draw_sides(board: Board, sides: tuple[Side, Side]) -> None:
    """Both patterns side by side, on one scale."""
    columns = st.columns(2)
    for name, side, column in zip(("first", "second"), sides, columns, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"##### {board.words(f'compare.{name}')} · {side.title}")
            for way in side.outside:
                most = compute.TRAINED_TOKENS
                st.caption(f"⚠ {board.words(f'outside.{way}', most=most)}")
            picture = explore.one_head(
                side.grouping.apply(side.pattern), side.grouping.apply_mask(side.seen.keep),
                side.grouping.labels, board.words, title=side.title, scale=board.scene.scale,
                name=name, pickable=False, grouping=side.grouping,
            )  # fmt: skip
            show(picture, board.words, about=About(side.text, side.title))


def draw_difference(board: Board, sides: tuple[Side, Side]) -> None:
    """Second minus first, where both have as many tokens, or as many words."""
    words = board.words
    first, second = sides
    st.markdown(f"##### {words('compare.difference')}")
    if is_cut_apart(first, second):
        _draw_aligned(first, second, words)
        return
    alike = len(first.labels) == len(second.labels)
    if len(first.grouping.labels) == len(second.grouping.labels):
        _draw_apart(first, second, words)
    elif alike:
        _draw_apart(_apart(first), _apart(second), words)
    else:
        st.info(words("compare.lengths", first=len(first.labels), second=len(second.labels)))
    if not alike:
        return
    either = first.seen.keep | second.seen.keep
    apart = divergences(np.stack([first.pattern, second.pattern]), either)[0, 1]
    if np.isnan(apart):
        return
    share = moved(first.pattern, second.pattern, either)
    st.markdown(words("compare.apart", bits=f"{apart:.3f}", moved=f"{share:.0%}"))


def is_cut_apart(first: Side, second: Side) -> bool:
    """Whether both read one text, cut into other tokens."""
    return first.text == second.text and first.spans != second.spans


def _draw_aligned(first: Side, second: Side, words: Words) -> None:
    """The difference over the stretches of the text that both cut alike, and what is left out."""
    stretches = align_tokens(first.text, first.spans, second.spans)
    if not stretches:
        st.info(words("compare.lengths", first=len(first.labels), second=len(second.labels)))
        return
    groups = [[each.first for each in stretches], [each.second for each in stretches]]
    patterns = [
        over_groups(side.pattern, side.seen.keep, each)
        for side, each in zip((first, second), groups, strict=True)
    ]
    labels = [first.text[each.start : each.end] for each in stretches]
    merged = any(len(group) > 1 for each in groups for group in each)
    drawn = explore.difference(patterns[0], patterns[1], labels, labels, words, merged=merged)
    told = words("compare.minus", first=first.title, second=second.title)
    show(drawn, words, about=About(second.text, told))
    outside = [1 - float(np.nansum(pattern, axis=1).mean()) for pattern in patterns]
    st.caption(
        words(
            "compare.aligned", n=len(stretches), first=len(first.labels),
            second=len(second.labels), first_share=f"{outside[0]:.0%}",
            second_share=f"{outside[1]:.0%}",
        )
    )  # fmt: skip


def over_groups(
    pattern: NDArray[Any], keep: NDArray[np.bool_], groups: Sequence[tuple[int, ...]]
) -> NDArray[np.float64]:
    """A pattern [query, key] over groups of tokens, NaN where none of a group may look at any of
    another's. Tokens in no group are left out, and rows are not scaled up for them."""
    may_look = merge_tokens(keep.astype(np.float64), groups) > 0
    found: NDArray[np.float64] = np.where(may_look, merge_tokens(pattern, groups), np.nan)
    return found


def _apart(side: Side) -> Side:
    """A reading whose tokens are each drawn alone."""
    alone = tuple((place,) for place in range(len(side.labels)))
    return replace(side, grouping=Grouping(alone, side.labels, ()))


def _draw_apart(first: Side, second: Side, words: Words) -> None:
    """The second pattern minus the first, over the rows that each is drawn with."""
    rows = [
        here if here == there else f"{here} / {there}"
        for here, there in zip(first.grouping.labels, second.grouping.labels, strict=True)
    ]
    merged = first.grouping.merges or second.grouping.merges
    drawn = explore.difference(first.shown, second.shown, rows, rows, words, merged=merged)
    told = words("compare.minus", first=first.title, second=second.title)
    show(drawn, words, about=About(second.text, told))


def draw_numbers(board: Board, sides: tuple[Side, Side]) -> None:
    """Entropy, reach and the like of both sides."""
    words = board.words
    scores = [
        [float(MEASURES[name].score(side.pattern, side.seen)) for name in COMPARED]
        for side in sides
    ]
    st.markdown(f"##### {words('compare.numbers')}")
    st.table(
        {
            words("passport.measure"): [_label(name, words) for name in COMPARED],
            words("compare.first"): [_told(value) for value in scores[0]],
            words("compare.second"): [_told(value) for value in scores[1]],
            words("axis.difference"): [
                _told(two - one, "+.2f") for one, two in zip(*scores, strict=True)
            ],
        }
    )
    table: dict[str, list[Any]] = {"measure": list(COMPARED)}
    table |= dict(zip(("first", "second"), scores, strict=True))
    table["difference"] = [two - one for one, two in zip(*scores, strict=True)]
    draw_save("compare_numbers", table, words, board.scene)
    st.caption(words("compare.numbers.caption"))


def draw_masks(board: Board) -> None:
    """The chosen head under all five masks: entropy, its share, reach."""
    words, scene = board.words, state.scene()
    names = get_args(MaskName)
    sides = [make_side(scene.with_(mask=name), board.layer, board.head, name) for name in names]
    measures = ("entropy", "entropy_share", "distance", "first")
    scores = {
        measure: [float(MEASURES[measure].score(side.pattern, side.seen)) for side in sides]
        for measure in measures
    }
    shown = {_label(name, words): list(map(_told, found)) for name, found in scores.items()}
    st.table({words("compare.mask"): [words(f"mask.{name}") for name in names], **shown})
    draw_save("compare_masks", {"mask": names, **scores}, words, board.scene)
    st.caption(words("compare.masks.caption", title=board.short(board.place)))


def _told(value: float, form: str = ".2f") -> str:
    """A score, or a dash where no row counts."""
    return "—" if np.isnan(value) else f"{value:{form}}".replace("-", "−")


def _label(measure: str, words: Words) -> str:
    """A measure's name with its unit, and which rows it counts where these are fewer."""
    found = MEASURES[measure]
    name, note = words(f"measure.{measure}"), counted_note(found, words)
    told = name if found.unit == "share" else f"{name} ({words(f'unit.{found.unit}')})"
    return f"{told} · {note}" if note else told


def draw_examples(words: Words) -> None:
    """The bundled sentences as second sentence."""
    with st.container(horizontal=True, gap="small", key="compare_examples"):
        for name, text in TEXTS.items():
            if len(text) <= 60:
                st.button(text, key=f"other_{name}", type="tertiary",
                          **state.setter(other_text=text))  # fmt: skip
