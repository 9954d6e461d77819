"""The main script: the frame of every page, run anew for each change. `app.py` names it."""

import streamlit as st

from mha_view import address, cite, controls, frame, heavy, real, state, theme
from mha_view.classroom import present
from mha_view.explore import live_run
from mha_view.link import link_of
from mha_view.menu import SECTIONS, draw_menu, list_pages
from mha_view.walk import stage
from mha_view.words import FOLDER, Words


def main() -> None:
    """Draw the page that the reader is on."""
    st.set_page_config(
        page_title="Twelve Heads · 十二个头",
        page_icon=str(FOLDER / "static" / "icon.svg"),
        layout="wide",
    )
    refused = state.open_scene()
    words = Words(state.scene().lang)
    heavy.take_place(words)
    pages = list_pages(words)
    page = st.navigation(list(pages.values()), position="hidden")
    stage.follow_wish()
    present.follow_wish()
    name = page.url_path or "overview"
    if name in SECTIONS["learn"]:
        heavy.begin_walk(state.scene())
    for sheet in ("style", "print", *(["print_dark"] if theme.is_dark() else [])):
        st.html(FOLDER / f"{sheet}.css")
    with st.sidebar:
        draw_menu(words, pages, link_of(state.scene()))
        controls.draw_reader(words)
        frame.draw_glossary(words)
        cite.draw_cite(words, state.scene(), page.url_path)
    for part in refused:
        st.warning(part.say(words))
    places = None
    if state.scene().present:
        places = present.draw_bar(words, name)
    else:
        controls.draw_controls(words)
    if state.scene().weights == "live":
        live_run.draw_notice(words, state.scene(), follow=page.url_path != "training")
    controls.draw_model_notice(words)
    address.write_address(state.note_written(), lang=words.lang, present=state.scene().present)
    body = st.container()
    frame.draw_neighbours(words, name)
    with body:
        page.run()
        if places is not None:
            present.draw_thread(words, places)
        if state.scene().present:
            present.draw_question(words, name)


# A process that is split off for heavy work reads the main script, too; it draws nothing.
if __name__ == "__main__":
    with real.looking_once():
        main()
