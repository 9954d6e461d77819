"""The gallery's parts: controls, the chosen head and its passport, heads like it, the mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, get_args

import numpy as np
import streamlit as st

from mha_core.heads.measures import MEASURES, Seen, mean_entropy
from mha_core.heads.regroup import divergences, divergences_from
from mha_view import controls, state, thread
from mha_view.components import reveal
from mha_view.components.wall import wall
from mha_view.explore.board import Board
from mha_view.explore.labels import Labels, draw_links, draw_pending, find_labels, short_label
from mha_view.explore.passport import Line, counted_note, draw_lines
from mha_view.explore.sample import sample_divergences
from mha_view.figures import explore
from mha_view.scene import Sorting, View
from mha_view.show import show
from mha_view.theme import ink

if TYPE_CHECKING:
    from mha_view.components.plot import Cell

MOST_LIKE = 5
CHOSEN = "gallery_chosen"  # the container of the chosen head


def draw_controls(board: Board) -> None:
    """Order, hidden tokens, whole words."""
    words = board.words
    with st.container(horizontal=True, vertical_alignment="bottom", key="gallery_controls"):
        if board.is_large:
            n_layers = len(board.walk.layers)
            st.selectbox(
                words("gallery.only"),
                range(-1, n_layers),
                format_func=lambda layer: (
                    words("gallery.only.all") if layer < 0 else words("layer.option", layer=layer)
                ),
                width=150,
                **state.bind("only", shown=min(board.scene.only, n_layers - 1)),
            )
        st.selectbox(
            words("gallery.sort"),
            get_args(Sorting),
            format_func=lambda name: words(f"measure.{name}"),
            width=300,
            **state.bind("sort"),
        )
        st.toggle(words("gallery.hide"), help=words("gallery.hide.help"),
                  **state.bind("hide_special"))  # fmt: skip
        controls.draw_merging(words)
        controls.draw_scale(words)
    if board.grouping.merges:
        st.caption(words("merged.weights"))
    if board.grouping.hidden:
        hidden = board.patterns[:, :, list(board.grouping.hidden)].sum(axis=-1).mean()
        st.warning(words("gallery.hidden", n=len(board.grouping.hidden), share=f"{hidden:.0%}"))


def tile_titles(board: Board, order: Sequence[int], labels: Labels) -> list[str]:
    """Each tile's name, its score where the tiles are sorted by one, its role where it has one.

    Beside a score there is room for one role, not for how many more.
    """
    sort = board.scene.sort
    scores = np.full(len(board.patterns), np.nan) if sort == "place" else board.scores(sort)
    titles = []
    for place in order:
        has_score = bool(np.isfinite(scores[place]))
        score = f"{scores[place]:.2f}" if has_score else ""
        label = short_label(labels, divmod(place, board.n_heads), board.words, count=not has_score)
        told = f"{score} {label}".strip()
        name = name_with_keys(board, place)
        titles.append(f"{name} · {told}" if told else name)
    return titles


def draw_tiles(board: Board) -> None:
    """All heads in the reader's order; a picked tile becomes the chosen head."""
    words, order = board.words, board.order()
    if board.is_large:
        draw_wall(board)
        order = board.selection()
        st.markdown(f"##### {_name_selection(board, order)}")
    labels = find_labels(board)
    titles = tile_titles(board, order, labels or {})
    chosen = board.short(board.place)
    picture = explore.gallery(
        "gallery",
        board.grouping.apply(board.patterns[order]),
        board.grouping.apply_mask(board.keep),
        [
            title.replace(short, f"<b>{short}</b>") if short == chosen else title
            for title, short in zip(titles, map(board.short, order), strict=True)
        ],
        board.grouping.labels,
        words,
        colours=explore.head_colours(order, board.n_heads),
        scale=board.scene.scale,
        across=6 if board.is_large else board.n_heads if board.n_heads <= 6 else None,
        alt=words("alt.gallery", n=len(order), first=titles[0], last=titles[-1]),
        grouping=board.grouping,
    )
    show(picture, words, None, partial(_open, board, order))
    if board.scene.sort in MEASURES:
        told = words(f"counted.{MEASURES[board.scene.sort].counted}")
        st.caption(words("gallery.sorted", measure=words(f"measure.{board.scene.sort}"), rows=told))
    if labels is None:
        draw_pending(words)


