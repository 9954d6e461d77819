"""A hypothesis as it is stated: what it says, its marked sentences, whose heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from mha_core.errors import ConfigError, TwelveHeadsError
from mha_core.heads.claim import LEAST, Claim
from mha_core.heads.marking import Unit, list_units, mark_alike, put_marks, take_marks
from mha_core.heads.marks import MOST_SENTENCES, Cutter, Marked, Reading, read_marked
from mha_core.heads.ready_claims import READY
from mha_core.language.patterns import has_slots, list_slots
from mha_core.language.tokenizer import load_tokenizer
from mha_view import compute, heavy, limits, live, state
from mha_view.about import About
from mha_view.figures.claims import marked_sentence
from mha_view.heavy import once
from mha_view.panel import literal
from mha_view.real import SHELF, Open
from mha_view.scene import Scene, link_holds_marked, ready_name
from mha_view.show import show
from mha_view.store import STORE
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.heads.ready_claims import ReadyName
    from mha_core.model.edits import Head, OpenModel

MOST_FAULTS = 8  # told at a time
EXAMPLE_SEED = 3  # which sentence of a ready hypothesis is drawn on its card


@dataclass(frozen=True)
class Stated:
    """What the page is about.

    Attributes:
        words: the reader's words.
        scene: what the reader chose, its model one that is here.
        model: whose heads are looked at.
        cutter: what cuts sentences into its tokens.
        reading: what could be read of the sentences; None where the text as a whole is refused.
        refused: why it is.
    """

    words: Words
    scene: Scene
    model: OpenModel
    cutter: Cutter
    reading: Reading | None
    refused: TwelveHeadsError | None = None

    @property
    def every_head(self) -> tuple[Head, ...]:
        """All heads of the model."""
        return tuple(
            (layer, head)
            for layer in range(self.model.n_layers)
            for head in range(self.model.n_heads)
        )

    @property
    def heads(self) -> tuple[Head, ...]:
        """The heads looked at: the chosen ones that there are, or all."""
        return tuple(h for h in self.scene.among if h in self.every_head) or self.every_head

    @property
    def says(self) -> str:
        """The hypothesis in words; a ready one has its own."""
        name = ready_name(self.scene.marked)
        if self.scene.says or name is None:
            return self.scene.says
        return self.words(f"claim.ready.{name.partition('.')[0]}")

    @property
    def sentences(self) -> tuple[Marked, ...]:
        """Those that could be read."""
        return () if self.reading is None else self.reading.sentences

    @property
    def can_freeze(self) -> bool:
        """Whether there is enough, and nothing wrong."""
        return self.reading is not None and not self.reading.faults and len(self.sentences) >= LEAST

    @property
    def claim(self) -> Claim:
        """The hypothesis, stated.

        Raises:
            TwelveHeadsError: there is too little to state.
        """
        return Claim(self.says, self.sentences, self.heads, self.scene.claim_seed)

    def name(self, head: Head) -> str:
        """A head's name."""
        return self.words("board.short", layer=head[0], head=head[1])


def open_stated() -> Stated:
    """Read what the reader has written; another people's model is waited for in line. Where it is
    not open to what is asked here, the page says so and is about the shipped one."""
    scene = compute.resolve(state.scene())
    if scene.weights == "real":
        words, name = Words(scene.lang), scene.real
        heavy.bring(words, scene)
        found = SHELF.find_open(name)
        if found is None:
            key = ("open", name)
            found = heavy.wait_for(words, "open", key, once(SHELF.open, name), told="heavy.opening")
        if isinstance(found, TwelveHeadsError):
            st.warning(f"{literal(words.error(found))}  \n{words('claim.shipped')}")
    return open_stated_of(scene)


