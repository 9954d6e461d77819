"""The pages' pictures in a notebook: `draw(trace, "pattern")`.

The same functions make the figures of the pages and of a notebook, so a notebook shows what the
app shows. What comes back is a `plotly.graph_objects.Figure`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from mha_core.derivation import head_contributions, head_shares
from mha_core.errors import ConfigError, DataError, TwelveHeadsError
from mha_core.rope import Rope
from mha_core.table import Headings, StepTable
from mha_core.trace import AttentionTrace
from mha_core.whatif import as_one_head, look_again
from mha_view.figures import explore, output, rope, walk, whatif
from mha_view.figures import layer as steps
from mha_view.figures.standalone import standalone
from mha_view.scene import ColourScale, Lang, Scene
from mha_view.show import Picture
from mha_view.words import LANGS, Words

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from mha_core.model.vit import VitTrace
    from mha_core.trace import ModelTrace

    Traced = AttentionTrace | ModelTrace | VitTrace

__all__ = ["PICTURES", "draw", "table"]


@dataclass(frozen=True)
class _Asked:
    """What is to be drawn: one layer's trace, and what a picture may ask for besides."""

    trace: AttentionTrace
    layers: tuple[AttentionTrace, ...]
    labels: tuple[str, ...]
    words: Words
    head: int
    token: int
    scale: ColourScale


def draw(
    trace: Traced,
    picture: str = "pattern",
    *,
    layer: int = 0,
    head: int = 0,
    token: int = -1,
    labels: Sequence[str] | None = None,
    lang: Lang = "en",
    scale: ColourScale = "linear",
) -> go.Figure:
    """Draw one of the walk's pictures.

    Args:
        trace: a layer's, or a model's.
        picture: a step's name ("x", "q", "pattern", "out", …), or one of the other `PICTURES`.
        layer: which layer of a model's trace.
        head: for the pictures of one head: chain, divisors, masks, split, circles.
        token: for the pictures of one token: circles, shares, contributions; −1 is the last.
        labels: a label a token; a model's trace brings its tokens, a layer's has only places.
        lang: "en" or "zh", the language of the words in the picture.
        scale: how weights from 0 to 1 become colours: "linear", "sqrt" or "log".

    Returns:
        The figure; its numbers are the trace's.

    Raises:
        ConfigError: there is no such picture, layer, head, token, language or scale.
        DataError: the labels are not one a token.

    >>> from mha_core import load_toy_model
    >>> figure = draw(load_toy_model().trace("The cat sat"), "pattern", layer=1)
    >>> type(figure).__name__, len(figure.layout.annotations)
    ('Figure', 6)
    """
    with _in_the_readers_language(lang):
        asked = _read(trace, layer, head, token, labels, lang, scale)
        _check("picture", picture, PICTURES)
        return standalone(_DRAW[picture](asked), asked.words)


def table(trace: Traced, head: int = 0, *, layer: int = 0, lang: Lang = "en") -> StepTable:
    """List a layer's steps, as `print(trace)` does, in the reader's language.

    Args:
        trace: a layer's, or a model's.
        head: whose range is given where a step has heads.
        layer: which layer of a model's trace.
        lang: "en" or "zh".

    Raises:
        ConfigError: there is no such layer, head or language.

    >>> from mha_core import load_toy_model
    >>> print(table(load_toy_model().trace("The cat sat"), lang="zh"))  # doctest: +ELLIPSIS
    4 个词元，d = 96，6 个头，6 个 KV 头，d_head = 16
    符号...
    """
    with _in_the_readers_language(lang):
        chosen, _, _ = _layers(trace, layer)
        words, c = Words(lang), chosen.config
        title = words("table.title", n_tokens=chosen.n_tokens, d_model=c.d_model,
                      n_heads=c.n_heads, n_kv_heads=c.n_kv_heads, d_head=c.d_head)  # fmt: skip
        names = {name: words(f"table.{name}") for name in Headings._fields}
        return chosen.table(head, title=title, headings=Headings(**names))


@contextmanager
def _in_the_readers_language(lang: Lang) -> Iterator[None]:
    """Check the language, and add it to what an error says in English."""
    _check("lang", lang, LANGS)
    try:
        yield
    except TwelveHeadsError as error:
        if lang != "en":
            error.add_note(Words(lang).error(error))
        raise