def _open(board: Board, heads: Sequence[int], cell: Cell | None) -> None:
    """Choose a tile's head and cell, and have what it opens in view."""
    board.pick(cell, heads)
    if cell is not None:
        reveal.ask()


def _choose(layer: int, head: int, **changes: None) -> None:
    """Choose a head, and have what it opens in view."""
    state.change(layer=layer, head=head, **changes)
    reveal.ask()


def draw_wall(board: Board) -> None:
    """Every head of every layer as a small picture; those that the order picks stand out."""
    words, patterns = board.words, board.walk.patterns
    is_sorted = board.scene.sort != "place"
    scores = board.scores(board.scene.sort) if is_sorted else np.full(len(board.patterns), np.nan)
    told, place = [], 0
    for heads in patterns:
        some = range(place, place + len(heads))
        told.append([_tell_score(board, each, float(scores[each])) for each in some])
        place += len(heads)
    picked = board.scene.only >= 0 or is_sorted
    wall(
        explore.small_pictures(patterns, board.scene.scale),
        key="wall",
        label=words("alt.wall", layers=len(patterns), n=len(board.patterns)),
        words=words.group("wall"),
        n_heads=[len(heads) for heads in patterns],
        told=told,
        chosen=(board.layer, board.head),
        lit=board.selection() if picked else [],
        on_choose=partial(_choose, picked=None),
    )
    st.caption(words("gallery.wall"))


def _tell_score(board: Board, place: int, score: float) -> str:
    """A head's name, its KV head where some share one, and its score where there is one."""
    told = name_with_keys(board, place)
    return f"{told} · {score:.2f}" if np.isfinite(score) else told


def name_with_keys(board: Board, place: int) -> str:
    """A head's name, and whose keys and values it reads where heads share them."""
    name, group = board.short(place), board.config.group
    kv_head = place % board.n_heads // group
    return name if group == 1 else board.words("gallery.keys", head=name, kv_head=kv_head)


