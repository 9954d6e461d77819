"""The parts of the page of sizes: where they come from, the layer, its costs, the notes."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import streamlit as st

from mha_core.errors import DataError
from mha_core.sizes import list_bundled
from mha_view import state
from mha_view.about import About
from mha_view.closing import Question, draw_foot, draw_question
from mha_view.figures import relate_sizes as figures
from mha_view.indices import low
from mha_view.panel import literal
from mha_view.relate import subject as subjects
from mha_view.relate.subject import Subject
from mha_view.scene import Scene, SizesPart, write_link
from mha_view.show import show
from mha_view.table_files import draw_save, draw_table
from mha_view.words import Words

LADDER = [1 << power for power in range(4, 21)]
# What only the part about the cache is about.
KEPT = ("others", "float_type", "batch", "weight_type", "memory")
HAND = {
    "hand_d": ("size.d_model", 1, 1 << 16),
    "hand_h": ("size.n_heads", 1, 1024),
    "hand_kv": ("size.n_kv_heads", 0, 1024),
    "hand_d_head": ("size.d_head", 0, 4096),
    "hand_layers": ("sizes.layers", 1, 1000),
}


def draw_source(words: Words) -> None:
    """Where the sizes come from: a bundled config, a file, or numbers."""
    kind = subjects.kind_of(state.scene().model)
    st.session_state["sizes_kind"] = kind
    st.segmented_control(
        words("sizes.source"),
        subjects.KINDS,
        required=True,
        format_func=lambda name: words(f"sizes.kind.{name}"),
        key="sizes_kind",
        on_change=_switch_kind,
    )
    {"model": _draw_models, "file": _draw_file, "hand": _draw_hand}[kind](words)


def _switch_kind() -> None:
    """Go to another kind of source; what was pasted or set by hand stays."""
    kind = st.session_state["sizes_kind"]
    if kind:
        state.change(model=subjects.FIRST_OF[kind], part="")


def _draw_models(words: Words) -> None:
    """The bundled configs, and where the chosen one was taken from."""
    titles = subjects.titles()
    st.selectbox(
        words("sizes.model"), list(titles), format_func=titles.__getitem__, **state.bind("model")
    )
    source = next(c.source for c in list_bundled() if c.name == state.scene().model)
    st.caption(words("sizes.taken_from", source=literal(source)))


def _draw_file(words: Words) -> None:
    """A box to paste into and a place to drop a file; what was pasted stays as it is."""
    left, right = st.columns([3, 2])
    left.text_area(
        words("sizes.paste"),
        height=210,
        placeholder='{"hidden_size": 4096, "num_attention_heads": 32, …}',
        max_chars=subjects.MOST_CHARACTERS,
        **state.bind("config_text") | {"on_change": subjects.take_text, "args": ()},
    )
    if state.scene().config_text and "c" not in write_link(state.scene()):
        left.caption(words("sizes.too_long"))
    right.file_uploader(
        words("sizes.drop"), key="sizes_file", max_upload_size=32, on_change=subjects.take_file
    )
    right.caption(words("sizes.drop.gguf"))
    if (gguf := subjects.dropped_gguf()) is not None:
        left.caption(words("sizes.gguf.here", name=literal(gguf.name)))
    dropped = st.session_state.get("sizes_dropped")
    if isinstance(dropped, DataError):
        right.error(words.error(dropped))


def _draw_hand(words: Words) -> None:
    """Numbers to set; what they cannot be is said by the core."""
    for column, (field, (label, least, most)) in zip(st.columns(5), HAND.items(), strict=True):
        column.number_input(words(label), least, most, step=1, **state.bind(field))


def draw_part(subject: Subject, words: Words) -> None:
    """Which part of a model with several is shown."""
    if subject.whole.entries:
        st.segmented_control(
            words("sizes.part"),
            ["", *subject.whole.entries],
            required=True,
            format_func=lambda name: name or words("sizes.part.whole"),
            **state.bind("part"),
        )


def part_of(scene: Scene) -> SizesPart:
    """The part that is open: the chosen one, else the one whose numbers the scene sets."""
    if scene.sizes_part != "auto":
        return scene.sizes_part
    default = Scene()
    is_set = {
        name: getattr(scene, name) != getattr(default, name) for name in (*KEPT, "cost_tokens")
    }
    if any(is_set[name] for name in KEPT):
        return "cache"
    return "flops" if is_set["cost_tokens"] else "layer"


def draw_parts(words: Words) -> SizesPart:
    """Choose a part of the page; returns it."""
    shown = part_of(state.scene())
    st.segmented_control(
        words("sizes.show"),
        [part for part in get_args(SizesPart) if part != "auto"],
        required=True,
        label_visibility="collapsed",
        format_func=lambda part: words(f"sizes.show.{part}"),
        **state.bind("sizes_part", shown=shown),
    )
    return shown


def draw_summary(subject: Subject, words: Words) -> None:
    """The numbers everybody asks for first, as chips."""
    sizes, first = subject.sizes, subject.sizes.first
    numbers = {
        "d": sizes.d_model,
        "h": sizes.n_heads,
        "h_kv": first.n_kv_heads,
        "d_head": first.d_head,
        words("sizes.layers"): sizes.n_layers,
    }
    chips = [
        f'<code class="chip plain">{low(name)} = {html.escape(known(value, words))}</code>'
        for name, value in numbers.items()
    ]
    st.subheader(literal(subject.name))
    st.html('<div class="chips">' + " ".join(chips) + "</div>")


def known(value: object, words: Words) -> str:
    """A number for the reader, or that it is not known."""
    if value is None:
        return words("sizes.unknown")
    return f"{value:,}" if isinstance(value, int) else str(value)


def rows_of(subject: Subject, words: Words) -> list[dict[str, str]]:
    """The table: a row a matrix, and the sums."""
    sizes = subject.sizes
    counts = sizes.matrix_parameters() if sizes.has_shapes else {}
    matrix, shape, bias, parameters = (
        words(f"sizes.column.{name}") for name in ("matrix", "shape", "bias", "parameters")
    )
    rows = [
        {
            matrix: figures.matrix_symbol(name, 0, 1),
            shape: " · ".join(str(list(each)) for each in chain) if chain else "—",
            bias: words(f"sizes.bias.{sizes.first.bias.get(name[-1])}"),
            parameters: known(counts.get(name), words) if chain else "—",
        }
        for name, chain in sizes.first.shapes.items()
    ]
    sums = vars(sizes.parameters)
    for name in ("attention_per_layer", "attention", "base", "total"):
        rows.append(
            {matrix: words(f"sizes.sum.{name}"), shape: "", bias: "",
             parameters: known(sums[name], words)}
        )  # fmt: skip
    return rows


def table_of(subject: Subject) -> dict[str, list[Any]]:
    """The table as numbers: None where something is not known or does not apply."""
    sizes = subject.sizes
    counts = sizes.matrix_parameters() if sizes.has_shapes else {}
    shapes, sums = sizes.first.shapes, vars(sizes.parameters)
    totals = ("attention_per_layer", "attention", "base", "total")
    return {
        "matrix": [*shapes, *totals],
        "shape": [*map(json.dumps, shapes.values()), *[None] * len(totals)],
        "bias": [*(sizes.first.bias.get(name[-1]) for name in shapes), *[None] * len(totals)],
        "parameters": [*map(counts.get, shapes), *map(sums.get, totals)],
    }


def draw_layer(subject: Subject, words: Words) -> None:
    """The first layer to scale, its parameters, and the table to take away."""
    sizes = subject.sizes
    if not sizes.has_shapes:
        st.info(words("sizes.no_shapes"))
        _draw_table(subject, words)
        return
    st.markdown(f"##### {words('sizes.layer')}")
    about = About(subject.name)
    show(figures.layer_to_scale(sizes, words), words, about=about)
    left, right = st.columns([2, 3])
    with left:
        show(figures.parameter_bars(sizes, words), words, about=about)
    with right:
        _draw_table(subject, words)
    if sizes.stages:
        _draw_stages(sizes.stages, words)


def _draw_table(subject: Subject, words: Words) -> None:
    """The table, and it as a file."""
    now = state.scene()
    draw_table("sizes", as_html(rows_of(subject, words)), table_of(subject), words, now)
    source = subject.sizes.parameters.source
    if source:
        st.caption(words("sizes.counted", source=words.error(source)))
    report = subject.whole.as_json(now.cost_tokens, now.float_type, now.batch)
    st.download_button(
        words("sizes.json"),
        json.dumps(report, ensure_ascii=False, indent=2),
        "sizes.json",
        "application/json",
        type="tertiary",
    )


def as_html(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows as a table; numbers to the right."""
    names = list(rows[0])
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row">{html.escape(row[names[0]])}</th>'
        + "".join(f'<td class="num">{html.escape(row[name])}</td>' for name in names[1:])
        + "</tr>"
        for row in rows
    )
    return f'<table class="dimensions"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _draw_stages(stages: Sequence[Mapping[str, object]], words: Words) -> None:
    """A staged model: heads grow as the stages get wider."""
    st.markdown(f"##### {words('sizes.stages')}")
    st.html(
        as_html(
            [
                {
                    words("sizes.stage"): str(place),
                    "d": str(stage["d_model"]),
                    "h": str(stage["n_heads"]),
                    words("sizes.layers"): str(stage["n_layers"]),
                }
                for place, stage in enumerate(stages)
            ]
        )
    )
    names = ("d_model", "n_heads", "n_layers")
    table = {name: [stage[name] for stage in stages] for name in names}
    draw_save("stages", {"stage": range(len(stages)), **table}, words, state.scene())


