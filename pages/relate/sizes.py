"""Any model's config.json: shapes, parameters, FLOPs, KV cache, what fits, RoPE's wavelengths."""

import streamlit as st

from mha_view import state
from mha_view.classroom import share
from mha_view.page_python import draw_python
from mha_view.relate import kept, sizes
from mha_view.relate.subject import open_subject
from mha_view.words import Words

words = Words(state.scene().lang)
with st.container(horizontal=True, vertical_alignment="bottom", key="title_row"):
    st.title(words.lesson("sizes", "title"))
    share.draw_button(words, "sizes")
st.markdown(words.lesson("sizes", "says"))

with st.container(border=True):
    sizes.draw_source(words)
    subject = open_subject(words)
    sizes.draw_part(subject, words)

with st.container(border=True):
    sizes.draw_summary(subject, words)
    part = sizes.draw_parts(words)
    if part != "layer":
        sizes.draw_tokens(words)
    if part == "layer":
        sizes.draw_layer(subject, words)
        st.caption(words.lesson("sizes", "picture"))
    elif part == "flops":
        st.markdown(f"##### {words('flops.heading')}")
        sizes.draw_costs(subject, words)
        st.caption(words.lesson("sizes", "picture_flops"))
    elif part == "cache":
        st.markdown(f"##### {words('cache.heading')}")
        compared = kept.draw_compared(subject, words)
        kept.draw_cache(compared, words)
        st.caption(words.lesson("sizes", "picture_cache"))
        st.markdown(f"##### {words('fits.heading')}")
        kept.draw_fits(compared, words)
    else:
        st.markdown(f"##### {words('waves.heading')}")
        kept.draw_waves(subject, words)
    sizes.draw_notes(subject, words)

sizes.draw_reading_on(subject, words)
sizes.draw_counted(words)
draw_python("sizes", words, state.scene())
