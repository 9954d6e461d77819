"""One head of d against h heads of d/h: same parameters, same order of work, other patterns."""

import streamlit as st

from mha_view import compute
from mha_view.figures.walk import head_patterns
from mha_view.page import open_page
from mha_view.walk import why_heads
from mha_view.walk.choose import clearest_key

page = open_page("why_heads")
words, trace, config = page.words, page.trace, page.config
page.draw_chips("d", "h", "d_head", "S", "pattern", "heads")
one = why_heads.as_one(page)
if one is None:
    why_heads.draw_many_alone(page)
    st.stop()
if compute.is_trained(page.scene):
    st.caption(f"⚠ {words('outside.one_head')}")

first = clearest_key(trace.pattern[page.head], page.focus)
cell = page.picked_in("pattern", trace.pattern.shape[1:], first)
left, right = st.columns([2, 3])
with left.container(border=True):
    st.markdown(f"##### {words('why.one', d=one.config.d_head)}")
    titles = [words("why.one.title")]
    shown = {"scale": page.scene.scale, "grouping": page.grouping}
    page.show(head_patterns(one, page.labels, words, titles=titles, name="one", **shown))
with right.container(border=True):
    st.markdown(f"##### {words('why.many', n=config.n_heads, d=config.d_head)}")
    page.show(head_patterns(trace, page.labels, words, **shown), cell)
st.caption(page.text("picture"))
why_heads.draw_row(page, cell)

st.subheader(words("why.sums"))
why_heads.draw_sums(page, one)
st.subheader(words("why.count"))
counts = why_heads.draw_counts(page, one)
page.draw_closing(
    page.options("same", "more", "fewer"),
    "same" if counts[0] == counts[1] else "more" if counts[1] > counts[0] else "fewer",
)