def draw_tokens(words: Words) -> None:
    """S for the costs."""
    st.select_slider(
        words("sizes.tokens"),
        sorted({*LADDER, state.scene().cost_tokens}),
        format_func=lambda n: f"{n:,}",
        **state.bind("cost_tokens"),
    )


def draw_costs(subject: Subject, words: Words) -> None:
    """FLOPs by step, and where the products with S² overtake the projections."""
    sizes, n_tokens = subject.sizes, state.scene().cost_tokens
    flops = sizes.flops(n_tokens)
    if flops is None:
        st.info(words("sizes.no_shapes"))
        return
    about = About(subject.name, words("picture.sizes", n=f"{n_tokens:,}"))
    left, right = st.columns([4, 5])
    with left:
        way = words(f"flops.{'causal' if sizes.causal else 'two_way'}.way")
        st.markdown(words("flops.title", n=f"{n_tokens:,}", way=way))
        show(figures.step_bars(flops, n_tokens, words), words, about=about)
        products = flops["scores"] + flops["values"]
        st.caption(
            words(
                "flops.sum",
                total=figures.decimal(sum(flops.values())),
                share=f"{products / sum(flops.values()):.0%}",
            )
        )
    with right:
        st.markdown(words("flops.curves"))
        show(figures.cost_curves(sizes, n_tokens, words), words, about=about)
        for name, causal in (("two_way", False), ("causal", True)):
            crossing = sizes.crossover(causal=causal)
            told = f"flops.crosses.{name}" if crossing is not None else f"flops.never.{name}"
            st.caption(words(told, n=f"{round(crossing or 0):,}"))


