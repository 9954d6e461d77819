"""The first page: the layer as one picture, the table of shapes, every head at a glance."""

import streamlit as st

from mha_view import controls
from mha_view.figures.walk import head_patterns
from mha_view.page import open_page
from mha_view.symbols import SYMBOLS
from mha_view.walk import derivations, overview
from mha_view.walk.choose import clearest_key
from mha_view.walk.stage import draw_stage

page = open_page("overview")
words, trace = page.words, page.trace
draw_stage(words, page.scene, trace, page.labels, page.head, page.focus)
page.draw_chips(*SYMBOLS)
st.markdown(page.text("what"))
controls.draw_examples(words)

left, right = st.columns([10, 11])
with left.container(border=True):
    st.markdown(f"##### {words('overview.heads')}")
    picked = page.scene.picked is not None and page.scene.picked.figure == "pattern"
    first = clearest_key(trace.pattern[page.head], page.focus)
    cell = page.picked_in("pattern", trace["pattern"].article_shape, first)
    drawn = head_patterns(trace, page.labels, words, scale=page.scene.scale, grouping=page.grouping)
    page.show(drawn, cell if picked else None)
    if picked:
        derivations.draw_weight(page, *cell)
    st.caption(words.lesson("attention", "picture"))
with right.container(border=True):
    st.markdown(f"##### {words('overview.table')}")
    overview.draw_dimensions(page)
    st.caption(page.text("picture"))
    controls.draw_article_button(words)
overview.draw_predictions(page)
st.caption(page.text("limits"))

square = trace.pattern[0].size
feature = trace["heads"].shape[-1] * trace.n_tokens
weights = page.config.d_model**2
page.draw_closing(
    page.options("square", "feature", "weights", square=square, feature=feature, weights=weights),
    "square",
    square=square,
)
