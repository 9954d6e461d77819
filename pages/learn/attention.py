"""Scores, mask, softmax: every head's attention matrix, and where each of its numbers is from."""

import streamlit as st

from mha_core.heads.measures import entropy
from mha_core.whatif import look_again
from mha_view import controls
from mha_view.figures import whatif
from mha_view.figures.walk import chain, head_patterns
from mha_view.page import open_page
from mha_view.panel import literal
from mha_view.show import show, show_links
from mha_view.walk import derivations
from mha_view.walk.choose import clearest_key
from mha_view.walk.pick import pick_cell

page = open_page("attention")
words, trace, labels = page.words, page.trace, page.labels
page.draw_chips("q_rot", "k_rot", "scores", "pattern", "heads")
first = (page.focus, clearest_key(trace.pattern[page.head], page.focus))
head, query, key = page.picked_in("pattern", trace.pattern.shape[1:], first)

left, right = st.columns([11, 10])
with left.container(border=True):
    cell = (head, query, key)
    show(head_patterns(trace, labels, words, scale=page.scene.scale), words, cell)
    controls.draw_scale(words)
    st.caption(page.text("picture"))
with right.container(border=True):
    pick_cell(page, "pattern", cell, labels, labels)
    derivations.draw_weight(page, head, query, key)

with st.container(border=True):
    st.markdown(f"##### {words('attention.links', head=head)}")
    show_links(words, trace, labels, head, query)

st.subheader(words("attention.chain", head=head))
show(chain(trace, head, labels, words), words)
st.caption(words("attention.chain.caption"))

st.subheader(words("attention.divisor"))
d_model = page.config.d_model
variants = {
    words("attention.by_head", d=page.config.d_head): trace.pattern[head],
    words("attention.by_model", d=d_model): look_again(trace, head, scale=d_model**-0.5),
    words("attention.by_none"): look_again(trace, head, scale=1.0),
}
show(whatif.divisors(variants, trace.keep, labels, words), words)
st.caption(words("attention.divisor.caption"))

st.subheader(words("attention.masks"))
show(whatif.masks(page.scene, trace, head, labels, words), words)
st.caption(words("attention.masks.caption"))

before, after = (float(entropy(pattern[query])) for pattern in list(variants.values())[:2])
page.draw_closing(
    page.options("up", "down", "same"),
    "same" if abs(after - before) < 5e-4 else "up" if after > before else "down",
    root_d=f"{d_model**0.5:.2f}",
    entropy=f"{before:.3f}",
    entropy_d=f"{after:.3f}",
    token=literal(labels[query]),
)
