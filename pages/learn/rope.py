"""RoPE: each pair of a head's features is turned by position; scores keep only the distance."""

import streamlit as st

from mha_core.rope import Rope, half_from_interleaved
from mha_view.figures.rope import circles, meeting, wavelengths
from mha_view.page import open_page
from mha_view.panel import literal
from mha_view.show import show
from mha_view.walk import derivations, rope
from mha_view.walk.choose import clearest_key

page = open_page("rope")
words, trace, config = page.words, page.trace, page.config
page.draw_chips("d_head", "S", "q", "k", "q_rot", "k_rot")
turned = config.rope or Rope()
if config.rope is None:
    st.info(words("rope.none" if page.scene.weights == "real" else "rope.is_off"))
labels, shift = page.labels, page.scene.shift
first = clearest_key(trace.pattern[page.head], page.focus)
head, token, key = page.picked_in("pattern", trace.pattern.shape[1:], first)
n_positions = max(len(labels), 16)

left, right = st.columns(2)
with left.container(border=True, height="stretch"):
    st.markdown(f"##### {words('rope.both', head=head)}")
    page.show(rope.with_and_without(page))
    st.caption(rope.say_both(page, token, key))
with right.container(border=True, height="stretch"):
    st.markdown(
        words("rope.meeting", query=literal(labels[token]), key=literal(labels[key]), head=head)
    )
    show(
        meeting(
            trace.q[head, token], trace.k[page.kv_head, key], turned, words=words,
            positions=(token + shift, key + shift), n_positions=n_positions,
            tokens=(labels[token], labels[key]),
        ),
        words,
    )  # fmt: skip
    st.caption(words("rope.meeting.caption"))

st.subheader(words("rope.turned", token=literal(labels[token])))
common = {"n_positions": n_positions, "words": words, "token": labels[token]}
for column, role, vector in zip(
    st.columns(2), ("query", "key"), (trace.q[head, token], trace.k[page.kv_head, token]),
    strict=True,
):  # fmt: skip
    with column.container(border=True):
        st.markdown(f"##### {words(f'rope.{role}', head=head)}")
        show(circles(vector, turned, role=role, position=token + shift, **common), words)
st.caption(words("rope.above"))
st.caption(page.text("picture"))

with st.expander(words("rotation.title", token=literal(labels[token]))):
    derivations.draw_rotation(page, "q", head, token)

near, far = st.columns(2)
with near.container(border=True):
    st.markdown(f"##### {words('rope.shift')}")
    rope.draw_shift(page)
with far.container(border=True):
    st.markdown(f"##### {words('rope.wavelengths')}")
    show(wavelengths(turned, config.d_head, len(labels), words), words)
    rope.say_scaling(page, turned)

with st.expander(words("rope.pairings")):
    order = half_from_interleaved(turned.width(config.d_head))
    st.markdown(words("rope.pairings.text", d=config.d_head))
    st.code(f"order = {order}")
    rope.draw_pairings(page)

answer, change = rope.judge_shift(trace, by=5)
page.draw_closing(page.options("same", "grow", "shrink"), answer, change=f"{change:.1e}")
