"""W_o mixes the heads, and the result is added to the stream that came in."""

import numpy as np
import streamlit as st

from mha_core.derivation import head_contributions, head_shares
from mha_view.figures.output import contributions_at, share_bars, w_o_by_head, w_o_matrix
from mha_view.figures.walk import feature_matrix, features
from mha_view.page import open_page
from mha_view.panel import literal
from mha_view.show import show
from mha_view.walk import derivations, output, overview
from mha_view.walk.choose import largest_row
from mha_view.walk.pick import pick_cell

page = open_page("output")
words, trace, config = page.words, page.trace, page.config
page.draw_chips("d", "h", "concat", "w_o", "out", "stream", "residual")
out = trace["out"].article_value
_, feature, token = page.picked_in("out", out.shape, largest_row(out, page.focus))

left, right = st.columns([11, 10])
with left.container(border=True):
    written, added = st.tabs([words("output.out"), words("output.residual")])
    with written:
        page.show(feature_matrix(trace["out"], page.labels, words), (0, feature, token))
        st.caption(page.text("picture"))
    with added:
        reach = [trace.stream, trace.residual]
        page.show(feature_matrix(trace["residual"], page.labels, words, reach=reach))
        st.caption(words("output.residual.caption"))
        if trace.after is not None and trace.after.norm_sum is not None:
            st.caption(words("output.residual.normed"))
with right.container(border=True):
    pick_cell(page, "out", (0, feature, token), features(len(out)), page.labels)
    derivations.draw_output(page, feature, token)

st.subheader(words("output.shares", token=literal(page.labels[token])))
shares = head_shares(trace)
near, far = st.columns([3, 4])
with near.container(border=True):
    show(share_bars(shares, token, page.labels, words), words)
    st.caption(words("output.shares.caption", total=f"{shares[:, token].sum():.3f}"))
with far.container(border=True):
    st.markdown(f"##### {words('output.contributions')}")
    show(contributions_at(head_contributions(trace), trace.out, token, words), words)

one, two = st.columns(2) if overview.has_predictions(page) else (st, None)
with one.container(border=True):
    w_o = np.asarray(trace.weights.w_o)
    by_head, whole = st.tabs([words("output.w_o.heads"), words("output.w_o.numbers")])
    with by_head:
        show(w_o_by_head(w_o, config, words), words)
        st.caption(output.say_mixing(page, w_o))
    with whole:
        show(w_o_matrix(w_o, config, words), words)
if two is not None:
    with two:
        overview.draw_predictions(page)

answer = int(shares[:, token].argmax())
order = np.argsort(-shares[:, token])[:4]
page.draw_closing(
    {str(head): words("head.chip", head=head) for head in sorted(order.tolist())},
    str(answer),
    answer=answer,
    share=f"{100 * shares[answer, token]:.0f}",
    token=literal(page.labels[token]),
)