def open_stated_of(scene: Scene) -> Stated:
    """Read a scene's hypothesis, of the shipped model where the scene's is not open to it."""
    model: OpenModel = compute.model_of(scene)
    cutter: Cutter = load_tokenizer()
    if scene.weights == "real":
        found = SHELF.open(scene.real)
        if isinstance(found, Open):
            model, cutter = found.chain, found.cutter
        else:
            scene = scene.with_(weights="toy")
    words, most = Words(scene.lang), limits.value("MOST_TEXT")
    if len(scene.marked) > most:
        too_long = ConfigError("marks.text", n=len(scene.marked), most=most)
        return Stated(words, scene, model, cutter, None, too_long)
    try:
        name = scene.real if scene.weights == "real" else ""
        reading = _read(scene.marked, scene.claim_count, scene.claim_seed, name)
    except TwelveHeadsError as error:
        return Stated(words, scene, model, cutter, None, error)
    return Stated(words, scene, model, cutter, reading)


def _read(marked: str, count: int, seed: int, name: str) -> Reading:
    """The sentences of a text; the same text is read once for a model, ours where it has no
    name."""
    found = SHELF.open(name) if name else None
    cutter = found.cutter if isinstance(found, Open) else load_tokenizer()
    key = ("marked", ("real", name), marked, count, seed)
    return STORE.get(key, lambda: read_marked(marked, cutter, count=count, seed=seed))


def draw_whose(stated: Stated) -> None:
    """Whose heads these are, where that is not plain."""
    kept = live.find(stated.scene)
    if stated.scene.weights == "real":
        words, start = stated.words, literal(stated.cutter.bos.display)
        st.caption(words("claim.real", model=literal(stated.scene.real), start=start))
    elif kept is not None:
        st.caption(stated.words("claim.live", model=live.describe(kept.settings, stated.words)))
    elif not compute.is_trained(stated.scene):
        st.info(stated.words("claim.toy"))


# --- Nothing stated yet ------------------------------------------------------------------------


def draw_ready(stated: Stated) -> None:
    """The ready hypotheses, each as a picture of one of its sentences."""
    words = stated.words
    for column, name in zip(st.columns(len(READY)), READY, strict=True):
        with column.container(border=True, height="stretch", key=f"ready_{name}"):
            st.markdown(f"**{words(f'claim.ready.{name}')}**")
            text = READY[name][stated.scene.lang]
            example = _read(text, stated.scene.claim_count, EXAMPLE_SEED, "").sentences[0]
            _draw_sentence(example, words, f"claim_{name}")
            st.button(
                words("claim.try"), key=f"try_{name}", width="stretch",
                on_click=_take_ready, args=(name,),
            )  # fmt: skip
    st.caption(words.lesson("hypothesis", "picture"))


def _take_ready(name: ReadyName) -> None:
    """Begin with a ready hypothesis."""
    state.change(marked=READY[name][state.scene().lang], says="", among=(), frozen=False)


def _draw_sentence(one: Marked, words: Words, name: str) -> None:
    """One marked sentence as a picture; `<bos>` is left out."""
    targets = [place - 1 for place in one.targets]
    picture = marked_sentence(one.labels[1:], one.query - 1, targets, words, name)
    show(picture, words, about=About(one.text))


