"""What every page of the walk has: the trace, the headline, the shapes, the closing cards."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from mha_core.config import AttentionConfig
from mha_core.errors import TwelveHeadsError
from mha_core.palette import ROLE_OF
from mha_view import compute, controls, frame, heavy, state, thread, warmup
from mha_view.export import save_page
from mha_view.formulas import FORMULAS, formula
from mha_view.scene import Scene
from mha_view.show import settings_of
from mha_view.words import Words

if TYPE_CHECKING:
    from mha_core.trace import AttentionTrace, Step


AnyPage = TypeVar("AnyPage", bound="Page")

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


@dataclass(frozen=True)
class Page:
    """A page of the walk, as its file uses it."""

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
        """A part of this page's lesson."""
        return self.words.lesson(self.name, part, **{**self.sizes(), **values})

    def draw_headline(self) -> None:
        """Title, what happens, and the formula with the reader's sizes where the page has one."""
        st.title(self.text("title"))
        st.markdown(self.text("says"))
        if self.name in FORMULAS:
            st.latex(formula(self.name, self.config, len(self.reading), self.head, self.scene.rope))

    def draw_chips(self, *names: str) -> None:
        """The shape of each named tensor of the trace, of the chosen head where it has heads."""
        steps = (self.trace[name] for name in names)
        st.html(chips(steps, self.scene.axes, self.head, self.kv_head))

    def draw_closing(self, options: Mapping[str, str], answer: str, /, **values: object) -> None:
        """The last row: the check, where people trip, a question marked by the core.

        Args:
            options: what can be answered, id to text.
            answer: the right id, computed.
            values: what the question and its explanation name.
        """
        code, check, trip, ask = (
            *st.columns(2),
            *st.columns(2),
        )
        with code.container(border=True, height="stretch"):
            st.markdown(f"##### {self.words('card.code')}")
            st.code(self.text("torch"), language="python", wrap_lines=True)
            st.latex(self.text("article"))
        with check.container(border=True, height="stretch"):
            st.markdown(f"##### {self.words('card.check')}")
            draw_check(self)
        with trip.container(border=True, height="stretch"):
            st.markdown(f"##### {self.words('card.trip')}")
            st.markdown(self.text("trip"))
        with ask.container(border=True, height="stretch"):
            st.markdown(f"##### {self.words('card.ask')}")
            self._draw_question(options, answer, values)
        with st.expander(self.words("card.more")):
            st.markdown(self.text("more"))
        save_page(
            name=self.name,
            title=self.text("title"),
            settings=settings_of(self.scene),
            words=self.words.group("plot"),
            key="save_page",
        )

    def _draw_question(
        self, options: Mapping[str, str], answer: str, values: Mapping[str, object]
    ) -> None:
        """The question, and after an answer, whether it is right and why."""
        options = distinct(options, answer)
        given = st.radio(
            self.text("ask", **values),
            list(options),
            index=None,
            format_func=options.__getitem__,
            key=f"answer_{self.name}",
        )
        if given is None:
            return
        why = self.text("why", **values)
        if given == answer:
            st.success(self.words("ask.right") + "\n\n" + why)
        else:
            st.warning(self.words("ask.wrong", answer=options[answer]) + "\n\n" + why)

    def picked_in(
        self,
        figure: str,
        shape: tuple[int, ...],
        default: tuple[int, int] = (0, 0),
    ) -> tuple[int, int, int]:
        """Head, row and column picked in a figure; `default` where none is, or none that is there.

        Args:
            figure: the picture's name.
            shape: (rows, columns) of its matrices.
            default: row and column explained before anything is picked; the head is the chosen one.
        """
        picked = self.scene.picked
        if picked is None or picked.figure != figure:
            return self.head, *default
        inside = picked.head < self.config.n_heads and picked.row < shape[0]
        if not inside or picked.column >= shape[1]:
            return self.head, *default
        return picked.head, picked.row, picked.column

    def options(self, *names: str, **values: object) -> dict[str, str]:
        """The lesson's answers by id."""
        return {name: self.text(f"option_{name}", **values) for name in names}


def open_page(name: str) -> Page:
    """Check the scene, draw the strip, and give the page what it needs; stop with a message if
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
    controls.check_text(words)
    try:
        config = compute.config_of(now)
    except TwelveHeadsError as error:
        st.error(words.error(error))
        st.stop()
    reading = compute.reading_of(now)
    walk = heavy.walk_of(words, now) if compute.is_heavy(now) else None  # before anything needs it
    frame.draw_strip(words, name, config, len(reading))
    controls.draw_heads(words, config.n_heads)
    page = kind(name, words, now, config, reading)
    if walk is not None:
        vars(page)["walk"] = walk
    page.draw_headline()
    warmup.tell_first_words()
    for way in compute.outside_training(now):
        st.caption(f"⚠ {words(f'outside.{way}', most=compute.TRAINED_TOKENS)}")
    return page


def distinct(options: Mapping[str, str], answer: str) -> dict[str, str]:
    """The answers without those that read like another, so that one is right and no other says
    the same.

    >>> distinct({"words": "S = 3", "characters": "S = 9", "tokens": "S = 3"}, "tokens")
    {'characters': 'S = 9', 'tokens': 'S = 3'}
    """
    names = {options[name]: name for name in [*reversed(list(options)), answer]}
    return {name: text for name, text in options.items() if names[text] == name}


def chips(steps: Iterable[Step], axes: str, head: int, kv_head: int) -> str:
    """Shape chips as HTML: `Q_3 [16, 12]` in the article's order, or as PyTorch holds it.

    Args:
        steps: tensors of a trace.
        axes: "article" or "torch".
        head: which head's matrix is meant.
        kv_head: the KV head it reads.
    """
    made = []
    for step in steps:
        symbol = html.escape(step.symbol)
        if axes == "torch":
            shape = (1, *step.shape)
            symbol = symbol.removesuffix("_k")
        else:
            shape = step.article_shape
            number = {"head": head, "kv_head": kv_head}.get(step.axes[0])
            if number is not None and symbol.endswith("_k"):
                symbol = f"{symbol.removesuffix('_k')}<sub>{number}</sub>"
        role = ROLE_OF.get(step.name, "plain")
        made.append(
            f'<code class="chip {role}" data-step="{step.name}">{symbol} {list(shape)}</code>'
        )
    return '<div class="chips">' + " ".join(made) + "</div>"


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
    lines = [
        words("check.pattern", value=f"{differences.absolute['pattern']:.1e}"),
        words("check.worst", step=named[worst], value=f"{differences.relative[worst]:.1e}"),
        words("check.fused", value=f"{differences.fused:.1e}"),
    ]
    passed = differences.absolute["pattern"] <= 1e-5 and differences.relative[worst] <= 1e-5
    st.markdown("  \n".join(lines))
    st.markdown(words("check.passed" if passed else "check.failed"))
    with st.expander(words("check.each")):
        st.table(
            {
                words("check.step"): list(named.values()),
                words("check.absolute"): [f"{v:.1e}" for v in differences.absolute.values()],
                words("check.relative"): [f"{v:.1e}" for v in differences.relative.values()],
            }
        )
