"""Scores, mask, softmax: the chosen head's matrix, where its numbers are from, and all others."""

import streamlit as st

from mha_core.heads.measures import entropy
from mha_view import controls
from mha_view.figures import whatif
from mha_view.figures.walk import chain, head_patterns, one_pattern
from mha_view.page import open_page
from mha_view.panel import literal
from mha_view.show import show_links
from mha_view.walk import attention, derivations
from mha_view.walk.choose import clearest_key
from mha_view.walk.pick import pick_cell

page = open_page("attention")
words, trace, labels = page.words, page.trace, page.labels
page.draw_chips("S", "d_head", "q_rot", "k_rot", "v", "scores", "mask", "pattern", "heads")
first = clearest_key(trace.pattern[page.head], page.focus, page.fragments)
cell = head, query, key = page.picked_in("pattern", trace.pattern.shape[1:], first)

with st.container(border=True):
    st.markdown(f"##### {words('attention.links', head=head)}")
    show_links(words, trace, labels, head, query, page.grouping)

left, right = st.columns([11, 10])
with left.container(border=True):
    shown = {"scale": page.scene.scale, "grouping": page.grouping}
    page.show(one_pattern(trace, head, labels, words, **shown), cell)
    controls.draw_scale(words)
with right.container(border=True):
    pick_cell(page, "pattern", cell, labels, labels)
    derivations.draw_weight(page, head, query, key)

with st.container(border=True):
    st.markdown(f"##### {words('attention.all', n=page.config.n_heads)}")
    page.show(head_patterns(trace, labels, words, across=6, **shown), cell)
    st.caption(page.text("picture"))

divided = attention.divide(page)
on_the_way, divisor, masks = st.tabs(
    [words("attention.chain", head=head), words("attention.divisor"), words("attention.masks")]
)
with on_the_way:
    page.show(chain(trace, head, labels, words))
    st.caption(words("attention.chain.caption"))
with divisor:
    page.show(whatif.divisors(divided, trace.keep, labels, words, page.grouping))
    st.caption(words("attention.divisor.caption") + " " + attention.say_variance(page))
with masks:
    page.show(whatif.masks(page.scene, trace, head, labels, words, page.grouping))
    st.caption(words("attention.masks.caption"))

before, after = (float(entropy(pattern[query])) for pattern in list(divided.values())[:2])
page.draw_closing(
    page.options("up", "down", "same"),
    "same" if abs(after - before) < 5e-4 else "up" if after > before else "down",
    root_d=f"{page.config.d_model**0.5:.2f}",
    entropy=f"{before:.3f}",
    entropy_d=f"{after:.3f}",
    token=literal(labels[query]),
)
