"""What every page of the walk has: the trace, the headline, the shapes, the closing cards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

import streamlit as st

from mha_core.config import AttentionConfig
from mha_core.errors import TwelveHeadsError
from mha_view import compute, controls, heavy, real, real_walk, state, thread, warmup
from mha_view.about import about_sentence
from mha_view.classroom import share
from mha_view.closing import Question, draw_foot, draw_question
from mha_view.formulas import FORMULAS, formula
from mha_view.grouping import Grouping, group_tokens
from mha_view.panel import literal
from mha_view.scene import TOKEN_AXIS, Scene
from mha_view.show import Picture, show
from mha_view.symbols import symbols
from mha_view.unlearned import offer_learned, tell_unlearned
from mha_view.walk import exercises, stage
from mha_view.words import Words

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from mha_core.trace import AttentionTrace


# Pages that show no step before queries and keys are turned.
WITHOUT_PROJECTIONS = ("concat", "output")
AnyPage = TypeVar("AnyPage", bound="Page")

# On which pages a head or a token is chosen by chips; on a page not named, a head. On the first
# page both are chosen in the picture.
HEAD_AND_FOCUS = (
    "projection", "heads", "rope", "attention", "concat", "output", "why_heads", "class",
)  # fmt: skip
THREAD = dict.fromkeys(HEAD_AND_FOCUS, ("head", "focus")) | {
    "overview": (), "tokens": ("focus",), "continue": (), "circuits": (),
}  # fmt: skip
# Where attention is on the screen: pieces of words can be taken as one there. Where tokens are
# columns of numbers, they stay apart; the first page has both.
WEIGHED = ("overview", "rope", "attention", "why_heads", "compare", "training")
COLUMNS = ("overview", "projection", "heads", "concat", "output")
# What the check calls each step of the trace: the key of its words.
STEP_WORDS = {
    "stream": "check.step.stream", "x": "dimension.input",
    "q_full": "dimension.projection", "k_full": "dimension.projection",
    "v_full": "dimension.projection",
    "q": "dimension.heads", "k": "dimension.heads", "v": "dimension.heads",
    "q_rot": "dimension.rope", "k_rot": "dimension.rope",
    "raw": "check.step.raw", "scores": "dimension.scores", "masked": "check.step.masked",
    "pattern": "check.step.pattern", "heads": "dimension.attention",
    "concat": "dimension.concat", "out": "dimension.output", "residual": "dimension.residual",
}  # fmt: skip
MOST_UNKNOWN = 8  # named of the tokens that a model's vocabulary lacks


@dataclass(frozen=True)
class Page:
    """A page of the walk, as its file uses it."""

    # What of another people's model must be there before the page is drawn.
    needs: ClassVar[Literal["layer", "patterns", "model"]] = "layer"

    name: str
    words: Words
    scene: Scene
    config: AttentionConfig
    reading: compute.Reading

    @cached_property
    def walk(self) -> compute.Walk:
        """The sentence through every layer."""
        with st.spinner(self.words("working")):
            return heavy.walk_of(self.words, self.scene)

    @cached_property
    def trace(self) -> AttentionTrace:
        """The sentence through the scene's layer."""
        return compute.layer_of(self.scene, self.walk)

    @property
    def head(self) -> int:
        """The chosen head, the last one where the layer has fewer."""
        return thread.head_of(self.scene)

    @property
    def focus(self) -> int:
        """The place of the focus token among the sentence's tokens."""
        return thread.focus_of(self.scene)

    @property
    def fragments(self) -> frozenset[int]:
        """The places of tokens that are only a part of a word or of a character."""
        return compute.fragments_of(self.scene)

    @cached_property
    def grouping(self) -> Grouping:
        """Which tokens a picture of attention takes as one."""
        return group_tokens(
            self.reading.tokens, self.scene.text, whole_words=self.scene.whole_words
        )

    @property
    def kv_head(self) -> int:
        """The KV head that the chosen head reads."""
        return self.head // self.config.group

    @property
    def labels(self) -> tuple[str, ...]:
        """What is printed for each token."""
        return self.reading.labels

    def sizes(self) -> dict[str, object]:
        """The placeholders every lesson may use."""
        return {
            "d_model": self.config.d_model,
            "n_heads": self.config.n_heads,
            "n_kv_heads": self.config.n_kv_heads,
            "d_head": self.config.d_head,
            "d_value": self.config.d_value,
            "rows": self.config.n_heads * self.config.d_head,
            "n_tokens": len(self.reading),
            "head": self.head,
            "last_head": self.config.n_heads - 1,
            "root": f"{self.config.d_head**0.5:.2f}",
        }

    def text(self, part: str, **values: object) -> str:
        """A part of this page's lesson; of another people's model, and of a layer that has no norm
        before its attention, in its own words where there are any."""
        if self.scene.weights == "real" and self.words.has_lesson(self.name, f"{part}_real"):
            part = f"{part}_real"
        unnormed = f"{part}_unnormed"
        if self.words.has_lesson(self.name, unnormed) and self.trace.norm is None:
            part = unnormed
        return self.words.lesson(self.name, part, **{**self.sizes(), **values})

    def draw_headline(self) -> DeltaGenerator | None:
        """Title, what happens, and the formula with the reader's sizes where the page has one.

        Returns:
            The place for the map beside what happens, where the page has one.
        """
        with st.container(horizontal=True, vertical_alignment="bottom", key="title_row"):
            st.title(self.text("title"))
            self.check.empty()  # its place is here
            share.draw_button(self.words, self.name)
        left, right = st.container(), None
        if self.name in stage.LIT:
            left, right = st.columns([9, 10])
        left.markdown(self.text("says"))
        if self.name in FORMULAS:
            st.latex(formula(self.name, self.config, len(self.reading), self.head, self.scene.rope))
        return right

    def draw_thread(self) -> None:
        """The chips of the one head and the one token, where the page has something about them."""
        kinds = THREAD.get(self.name, ("head",))
        if not kinds or self.scene.present:  # presented, both are in the bar
            return
        with st.container(horizontal=True, key="thread_row"):
            for kind in kinds:
                with st.container(key=f"thread_{kind}", width="content"):
                    if kind == "head":
                        controls.draw_heads(self.words, self.config.n_heads)
                    else:
                        controls.draw_focus(self.words, self.labels, self.focus)

    @property
    def can_merge(self) -> bool:
        """Whether words fell into pieces, and the page has something that takes those as one."""
        pages = (*WEIGHED, *COLUMNS) if self.scene.whole_words else WEIGHED
        return bool(self.fragments) and self.name in pages

    def draw_merging(self) -> None:
        """Whether attention takes the pieces of a word as one."""
        if self.can_merge:
            controls.draw_merging(self.words)

    def tell_merging(self) -> None:
        """The rule by which pieces were taken as one."""
        if self.can_merge and self.scene.whole_words:
            kind = "columns" if self.name in COLUMNS else "weights"
            st.caption(self.words(f"merged.{kind}"))

    def draw_chips(self, *names: str) -> None:
        """Every symbol of the page: its size or shape, and behind it one sentence.

        Args:
            names: of `symbols.SYMBOLS`.
        """
        st.html(symbols(names, self.trace, self.scene, self.head, self.words))

    @cached_property
    def check(self) -> DeltaGenerator:
        """Where the check is drawn once the page's pictures are."""
        return st.container(key="check", width="content")

    def draw_closing(self, options: Mapping[str, str], answer: str, /, **values: object) -> None:
        """The last row: the line of code, where people trip, a question marked by the core.

        Args:
            options: what can be answered, id to text.
            answer: the right id, computed.
            values: what the question and its explanation name.
        """
        with st.container(key="cards"):
            code, trip, ask = st.columns([6, 4, 4])
        with code.container(border=True, height="stretch"):
            st.markdown(f"##### {self.words('card.code')}")
            st.code(self.text("torch"), language="python", wrap_lines=True)
            st.latex(self.text("article"))
            self.draw_lines()
        with trip.container(border=True, height="stretch"):
            st.markdown(f"##### {self.words('card.trip')}")
            st.markdown(self.text("trip"))
        with ask.container(border=True, height="stretch"):
            question = Question(
                self.text("ask", **values), options, answer, self.text("why", **values)
            )
            draw_question(self.name, question, self.words)
        exercises.draw_exercises(self.words, self.name)
        self.draw_foot()
        with self.check:
            draw_check(self)

    def draw_lines(self) -> None:
        """The page's numbers as lines of Python, folded away."""
        from mha_view.walk.lines import write_walk  # which needs torch

        with st.expander(self.words("card.python")):
            st.caption(self.words("python.caption"))
            st.code(write_walk(self), language="python")

    def draw_foot(self) -> None:
        """More to read, and the page as a file."""
        about = about_sentence(self.scene, self.words)
        draw_foot(self.name, self.words, self.scene, about,
                  title=self.text("title"), more=self.text("more"))  # fmt: skip

    def show(
        self,
        picture: Picture,
        explained: tuple[int, int, int] | None = None,
        *,
        rows_per_head: int = 0,
        is_kv: bool = False,
    ) -> None:
        """Draw a picture with the focus token marked; its cells choose token and head of all pages.

        Args:
            picture: what to draw.
            explained: head, row and column of the cell that is explained beside it.
            rows_per_head: how many rows each head has, where they are stacked: others recede.
            is_kv: whether those are rows of KV heads.
        """
        group = self.config.group if is_kv else 1
        show(
            picture,
            self.words,
            explained,
            focus=self.focus,
            band=self.band(rows_per_head, is_kv=is_kv) if rows_per_head else None,
            head_at=(lambda row: self._head_reading(row // rows_per_head, group))
            if rows_per_head
            else None,
        )

    def band(self, rows_per_head: int, *, is_kv: bool = False) -> tuple[int, int]:
        """The first row of the chosen head, or of the KV head it reads, and the row after its last,
        where the rows of all heads are stacked."""
        head = self.kv_head if is_kv else self.head
        return head * rows_per_head, (head + 1) * rows_per_head

    def _head_reading(self, kv_head: int, group: int) -> int:
        """The chosen head if it reads a KV head, else the first that does."""
        return self.head if self.head // group == kv_head else kv_head * group

    def picked_in(self, figure: str, shape: tuple[int, ...], default: int) -> tuple[int, int, int]:
        """Head, row and column of the cell that is explained: of the chosen head, of the focus
        token, and where one is picked in this figure, its other place.

        Args:
            figure: the picture's name.
            shape: (rows, columns) of its matrices.
            default: the row, or in a pattern the column, explained before anything is picked.
        """
        picked, axis = self.scene.picked, TOKEN_AXIS[figure]
        other = default
        if picked is not None and picked.figure == figure:
            place, most = (picked.column, shape[1]) if axis == "row" else (picked.row, shape[0])
            other = place if place < most else default
        return (self.head, *((self.focus, other) if axis == "row" else (other, self.focus)))

    def options(self, *names: str, **values: object) -> dict[str, str]:
        """The lesson's answers by id."""
        return {name: self.text(f"option_{name}", **values) for name in names}


def open_page(name: str) -> Page:
    """Check the scene, draw the map, and give the page what it needs; stop with a message if
    the scene cannot be walked."""
    return open_page_as(Page, name)


def open_page_as(kind: type[AnyPage], name: str, now: Scene | None = None) -> AnyPage:
    """Open a page as a kind of page with more to it.

    Args:
        kind: which kind.
        name: the page's name.
        now: what the page is about; the reader's scene unless given.
    """
    now = compute.resolve(now or state.scene())
    words = Words(now.lang)
    is_real = now.weights == "real"
    walk = None
    # What tells of waiting has a place of its own: else all below it would move, and be made anew.
    with st.container():
        if now.text.strip():
            heavy.bring(words, now, patterns=kind.needs == "patterns")
        try:
            controls.check_text(words)
            config = compute.config_of(now)
        except TwelveHeadsError as error:
            st.error(words.error(error))
            st.stop()
        reading = compute.reading_of(now)
        if (kind.needs == "layer" or not is_real) and compute.is_heavy(now):
            walk = heavy.walk_of(words, now)  # before anything needs it
    if kind.needs == "layer" and is_real:
        config = compute.layer_of(now).config
    hidden = real_walk.hidden_of(now) if kind.needs == "layer" else None
    if hidden is not None and name not in WITHOUT_PROJECTIONS:
        st.title(words.lesson(name, "title"))
        layer = min(now.layer, compute.n_layers_of(now) - 1)
        part = words.error(hidden)
        st.info(words("real.hidden", name=literal(now.real), layer=layer, part=part))
        st.stop()
    page = kind(name, words, now, config, reading)
    if walk is not None:
        vars(page)["walk"] = walk
    map_place = page.draw_headline()
    warmup.tell_first_words()
    if map_place is not None and hidden is None:
        with map_place:
            stage.draw_map(name, words, now, page.trace, page.head, page.focus)
    if not compute.is_trained(now):
        st.html(f'<p class="standing">{words("random.chip")}</p>')
    if is_real:
        tell_model(page)
    page.draw_thread()
    tell_unlearned(words, now)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="unlearned"):
        page.draw_merging()
        offer_learned(words, now)
    page.tell_merging()
    for way in compute.outside_training(now):
        st.caption(f"⚠ {words(f'outside.{way}', most=compute.TRAINED_TOKENS)}")
    return page


def tell_model(page: Page) -> None:
    """Whose numbers these are, and what was done to them before."""
    card, words = real.card_of(page.scene), page.words
    if card is None:
        return
    name = literal(card.name)
    layer = min(page.scene.layer, compute.n_layers_of(page.scene) - 1)
    told = [
        words("real.layer", name=name, layer=layer)
        if page.needs == "layer"
        else words("real.whole", name=name)
    ]
    if card.quantised:
        told.append(words("real.rounded", how=literal(card.quantised)))
    if unknown := real_walk.unknown_of(page.scene):
        name, places = unknown
        said = dict.fromkeys(page.labels[place] for place in places)
        some = [literal(label) for label in list(said)[:MOST_UNKNOWN]]
        more = ["…"] if len(said) > MOST_UNKNOWN else []
        tokens = words("list.next").join(some + more)
        told.append(words("real.unknown", tokens=tokens, unknown=literal(name)))
    st.caption(("" if words.lang == "zh" else " ").join(told))


def draw_check(page: Page) -> None:
    """How far the layer is from the article's own form, computed twice, and from the fused one."""
    differences = heavy.differences_of(page.words, page.scene, page.walk)
    words = page.words
    worst = max(differences.relative, key=differences.relative.__getitem__)
    named = {
        name: words(
            "check.step.named", step=words(STEP_WORDS[name]), symbol=page.trace[name].symbol
        )
        for name in differences.absolute
    }
    proof = real_walk.proof_of(page.scene)
    figures = {} if proof is None else {"check.captured": f"{max(proof.values()):.1e}"}
    figures |= {
        "check.pattern": f"{differences.absolute['pattern']:.1e}",
        "check.worst": f"{differences.relative[worst]:.1e}",
        "check.fused": f"{differences.fused:.1e}",
    }
    passed = differences.absolute["pattern"] <= 1e-5 and differences.relative[worst] <= 1e-5
    mark = "✓" if passed else "✗"
    with st.popover(f"{mark} {' · '.join(figures.values())}", type="tertiary"):
        st.markdown(f"##### {words('card.check')}")
        st.markdown(words("check.passed" if passed else "check.failed"))
        st.markdown(
            "  \n".join(
                words(key, value=value, step=named[worst]) for key, value in figures.items()
            )
        )
        if proof is not None:
            st.markdown(words("check.real", name=literal(real.name_of(page.scene))))
        rows = [
            (words("check.step"), words("check.absolute"), words("check.relative")),
            ("---", "---:", "---:"),
            *(
                (name, f"{differences.absolute[step]:.1e}", f"{differences.relative[step]:.1e}")
                for step, name in named.items()
            ),
        ]
        st.markdown("\n".join(f"| {' | '.join(row)} |" for row in rows))
