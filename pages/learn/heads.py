"""Q cut into h bands of d_head rows: a view, no new parameters; and the way that goes wrong."""

import numpy as np
import streamlit as st

from mha_core.whatif import as_one_head, split_wrongly
from mha_view.figures.walk import feature_matrix, features, tensor_tiles
from mha_view.page import open_page
from mha_view.show import show
from mha_view.theme import head_colour
from mha_view.walk import derivations
from mha_view.walk.choose import largest_cell

page = open_page("heads")
words, trace, config = page.words, page.trace, page.config
page.draw_chips("q_full", "q", "k", "v")
colours = [head_colour(head) for head in range(config.n_heads)]
titles = [words("head.chip", head=head) for head in range(config.n_heads)]
frame = {
    "rows": features(config.d_head),
    "columns": page.labels,
    "row_title": words("axis.feature_of_head"),
    "column_title": words("axis.token"),
}
first = largest_cell(trace["q"].article_value[page.head])
head, feature, token = page.picked_in("q", trace["q"].article_shape, first)

left, right = st.columns([2, 3])
with left.container(border=True):
    st.markdown(f"##### {words('heads.whole')}")
    show(feature_matrix(trace["q_full"], page.labels, words, bands=config.n_heads), words)
with right.container(border=True):
    st.markdown(f"##### {words('heads.cut', n=config.n_heads)}")
    split = list(trace["q"].article_value)
    tiles = tensor_tiles("q", split, titles, words, symbol="Q", colours=colours, **frame)
    show(tiles, words, (head, feature, token))
    derivations.draw_split(page, head, feature, token)
st.caption(page.text("picture"))

st.subheader(words("heads.wrong"))
wrong = split_wrongly(np.asarray(trace.q_full), config.n_heads)[page.head].T
right_one = trace["q"].article_value[page.head]
pair = [words("heads.right_way", head=page.head), words("heads.wrong_way", head=page.head)]
# The columns of the wrong one are no tokens, so both are numbered.
numbered = {"columns": features(len(page.labels)), "column_title": words("axis.column")}
show(
    tensor_tiles(
        "split", [right_one, wrong], pair, words,
        symbol="Q", across=2, pickable=False, **{**frame, **numbered},
    ),
    words,
)  # fmt: skip
difference = float(np.abs(right_one - wrong).max())
st.caption(words("heads.wrong.caption", difference=f"{difference:.2f}", n=config.n_heads))

added = np.size(trace.weights.w_q) - np.size(as_one_head(trace).weights.w_q)
page.draw_closing(
    page.options(
        "none", "some", "square", some=config.n_heads * config.d_head, square=config.d_model**2
    ),
    "none" if added == 0 else "some",
)
