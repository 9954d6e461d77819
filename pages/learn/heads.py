"""Q cut into h bands of d_head rows: a view, no new parameters; and the way that goes wrong."""

import streamlit as st

from mha_view.figures.layer import head_tiles, two_splits
from mha_view.figures.walk import feature_matrix
from mha_view.page import open_page
from mha_view.show import show
from mha_view.walk import derivations
from mha_view.walk.choose import largest_row
from mha_view.walk.split import added_parameters

page = open_page("heads")
words, trace, config = page.words, page.trace, page.config
page.draw_chips("d", "h", "d_head", "S", "q_full", "q", "k", "v")
first = largest_row(trace["q"].article_value[page.head], page.focus)
head, feature, token = page.picked_in("q", trace["q"].article_shape, first)

left, right = st.columns([2, 3])
with left.container(border=True):
    st.markdown(f"##### {words('heads.whole')}")
    whole = feature_matrix(trace["q_full"], page.labels, words, bands=config.n_heads)
    page.show(whole, rows_per_head=config.d_head)
with right.container(border=True):
    st.markdown(f"##### {words('heads.cut', n=config.n_heads)}")
    page.show(head_tiles(trace, "q", page.labels, words), (head, feature, token))
    derivations.draw_split(page, head, feature, token)
st.caption(page.text("picture"))

st.subheader(words("heads.wrong"))
both, difference = two_splits(trace, page.head, words)
show(both, words)
st.caption(words("heads.wrong.caption", difference=f"{difference:.2f}", n=config.n_heads))

page.draw_closing(
    page.options(
        "none", "some", "square", some=config.n_heads * config.d_head, square=config.d_model**2
    ),
    "some" if added_parameters(trace) else "none",
)