def draw_notes(subject: Subject, words: Words) -> None:
    """What was odd, assumed, or cannot be known."""
    dropped = subjects.dropped_notes(state.scene().config_text)
    notes = ([*dropped] if state.scene().model == "file" else []) + [*subject.notes]
    if notes:
        st.markdown(f"##### {words('sizes.notes')}")
        st.html(
            "<ul>"
            + "".join(f"<li>{html.escape(words.error(note))}</li>" for note in notes)
            + "</ul>"
        )


def draw_reading_on(subject: Subject, words: Words) -> None:
    """The last row: where people trip, a question, and more to read."""
    question = _ask(subject, words)
    columns = st.columns(1 if question is None else 2)
    with columns[0].container(border=True, height="stretch"):
        st.markdown(f"##### {words('card.trip')}")
        st.markdown(words.lesson("sizes", "trip"))
    if question is not None:
        with columns[1].container(border=True, height="stretch"):
            draw_question("sizes", question, words)
    title, more = (words.lesson("sizes", part) for part in ("title", "more"))
    draw_foot("sizes", words, state.scene(), About(subject.name), title=title, more=more)


def _ask(subject: Subject, words: Words) -> Question | None:
    """How the scores' FLOPs grow when S doubles; None where the file does not say."""
    n_tokens = state.scene().cost_tokens
    flops = [subject.sizes.flops(n) for n in (n_tokens, 2 * n_tokens)]
    if flops[0] is None or flops[1] is None or not flops[0]["scores"]:
        return None
    before, after = (found["scores"] for found in flops if found is not None)
    factor = after / before
    kinds = {"same": 1.0, "two": 2.0, "four": 4.0}
    answer = min(kinds, key=lambda kind: abs(kinds[kind] - factor))
    if abs(kinds[answer] - factor) > 0.3:  # between two answers: a window that S outgrows
        return None
    said = {
        "n": f"{n_tokens:,}", "twice": f"{2 * n_tokens:,}", "factor": f"{factor:.2f}",
        "before": figures.decimal(before), "after": figures.decimal(after),
    }  # fmt: skip
    return Question(
        words("question.sizes.ask", **said),
        {kind: words(f"question.sizes.{kind}") for kind in kinds},
        answer,
        words("question.sizes.why", **said),
    )


def draw_counted(words: Words) -> None:
    """How each number on the page is counted."""
    with st.expander(words("sizes.counted_card")):
        st.markdown(words.lesson("sizes", "counted"))