def _name_selection(board: Board, order: Sequence[int]) -> str:
    """What the heads below the wall are."""
    words, scene = board.words, board.scene
    if scene.sort == "place":
        return words("gallery.of_layer", layer=order[0] // board.n_heads)
    measure = words(f"measure.{scene.sort}")
    return words("gallery.first", n=len(order), measure=measure)


def draw_chosen(board: Board) -> None:
    """The chosen head, as a heatmap or as lines between tokens."""
    words, scene = board.words, board.scene
    reveal.reveal(CHOSEN)
    st.markdown(f"##### {words('gallery.chosen', title=board.short(board.place))}")
    if board.config.group > 1:
        with_it = [
            str(head) for head in range(board.n_heads)
            if head // board.config.group == board.kv_head and head != board.head
        ]  # fmt: skip
        heads = words("list.and").join(with_it)
        st.caption(words("gallery.shares", kv_head=board.kv_head, heads=heads))
    draw_links(board, find_labels(board) or {})
    st.segmented_control(
        words("gallery.view"),
        get_args(View),
        required=True,
        label_visibility="collapsed",
        format_func=lambda name: words(f"view.{name}"),
        **state.bind("view"),
    )
    pattern = board.grouping.apply(board.patterns[board.place])
    keep = board.grouping.apply_mask(board.keep)
    cell = board.picked_cell()
    if scene.view == "links":
        _draw_links(board, np.where(keep, pattern, np.nan), cell)
        return
    picture = explore.one_head(
        pattern, keep, board.grouping.labels, words,
        title=board.short(board.place), scale=scene.scale, grouping=board.grouping,
    )  # fmt: skip
    marked = None if cell is None else (0, *cell)
    show(picture, words, marked, partial(board.pick, heads=[board.place]))


def _draw_links(board: Board, shown: np.ndarray, cell: tuple[int, int] | None) -> None:
    """The chosen head as lines."""
    from mha_view.components.links import MOST_TOKENS, links
    from mha_view.theme import head_colour

    first = slice(None, MOST_TOKENS)
    links(
        board.grouping.labels,
        shown[None, first, first],
        heads=[board.head],
        colours=[head_colour(board.head)],
        key="gallery_links",
        alt=board.words("alt.board_links", title=board.short(board.place)),
        words=board.words.group("plot") | board.words.group("links"),
        query=None if cell is None else cell[0],
        on_token=lambda place: thread.place_focus(board.grouping.first(place)),
    )


def draw_passport(board: Board) -> None:
    """The chosen head's scores on this sentence, each with what chance gives."""
    words = board.words
    pattern, n_tokens = board.patterns[board.place], len(board.reading)
    most = {"share": 1.0, "nats": math.log(max(n_tokens, 2)), "keys": n_tokens,
            "tokens": max(n_tokens - 1, 1)}  # fmt: skip
    lines = {
        name: Line(
            words(f"measure.{name}"),
            float(measure.score(pattern, board.seen)),
            measure.unit,
            measure.chance(board.seen),
            note=counted_note(measure, words),
            title=words(f"measure.{name}.means"),
            most=most[measure.unit],
        )
        for name, measure in MEASURES.items()
    }
    told = {name: line for name, line in lines.items() if not math.isnan(line.value)}
    st.markdown(f"##### {words('gallery.passport', title=board.short(board.place))}")
    draw_lines(
        "passport", list(told.values()), words, board.scene,
        caption=words("gallery.passport.caption"), rows=list(told),
    )  # fmt: skip
    with st.popover(words("gallery.formulas"), type="tertiary"):
        for name, measure in MEASURES.items():
            source = f" · {measure.source}" if measure.source else ""
            st.markdown(
                f"**{words(f'measure.{name}')}** ${measure.formula}$  \n"
                f"{words(f'measure.{name}.means')}  \n"
                f"{words('counted', rows=words(f'counted.{measure.counted}'))}{source}"
            )


def draw_like(board: Board) -> None:
    """The heads whose patterns are nearest to the chosen one's."""
    words = board.words
    st.markdown(f"##### {words('gallery.like', title=board.short(board.place))}")
    if board.scene.weights == "toy":
        apart, count = sample_divergences()
        bits_to = apart[board.place]
        st.caption(words("gallery.like.sample", n=count))
    else:
        bits_to = divergences_from(board.patterns[board.place], board.patterns, board.keep)
        kind = board.scene.weights if board.scene.weights in ("live", "real") else "here"
        st.caption(words(f"gallery.like.{kind}"))
    near = [int(n) for n in np.argsort(bits_to) if n != board.place and np.isfinite(bits_to[n])]
    with st.container(horizontal=True, key="gallery_like", gap="small"):
        for place in near[:MOST_LIKE]:
            layer, head = divmod(place, board.n_heads)
            bits = f"{bits_to[place]:.2f}"
            st.button(
                words("gallery.like.head", title=board.short(place), bits=bits),
                key=f"like_{place}",
                on_click=_choose,
                args=(layer, head),
            )


def draw_mean(board: Board) -> None:
    """Each layer's mean over its heads, and what the mean hides."""
    words, n_heads = board.words, board.n_heads
    layers = board.walk.patterns
    # Of a large model, the chosen layer's alone.
    shown = [board.layer] if board.is_large else list(range(len(layers)))
    means = np.stack([layers[layer].mean(axis=0) for layer in shown])
    titles = [words("gallery.mean.layer", layer=layer) for layer in shown]
    keep = board.grouping.apply_mask(board.keep)
    picture = explore.gallery(
        "mean", board.grouping.apply(means), keep, titles, board.grouping.labels, words,
        colours=[ink("residual")] * len(means), scale=board.scene.scale,
        across=min(3, len(means)), alt=words("alt.mean", n=len(means)), largest=18,
        grouping=board.grouping,
    )  # fmt: skip
    show(picture, words, None, lambda cell: None)
    if not Seen(board.keep).has_choice.any():
        return
    for place, layer in enumerate(shown):
        pattern = layers[layer]
        apart = divergences(pattern, board.keep).sum() / max(n_heads * (n_heads - 1), 1)
        st.markdown(
            words(
                "gallery.mean.hides",
                layer=layer,
                mean=f"{mean_entropy(means[place], board.keep):.2f}",
                heads=f"{mean_entropy(pattern, board.keep).mean():.2f}",
                apart=f"{apart:.2f}",
            )
        )