def _check(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse a value that is not one of a few."""
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ConfigError("setting.choice", name=name, value=value, choices=listed)


def _layers(
    trace: Traced, layer: int
) -> tuple[AttentionTrace, tuple[AttentionTrace, ...], tuple[str, ...]]:
    """The chosen layer, all layers, and the tokens where they are known."""
    if isinstance(trace, AttentionTrace):
        _check("layer", layer, (0,))
        return trace, (trace,), tuple(map(str, range(trace.n_tokens)))
    _check("layer", layer, range(len(trace.layers)))
    return trace.layers[layer], trace.layers, trace.tokens


def _read(
    trace: Traced,
    layer: int,
    head: int,
    token: int,
    labels: Sequence[str] | None,
    lang: Lang,
    scale: ColourScale,
) -> _Asked:
    """Check everything a picture may ask for, whichever it is."""
    chosen, layers, tokens = _layers(trace, layer)
    given = tokens if labels is None else tuple(labels)
    if len(given) != chosen.n_tokens:
        raise DataError("notebook.labels", given=len(given), n_tokens=chosen.n_tokens)
    _check("head", head, range(chosen.config.n_heads))
    _check("token", token, range(-chosen.n_tokens, chosen.n_tokens))
    _check("scale", scale, ("linear", "sqrt", "log"))
    return _Asked(chosen, layers, given, Words(lang), head, token % chosen.n_tokens, scale)


def _matrix(name: str, heads: str | None = None) -> Callable[[_Asked], Picture]:
    """A [features, tokens] step; `heads` names the size that says how many bands it has."""
    return lambda a: walk.feature_matrix(
        a.trace[name], a.labels, a.words, bands=getattr(a.trace.config, heads) if heads else 0
    )


def _heads(name: str) -> Callable[[_Asked], Picture]:
    """A step with heads, features by tokens."""
    return lambda a: steps.head_tiles(a.trace, name, a.labels, a.words)


def _scores(name: str) -> Callable[[_Asked], Picture]:
    """A step with heads, queries by keys."""
    return lambda a: steps.score_tiles(a.trace, name, a.labels, a.words)


def _divisors(a: _Asked) -> Picture:
    """One head's pattern under √d_head, √d, and none."""
    c, keep = a.trace.config, a.trace.keep
    keep = keep if keep.ndim == 2 else keep[a.head]
    variants = {
        a.words("attention.by_head", d=c.d_head): a.trace.pattern[a.head],
        a.words("attention.by_model", d=c.d_model): look_again(
            a.trace, a.head, keep=keep, scale=c.d_model**-0.5
        ),
        a.words("attention.by_none"): look_again(a.trace, a.head, keep=keep, scale=1.0),
    }
    return whatif.divisors(variants, keep, a.labels, a.words)


def _circles(a: _Asked, role: str) -> Picture:
    """One token's query or key, its pairs turned by position."""
    vectors = a.trace.q[a.head] if role == "query" else a.trace.k[a.head // a.trace.config.group]
    return rope.circles(
        vectors[a.token], a.trace.config.rope or Rope(), role=role, position=a.token,
        n_positions=max(len(a.labels), 16), words=a.words, token=a.labels[a.token],
    )  # fmt: skip


def _gallery(a: _Asked) -> Picture:
    """Every head of every layer."""
    import numpy as np

    n_heads, words = a.trace.config.n_heads, a.words
    places = range(len(a.layers) * n_heads)
    titles = [words("board.short", layer=n // n_heads, head=n % n_heads) for n in places]
    return explore.gallery(
        "gallery", np.concatenate([each.pattern for each in a.layers]), a.trace.keep, titles,
        a.labels, words, colours=explore.head_colours(places, n_heads), scale=a.scale,
        across=n_heads if n_heads <= 6 else None,
        alt=words("alt.gallery", n=len(places), first=titles[0], last=titles[-1]),
    )  # fmt: skip


_DRAW: dict[str, Callable[[_Asked], Picture]] = {
    **{name: _matrix(name) for name in ("stream", "x", "out", "residual")},
    **{name: _matrix(name, "n_heads") for name in ("q_full", "concat")},
    **{name: _matrix(name, "n_kv_heads") for name in ("k_full", "v_full")},
    **{name: _heads(name) for name in ("q", "k", "v", "q_rot", "k_rot", "heads")},
    **{name: _scores(name) for name in ("raw", "scores", "masked")},
    "pattern": lambda a: walk.head_patterns(a.trace, a.labels, a.words, scale=a.scale),
    "chain": lambda a: walk.chain(a.trace, a.head, a.labels, a.words),
    "divisors": _divisors,
    "masks": lambda a: whatif.masks(Scene(), a.trace, a.head, a.labels, a.words),
    "split": lambda a: steps.two_splits(a.trace, a.head, a.words)[0],
    "circles_query": lambda a: _circles(a, "query"),
    "circles_key": lambda a: _circles(a, "key"),
    "wavelengths": lambda a: rope.wavelengths(
        a.trace.config.rope or Rope(), a.trace.config.d_head, len(a.labels), a.words
    ),
    "matrices": lambda a: steps.projections(a.trace, a.words),
    "w_o": lambda a: output.w_o_matrix(cast(Any, a.trace.weights.w_o), a.trace.config, a.words),
    "shares": lambda a: output.share_bars(head_shares(a.trace), a.token, a.labels, a.words),
    "contributions": lambda a: output.contributions_at(
        head_contributions(a.trace), a.trace.out, a.token, a.words
    ),
    "one": lambda a: walk.head_patterns(
        as_one_head(a.trace), a.labels, a.words, titles=[a.words("why.one.title")], name="one"
    ),
    "gallery": _gallery,
}
PICTURES = tuple(_DRAW)