def about_claim(stated: Stated) -> About:
    """What the pictures of a test were made from: the hypothesis, and how much was read."""
    n, words = len(stated.sentences), stated.words
    told = words("claim.read", n=n, first=n // 2, second=n - n // 2)
    return About(stated.says or words("claim.unsaid"), told)


# --- Writing -----------------------------------------------------------------------------------


def draw_form(stated: Stated) -> None:
    """What it says, its sentences, whose heads; beside it how the first sentence reads."""
    words = stated.words
    left, right = st.columns([11, 10])
    with left:
        st.text_input(
            words("claim.says"), placeholder=words("claim.says.placeholder"),
            **state.bind("says", shown=stated.says),
        )  # fmt: skip
        clicking = st.segmented_control(
            words("claim.how"), [False, True], default=False, required=True,
            label_visibility="collapsed", key="claim_clicking",
            format_func=lambda clicks: words("claim.click" if clicks else "claim.write"),
        )  # fmt: skip
        if clicking and stated.scene.marked.strip():
            _draw_clicking(stated)
        else:
            _draw_text(stated)
    with right:
        _draw_count(stated)
        if stated.sentences:
            _draw_sentence(stated.sentences[0], words, "claim_first")
        _draw_settings(stated)
        st.button(
            words("claim.freeze"), key="claim_freeze", type="primary",
            help=words("claim.freeze.help"), on_click=_freeze, args=(stated,),
        )  # fmt: skip
        if st.session_state.pop("claim_refused", False):
            st.info(words("claim.not_yet", least=LEAST))
    _draw_faults(stated)


def _freeze(stated: Stated) -> None:
    """State the hypothesis as it stands, or say why that cannot be."""
    if stated.can_freeze:
        state.change(frozen=True)
    else:
        st.session_state["claim_refused"] = True


def _draw_text(stated: Stated) -> None:
    """The sentences as text, and a file of them."""
    words = stated.words
    st.text_area(
        words("claim.sentences"), height=240, placeholder=READY["antecedent"][words.lang],
        help=words("claim.sentences.help"), **state.bind("marked"),
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center", key="claim_files"):
        with st.popover(words("claim.slots")):
            _draw_slots(words)
        with st.popover(words("claim.file")):
            st.file_uploader(
                words("claim.file.label"), type=["txt"], key="claim_file",
                max_upload_size=limits.value("UPLOAD_MB"), on_change=_read_file,
            )  # fmt: skip
        if stated.scene.marked:
            st.download_button(
                words("claim.save"), stated.scene.marked.encode("utf-8", "replace"),
                "hypothesis.txt", "text/plain", key="claim_save", on_click="ignore",
            )  # fmt: skip
    if not link_holds_marked(stated.scene):
        st.caption(words("claim.long_link"))


def _read_file() -> None:
    """Take the sentences of a file; a file taken away leaves them."""
    given = st.session_state["claim_file"]
    if given is not None:
        state.change(marked=given.getvalue().decode("utf-8-sig", "replace"))


def _draw_slots(words: Words) -> None:
    """Which kinds of words a pattern can ask for."""
    st.markdown(words("claim.slots.about"))
    language = "chinese" if words.lang == "zh" else "english"
    st.markdown(
        "  \n".join(
            f"`<{name}>` " + words("list.next").join(literal(word) for word in each[:4]) + " …"
            for name, each in list_slots(language).items()
        )
    )


def _draw_clicking(stated: Stated) -> None:
    """The words of one line, to be clicked: who looks, and at whom."""
    words, tokenizer = stated.words, load_tokenizer()
    lines = stated.scene.marked.splitlines()
    filled = [place for place, line in enumerate(lines) if line.strip()]
    chosen = st.session_state.get("claim_line")
    st.session_state["claim_line"] = chosen if chosen in filled else filled[0]
    place = st.selectbox(
        words("claim.line"), filled, key="claim_line",
        format_func=lambda place: f"{place + 1} · {lines[place][:60]}",
    )  # fmt: skip
    bare = take_marks(lines[place], tokenizer)
    units = list_units(bare.text, tokenizer)
    names = _told_apart([literal(unit.text) for unit in units])
    choose: dict[str, Any] = {"format_func": names.__getitem__}
    at = [number for number, unit in enumerate(units) if unit in bare.query]
    st.session_state["claim_query"] = at[-1] if at else None
    st.pills(
        words("claim.query"), range(len(units)), key="claim_query", on_change=_keep_marks,
        args=(place, "query"), **choose,
    )  # fmt: skip
    st.session_state["claim_target"] = [n for n, unit in enumerate(units) if unit in bare.targets]
    st.pills(
        words("claim.target"), range(len(units)), selection_mode="multi", key="claim_target",
        on_change=_keep_marks, args=(place, "target"), **choose,
    )  # fmt: skip
    unmarked = sum(not any(take_marks(lines[n], tokenizer)[1:]) for n in filled)
    if unmarked and bare.query and bare.targets:
        st.button(
            words("claim.alike", n=unmarked), key="claim_alike", on_click=_mark_alike, args=(place,)
        )
    if has_slots(lines[place]):
        st.caption(words("claim.slot_line"))


def _told_apart(names: list[str]) -> list[str]:
    """The names, those said again with their number, as a choice goes by its name.

    >>> _told_apart(["the", "cat", "the"])
    ['the', 'cat', 'the (2)']
    """
    counts = [names[: place + 1].count(name) for place, name in enumerate(names)]
    return [
        name if count == 1 else f"{name} ({count})"
        for name, count in zip(names, counts, strict=True)
    ]


def _keep_marks(place: int, kind: str) -> None:
    """Write the clicked words' marks into their line; the word clicked last wins."""
    tokenizer = load_tokenizer()
    lines = state.scene().marked.splitlines()
    bare = take_marks(lines[place], tokenizer)
    units = list_units(bare.text, tokenizer)
    given = st.session_state[f"claim_{kind}"]
    numbers = ([] if given is None else [given]) if kind == "query" else given
    clicked = [units[number] for number in numbers]
    others = bare.targets if kind == "query" else bare.query
    kept = [unit for unit in others if unit not in clicked]
    query, targets = (clicked, kept) if kind == "query" else (kept[-1:], clicked)
    lines[place] = put_marks(bare.text, query, _joined(targets))
    state.change(marked="\n".join(lines))


def _joined(units: list[Unit]) -> list[Unit]:
    """Each once, in order."""
    return sorted(set(units), key=lambda unit: unit.start)


def _mark_alike(place: int) -> None:
    """Mark the other lines as one is marked."""
    state.change(marked=mark_alike(state.scene().marked, place, load_tokenizer()))


def _draw_settings(stated: Stated) -> None:
    """Whose heads, how many sentences a pattern gives, and what splits them."""
    words = stated.words
    with st.container(horizontal=True, vertical_alignment="bottom", key="claim_settings"):
        st.multiselect(
            words("claim.heads"), stated.every_head, format_func=stated.name,
            placeholder=words("claim.heads.all", n=len(stated.every_head)),
            **state.bind("among", shown=[h for h in stated.scene.among if h in stated.every_head])
            | {"on_change": _keep_heads, "args": ()},
        )  # fmt: skip
        with st.popover(words("claim.more")):
            st.number_input(
                words("claim.count"), LEAST, MOST_SENTENCES, **state.bind("claim_count")
            )
            st.number_input(
                words("claim.seed"), 0, 10_000, help=words("claim.seed.help"),
                **state.bind("claim_seed"),
            )  # fmt: skip


def _keep_heads() -> None:
    """Put the chosen heads into the scene."""
    state.change(among=tuple(sorted(st.session_state["among"])))


def _draw_count(stated: Stated) -> None:
    """How many sentences there are, and how they are shared out."""
    words, n = stated.words, len(stated.sentences)
    if stated.refused is not None:
        st.error(words.error(stated.refused))
    elif stated.reading is not None and stated.scene.marked.strip():
        told = words("claim.read", n=n, first=n // 2, second=n - n // 2)
        if stated.reading.repeated:
            told += " " + words("claim.repeated", n=stated.reading.repeated)
        if stated.reading.left_out:
            told += " " + words("claim.left_out", n=stated.reading.left_out)
        st.caption(told)
        if not stated.reading.faults and n < LEAST:
            st.info(words("claim.too_few", n=n, least=LEAST))


def _draw_faults(stated: Stated) -> None:
    """What is wrong, line by line."""
    if stated.reading is None or not stated.reading.faults:
        return
    words, faults = stated.words, stated.reading.faults
    st.warning("  \n".join(literal(words.error(fault)) for fault in faults[:MOST_FAULTS]))
    if len(faults) > MOST_FAULTS:
        st.caption(words("claim.more_faults", n=len(faults) - MOST_FAULTS))


# --- Frozen ------------------------------------------------------------------------------------


def draw_frozen(stated: Stated, claim: Claim) -> None:
    """What was stated, its digest, and the way back."""
    words, n = stated.words, len(claim.sentences)
    with st.container(horizontal=True, vertical_alignment="center", key="claim_frozen"):
        st.markdown(f"### ❄ {literal(claim.says or words('claim.unsaid'))}", width="stretch")
        st.button(words("claim.change"), key="claim_change", **state.setter(frozen=False))
    st.caption(
        words(
            "claim.frozen", digest=claim.digest[:8], n=n, first=n // 2, second=n - n // 2,
            heads=len(claim.heads), seed=claim.seed,
        )
    )  # fmt: skip
