"""Concat: the heads' outputs back under each other; S columns stay S columns."""

import streamlit as st

from mha_view.figures.layer import head_tiles
from mha_view.figures.walk import feature_matrix, features
from mha_view.page import open_page
from mha_view.walk import derivations
from mha_view.walk.choose import largest_row
from mha_view.walk.pick import pick_cell

page = open_page("concat")
words, trace, config = page.words, page.trace, page.config
page.draw_chips("h", "S", "heads", "concat")
stacked = trace["concat"].article_value

picked = page.scene.picked
in_heads = picked is not None and picked.figure == "heads"
largest = largest_row(stacked, page.focus, slice(*page.band(config.d_value)))
shape = trace["heads"].article_shape
head, feature, query = page.picked_in("heads", shape, largest % config.d_value)
_, place, token = page.picked_in("concat", stacked.shape, largest)

left, right = st.columns([11, 10])
with left.container(border=True):
    st.markdown(f"##### {words('concat.heads')}")
    heads = head_tiles(trace, "heads", page.labels, words)
    page.show(heads, (head, feature, query) if in_heads else None)
    st.markdown(f"##### {words('concat.stacked')}")
    matrix = feature_matrix(trace["concat"], page.labels, words, bands=config.n_heads)
    page.show(matrix, None if in_heads else (0, place, token), rows_per_head=config.d_value)
    st.caption(page.text("picture"))
with right.container(border=True):
    if in_heads:
        derivations.draw_head_output(page, head, feature, query)
    else:
        pick_cell(page, "concat", (0, place, token), features(len(stacked)), page.labels)
        derivations.draw_concat(page, place, token)
        head, feature = divmod(place, config.d_value)
        derivations.draw_head_output(page, head, feature, token)

row = min(len(stacked) - 1, page.head * config.d_value + config.d_value // 2)
answer = row // config.d_value
near = sorted({answer, (answer + 1) % config.n_heads, row % config.n_heads, 0})
page.draw_closing(
    {str(head): words("head.chip", head=head) for head in near},
    str(answer),
    row=row,
    answer=answer,
)
