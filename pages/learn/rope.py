"""RoPE: each pair of a head's features is turned by position; scores keep only the distance."""

import streamlit as st

from mha_core.rope import Rope, half_from_interleaved
from mha_view.figures.rope import circles, wavelengths
from mha_view.page import open_page
from mha_view.panel import literal
from mha_view.show import show
from mha_view.walk import derivations, rope

page = open_page("rope")
words, trace, config = page.words, page.trace, page.config
page.draw_chips("q", "q_rot", "k_rot")
turned = config.rope or Rope()
if config.rope is None:
    st.info(words("rope.is_off"))

token = rope.choose_token(page)
common = {"n_positions": max(len(page.labels), 16), "words": words, "token": page.labels[token]}
left, right = st.columns(2)
for column, role, vector in (
    (left, "query", trace.q[page.head, token]),
    (right, "key", trace.k[page.kv_head, token]),
):
    with column.container(border=True):
        st.markdown(f"##### {words(f'rope.{role}', head=page.head)}")
        show(circles(vector, turned, role=role, position=token + page.scene.shift, **common), words)
st.caption(words("rope.above"))
st.caption(page.text("picture"))

with st.expander(words("rotation.title", token=literal(page.labels[token]))):
    derivations.draw_rotation(page, "q", page.head, token)

near, far = st.columns(2)
with near.container(border=True):
    st.markdown(f"##### {words('rope.shift')}")
    rope.draw_shift(page)
with far.container(border=True):
    st.markdown(f"##### {words('rope.wavelengths')}")
    show(wavelengths(turned, config.d_head, len(page.labels), words), words)

with st.expander(words("rope.pairings")):
    order = half_from_interleaved(turned.width(config.d_head))
    st.markdown(words("rope.pairings.text", d=config.d_head))
    st.code(f"order = {order}")
    rope.draw_pairings(page)

answer, change = rope.judge_shift(trace, by=5)
page.draw_closing(page.options("same", "grow", "shrink"), answer, change=f"{change:.1e}")
