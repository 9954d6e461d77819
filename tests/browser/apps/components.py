"""A page with the components on it, for the browser tests."""

from __future__ import annotations

import numpy as np
import streamlit as st

from mha_view.about import About
from mha_view.components.links import links
from mha_view.components.plot import Cell, frame_position, plot
from mha_view.export import save_page
from mha_view.words import catalogue
from tests.browser.apps.patterns import HEADS, TOKENS, make_pattern

WORDS = {
    key.split(".", 1)[1]: text
    for key, text in catalogue("en").items()
    if key.startswith(("plot.", "links."))
}

st.set_page_config(layout="wide", page_icon="🔬")
seed = st.slider("Seed", 0, 20, 0)
n_tokens = int(st.query_params.get("tokens", 12))
tokens = [TOKENS[i % len(TOKENS)] for i in range(n_tokens)]
pattern = make_pattern(seed, n_tokens)

grid = {
    "data": [
        {
            "type": "heatmap",
            "z": pattern,
            "coloraxis": "coloraxis",
            "meta": {
                "figure": "pattern",
                "heads": list(range(HEADS)),
                "tile": {
                    "columns": 3,
                    "gap": 1,
                    "narrow": 2,
                    "titles": [f"<b>head {head}</b>" for head in range(HEADS)],
                },
            },
        }
    ],
    "layout": {
        "meta": {"rows": tokens, "columns": tokens},
        "coloraxis": {
            "cmin": 0,
            "cmax": 1,
            "colorscale": "Cividis",
            "colorbar": {"title": {"text": "weight"}},
        },
        "xaxis": {"title": {"text": "key: looked at"}},
        "yaxis": {"title": {"text": "query: looks from"}},
    },
}
left, right = st.columns(2)
with left:
    picked = plot(
        grid,
        key="grid",
        alt="Six heads, each a matrix of twelve by twelve.",
        words=WORDS,
        export={
            "name": "pattern",
            "arrays": {"pattern": pattern},
            "axes": {"pattern": ("head", "query", "key")},
            "labels": {"query": tokens, "key": tokens},
            "settings": {"text": "the cat saw the 12 <b> & dog 猫", "seed": seed},
        },
    )
st.write(f"picked: {picked}")
st.write(f"seed drawn: {seed}")

with right:
    single = {
        "data": [
            {
                "type": "heatmap",
                "z": pattern[2].astype(np.float64),
                "zmin": 0,
                "zmax": 1,
                "colorscale": "Cividis",
                "meta": {"figure": "single", "head": 2},
            }
        ],
        "layout": {
            "meta": {"rows": tokens, "columns": tokens},
            "yaxis": {"autorange": "reversed"},
        },
    }
    own = st.session_state.get("single_cell", Cell("single", 2, 3, 1))
    back = plot(
        single,
        key="single",
        alt="Head two.",
        words=WORDS,
        height=420,
        selected=own,
        export={"name": "single", "arrays": {}, "settings": {}},
    )
    st.session_state["single_cell"] = back
    st.write(f"single: {back}")

angle = np.linspace(0, 2 * np.pi, 65)
turns = {
    "data": [
        {"type": "scatter", "mode": "lines", "x": np.cos(angle), "y": np.sin(angle)},
        {"type": "scatter", "mode": "lines+markers", "x": np.array([0, 1.0]), "y": np.zeros(2)},
    ],
    "layout": {"yaxis": {"scaleanchor": "x"}, "showlegend": False},
    "frames": [
        {
            "name": f"{i}",
            "data": [{"x": np.array([0, np.cos(a)]), "y": np.array([0, np.sin(a)])}],
            "traces": [1],
        }
        for i, a in enumerate(angle)
    ],
}
plot(turns, key="turns", alt="A circle.", words=WORDS, height=300, frames_label="position")
st.write(f"frame: {frame_position('turns')}")

st.subheader("Links")
for layout in ("arcs", "columns"):
    links(
        tokens,
        pattern[:2],
        heads=[0, 1],
        colours=["#0072B2", "#D55E00"],
        key=f"links_{layout}",
        alt="What twelve tokens look at.",
        words=WORDS,
        layout=layout,
        export={
            "name": f"links_{layout}",
            "arrays": {"pattern": pattern[:2]},
            "axes": {"pattern": ("head", "query", "key")},
            "settings": {"seed": seed},
        },
    )

st.latex(r"A = \mathrm{softmax}(Q^\top K / \sqrt{16})")
save_page(
    name="lesson",
    title="A <b>lesson</b>",
    settings={"seed": seed},
    about=About("the cat saw the 12 <b>", "head 2"),
    words=WORDS,
    key="save_page",
)
