"""The record of one layer on one sentence: every step declared once, with its axes.

From the declaration a step is checked, listed, drawn and exported. Loads no torch.
"""
# ruff: noqa: RUF009  (the calls in the dataclasses declare fields; they are not shared defaults)

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from mha_core.after import After
from mha_core.arrays import Array as Array
from mha_core.brief import brief
from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, DataError, ShapeError
from mha_core.norms import Norm
from mha_core.table import Headings, Row, StepTable
from mha_core.values import check_index
from mha_core.weights import AttentionWeights, Floats

if TYPE_CHECKING:
    from mha_core.layer import AttentionSteps

KEPT_BYTES = 1 << 20


class Later:
    """An array worked out when somebody looks; kept if it is small, else worked out anew.

    Args:
        shape: what the array's shape will be.
        make: gives the array, the same numbers every time; public, so that what it keeps alive
            can be counted.
    """

    def __init__(self, shape: tuple[int, ...], make: Callable[[], Array]) -> None:
        self.shape = shape
        self.ndim = len(shape)
        self.make = make
        self._kept: Array | None = None

    @property
    def most_kept(self) -> int:
        """How many bytes it holds at most, now or later, numbers of up to 8 bytes assumed."""
        n_bytes = 8 * math.prod(self.shape) if self._kept is None else self._kept.nbytes
        return min(n_bytes, KEPT_BYTES)

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process, or into a deep copy, as the array itself."""
        return np.asarray, (self.read(),)

    def read(self) -> Array:
        """Give the array."""
        if self._kept is not None:
            return self._kept
        value = _frozen(self.make())
        if value.nbytes <= KEPT_BYTES:
            self._kept = value
        return value


class _Value:
    """A step's numbers: stored as they come, read as an array."""

    def __get__(self, owner: Step | None, kind: type) -> Array:
        if owner is None:  # dataclass asks the class for a default: there is none
            raise AttributeError("value")
        source = owner.source
        return source.read() if isinstance(source, Later) else source

    def __set__(self, owner: Step, source: Array | Later) -> None:
        owner.__dict__["_source"] = source if isinstance(source, Later) else _frozen(source)


def _any(descriptor: object) -> Any:
    """Let a descriptor stand where its reading's type is declared."""
    return descriptor


@dataclass(frozen=True, eq=False)
class Step:
    """One step of the chain: a name, a symbol, axes and numbers.

    Args:
        name: the field's name in `AttentionTrace`.
        symbol: how the article writes it.
        axes: axis words in memory.
        article_axes: axis words in the article's order, [features, tokens]. A step with heads has
            one such matrix per head.
        value: the numbers, in memory's order; read-only. A `Later` is read when looked at. NumPy
            takes the step itself for them.

    >>> q = Step("q", "Q", ("head", "token", "d_head"), ("d_head", "token"), np.zeros((3, 5, 2)))
    >>> q
    Step(q: Q [head 3, token 5, d_head 2])
    >>> q.shape, q.article_shape, q.article_value.shape, np.asarray(q).shape
    ((3, 5, 2), (2, 5), (3, 2, 5), (3, 5, 2))
    """

    name: str
    symbol: str
    axes: tuple[str, ...]
    article_axes: tuple[str, ...]
    value: Array = _any(_Value())

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how to make it again, so that a copy's numbers are read-only too."""
        return Step, (self.name, self.symbol, self.axes, self.article_axes, self.source)

    @property
    def source(self) -> Array | Later:
        """What was given as value, not yet worked out."""
        source: Array | Later = self.__dict__["_source"]
        return source

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes in memory; works nothing out."""
        return self.source.shape

    @property
    def article_shape(self) -> tuple[int, ...]:
        """Lengths of the axes in the article's order, of one head where there are heads."""
        lengths = dict(zip(self.axes, self.shape, strict=True))
        return tuple(lengths[axis] for axis in self.article_axes)

    @property
    def article_value(self) -> Array:
        """The numbers in the article's order: features in rows, tokens in columns.

        Scores keep queries in rows. A head axis stays first: `article_value[head]` is the
        article's matrix.
        """
        order = [axis for axis in self.axes if axis not in self.article_axes]
        order += self.article_axes
        return self.value.transpose([self.axes.index(axis) for axis in order])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Give NumPy the numbers, so that `np.asarray(step)` and `np.abs(step)` work."""
        return np.array(self.value, dtype, copy=copy)

    def __repr__(self) -> str:
        named = (f"{axis} {length}" for axis, length in zip(self.axes, self.shape, strict=True))
        return f"Step({self.name}: {self.symbol} [{', '.join(named)}])"

    @property
    def article_words(self) -> str:
        """The article's shape as it is written: `3 × [2, 5]` for three heads."""
        times = f"{self.shape[0]} × " if "head" in self.axes[0] else ""
        return f"{times}{list(self.article_shape)}"

    @property
    def torch_words(self) -> str:
        """PyTorch's shape as it is written, the batch of one sentence first: `[1, 3, 5, 2]`."""
        return str([1, *self.shape])

    def symbol_of(self, head: int, group: int = 1) -> str:
        """The symbol with a head's number, where the step has heads.

        Args:
            head: a query head.
            group: how many query heads read one KV head.
        """
        if not self.symbol.endswith("_k"):
            return self.symbol
        return f"{self.symbol.removesuffix('_k')}_{self._place(head, group)}"

    def value_of(self, head: int, group: int = 1) -> Array:
        """One head's numbers, or all of them where the step has no heads; arguments as above."""
        return self.value[self._place(head, group)] if "head" in self.axes[0] else self.value

    def _place(self, head: int, group: int) -> int:
        """Where on the first axis a query head's numbers are."""
        return head // group if self.axes[0] == "kv_head" else head


class _StepField:
    """A trace's field: what the declaration says, and each trace's own array.

    A data descriptor, so that the dataclass fills it and reading it gives the array.
    """

    def __init__(self, symbol: str, axes: str, article: str) -> None:
        self.symbol = symbol
        self.axes = tuple(axes.split())
        self.article = tuple(article.split())

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, trace: AttentionTrace | None, owner: type) -> Array:
        if trace is None:  # dataclass asks the class for a default: there is none
            raise AttributeError(self.name)
        return self.step_of(trace).value

    def __set__(self, trace: AttentionTrace, source: Array | Later | None) -> None:
        if source is None:
            trace.__dict__[self.name] = None
            return
        if source.ndim != len(self.axes):
            raise ShapeError(
                "trace.rank", name=self.name, shape=source.shape, axes=" ".join(self.axes)
            )
        value: Any = source
        trace.__dict__[self.name] = Step(self.name, self.symbol, self.axes, self.article, value)

    def step_of(self, trace: AttentionTrace) -> Step:
        """Give one trace's step; refuses one that the record does not hold."""
        step: Step | None = trace.__dict__[self.name]
        if step is None:
            raise DataError("trace.absent", symbol=self.symbol, name=self.name)
        return step


def step(symbol: str, axes: str, *, article: str) -> Any:
    """Declare a step of the trace: its symbol, its axes in memory and in the article."""
    return _any(_StepField(symbol, axes, article))


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionTrace:
    """One sentence through one layer. Arrays are NumPy and read-only.

    `trace.pattern` is the array, `trace["pattern"]` the `Step`, and iterating gives all steps in
    order; printing it gives their table. `raw`, `scores` and `masked` may be worked out at each
    reading: keep what you read.

    A record may begin at `q_rot`, `k_rot` and `v`, where the layer makes them in a way that the
    article does not have (`walk_from_heads`): the steps named in `absent` are then None when it is
    made, iterating passes over them, and reading one is refused in words.

    Args:
        stream: the residual stream that enters the layer; every step after it is a field too.
        config: the layer's sizes and settings.
        weights: the layer's parameters as NumPy arrays.
        keep: bool [query, key], or [head, query, key], True where a query may look.
        norm: what was done between `stream` and `x`; None when they are equal.
        after: what was done with `out` to get `residual`; None when it is stream + out.
        positions: [token], the positions RoPE turned by; None for 0, 1, 2, ….
        bias: [query, key] or [head, query, key], what was added to the scores, or None.
        device: where the steps were computed.
        dtype: the float type they were computed in, as torch names it; that of x unless given.
            bfloat16, which NumPy lacks, is kept in float32 arrays.

    Raises:
        ShapeError: an array's rank is not that of its declaration, or one axis has two lengths.
        DataError: of a record that begins at the heads, reading a step before.
    """

    stream: Array = step("X_in", "token feature", article="feature token")
    x: Array = step("X", "token feature", article="feature token")
    q_full: Array = step("Q", "token q_feature", article="q_feature token")
    k_full: Array = step("K", "token k_feature", article="k_feature token")
    v_full: Array = step("V", "token v_feature", article="v_feature token")
    q: Array = step("Q_k", "head token d_head", article="d_head token")
    k: Array = step("K_k", "kv_head token d_head", article="d_head token")
    v: Array = step("V_k", "kv_head token d_value", article="d_value token")
    q_rot: Array = step("Q̃_k", "head token d_head", article="d_head token")
    k_rot: Array = step("K̃_k", "kv_head token d_head", article="d_head token")
    raw: Array = step("QᵀK", "head query key", article="query key")
    scores: Array = step("QᵀK/√d_head", "head query key", article="query key")
    masked: Array = step("QᵀK/√d_head + mask", "head query key", article="query key")
    pattern: Array = step("A_k", "head query key", article="query key")
    heads: Array = step("head_k", "head token d_value", article="d_value token")
    concat: Array = step("Concat", "token concat_feature", article="concat_feature token")
    out: Array = step("O", "token feature", article="feature token")
    residual: Array = step("X_in + O", "token feature", article="feature token")
    config: AttentionConfig
    weights: AttentionWeights[Floats]
    keep: Array
    norm: Norm | None = None
    after: After | None = None
    positions: Array | None = None
    bias: Array | None = None
    device: str = "cpu"
    dtype: str = None  # type: ignore[assignment]  # None is welcome; reading it gives a name

    def __post_init__(self) -> None:
        if self.dtype is None:
            object.__setattr__(self, "dtype", str(self.x.dtype))
        for name in ("keep", "positions", "bias"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _frozen(np.asarray(value)))
        lengths: dict[str, tuple[int, str]] = {}
        for each in self:
            for axis, length in zip(each.axes, each.shape, strict=True):
                axis = "token" if axis in ("query", "key") else axis
                known, where = lengths.setdefault(axis, (length, each.name))
                if known != length:
                    raise ShapeError(
                        "trace.axis",
                        axis=axis,
                        name=each.name,
                        length=length,
                        other=where,
                        known=known,
                    )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Give the names of the steps, in order."""
        return tuple(name for name, field in vars(cls).items() if isinstance(field, _StepField))

    @property
    def absent(self) -> tuple[str, ...]:
        """The steps that this record does not hold; none in a record that begins at the stream."""
        return tuple(name for name in self.names() if self.__dict__[name] is None)

    def check_whole(self) -> None:
        """Refuse a record that begins at the heads.

        Raises:
            DataError: as said.
        """
        for name in self.absent:
            self[name]

    def __iter__(self) -> Iterator[Step]:
        return (self[name] for name in self.names() if self.__dict__[name] is not None)

    def __getitem__(self, name: str) -> Step:
        """Give a step by its name.

        Raises:
            KeyError: there is no such step.
        """
        field = vars(type(self)).get(name)
        if not isinstance(field, _StepField):
            raise KeyError(name)
        return field.step_of(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how to make it again in another process, or as a copy: through the same checks."""
        given = {each.name: self.__dict__[each.name] for each in fields(self)}
        sources = {each.name: each.source for each in self}
        return _make_trace, (type(self), given | sources)

    @property
    def n_tokens(self) -> int:
        """The article's S."""
        return self["x"].shape[0]

    def table(
        self, head: int = 0, *, title: str | None = None, headings: Headings | None = None
    ) -> StepTable:
        """List the steps: symbol, name, shape in both orders, and the range of the numbers.

        Args:
            head: whose range is given where a step has heads; of K and V, the head that it reads.
            title: what stands above; the layer's sizes unless given.
            headings: what stands over the columns, in another language than English.

        Returns:
            What `print` shows as text and a notebook as HTML.

        Raises:
            ConfigError: there is no such head.

        >>> from mha_core import AttentionConfig, random_embedding, random_weights, walk_layer
        >>> config = AttentionConfig(d_model=6, n_heads=3)
        >>> trace = walk_layer(random_embedding(5, 6, 0), random_weights(config, 0), config)
        >>> print(trace.table(head=2))  # doctest: +ELLIPSIS
        S 5, d 6, h 3, h_kv 3, d_head 2, float32 on cpu
        symbol              name      [features, tokens]  PyTorch       range, head 2
        X_in                stream    [6, 5]              [1, 5, 6]     -2.675 … 3.037
        ...
        A_2                 pattern   3 × [5, 5]          [1, 3, 5, 5]  0 … 1
        ...
        """
        self.check_head(head)
        group = self.config.group
        rows = (
            Row(
                each.symbol_of(head, group),
                each.name,
                each.article_words,
                each.torch_words,
                _write_range(each.value_of(head, group)),
            )
            for each in self
        )
        return StepTable(title or self._sizes(), head, tuple(rows), headings or Headings())

    def check_head(self, head: int) -> None:
        """Refuse a head that the layer does not have.

        Raises:
            ConfigError: as said.
        """
        check_index("head", head, self.config.n_heads)

    def _sizes(self) -> str:
        """What layer it is, in one line."""
        c = self.config
        sizes = f"S {self.n_tokens}, d {c.d_model}, h {c.n_heads}, h_kv {c.n_kv_heads}"
        return f"{sizes}, d_head {c.d_head}, {self.x.dtype} on {self.device}"

    def __repr__(self) -> str:
        return f"AttentionTrace({self._sizes()})"

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        """What a notebook shows: the table of steps."""
        return self.table()._repr_html_()

    @classmethod
    def from_steps(
        cls,
        steps: AttentionSteps,
        *,
        stream: Array,
        weights: AttentionWeights[Floats],
        config: AttentionConfig,
        residual: Array | None = None,
        norm: Norm | None = None,
        after: After | None = None,
        positions: Array | None = None,
    ) -> AttentionTrace:
        """Make the record of one sentence out of what `attention` returned.

        Args:
            steps: without a batch axis, or with one of length 1; without a cache.
            stream: [token, feature], the residual stream that entered the layer.
            weights: NumPy arrays; the same numbers that `attention` was given.
            config: the same as `attention` was given.
            residual: [token, feature]; stream + out unless given.
            norm: what was done to `stream` to get `steps.x`.
            after: what was done to `steps.out` to get `residual`.
            positions: [token], what `attention` was given.

        Raises:
            ShapeError: more than one sentence, or arrays that do not fit.
            ConfigError: keys and values come from other tokens than the queries.
        """
        if steps.x_kv is not None:
            raise ConfigError("trace.cross")
        made = {
            name: getattr(steps, name)
            for name in cls.names()
            if name not in ("stream", "raw", "scores", "masked", "residual")
        }
        ready: dict[str, Any] = {
            name: None if tensor is None else as_sentence(tensor, len(vars(cls)[name].axes))
            for name, tensor in made.items()
        }
        shape = ready["pattern"].shape
        chain = steps.score_steps
        later: Any = {
            "raw": Later(shape, lambda: as_sentence(chain.make_raw(), 3)),
            "scores": Later(shape, lambda: as_sentence(chain.make_scores(), 3)),
            "masked": Later(shape, lambda: as_sentence(chain.make_masked(), 3)),
        }
        square = shape[-2:]
        keep = np.ones(square, dtype=bool) if steps.keep is None else _as_mask(steps.keep, square)
        return cls(
            stream=stream,
            residual=stream + ready["out"] if residual is None else residual,
            **ready,
            **later,
            config=config,
            weights=weights,
            keep=keep,
            norm=norm,
            after=after,
            positions=positions,
            bias=None if steps.bias is None else _as_mask(steps.bias, square),
            device=str(steps.x.device),
            dtype=str(steps.x.dtype).removeprefix("torch."),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelTrace:
    """One sentence through a model.

    Args:
        tokens: the pieces of text, one per position.
        layers: one trace per layer, from the first.
        logits: [token, vocabulary], the next piece's score after each token.
    """

    tokens: tuple[str, ...]
    layers: tuple[AttentionTrace, ...]
    logits: Array

    __repr__ = brief


def as_sentence(tensor: Any, rank: int) -> Array:
    """Give a tensor of one sentence as a NumPy array of this rank.

    Batch axes of length 1 go; bfloat16, which NumPy lacks, becomes float32.

    Raises:
        ShapeError: there is more than one sentence.
    """
    if any(length != 1 for length in tensor.shape[: tensor.ndim - rank]):
        raise ShapeError("trace.one", shape=tuple(tensor.shape))
    tensor = tensor.detach().cpu()
    value: Array = (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    return value.reshape(value.shape[value.ndim - rank :])


def _write_range(value: Array) -> str:
    """The smallest and the largest number, -∞ where a mask has put it.

    >>> _write_range(np.array([0.5, -np.inf])), _write_range(np.zeros((0, 3)))
    ('-∞ … 0.5', '—')
    """
    if not value.size:
        return "—"
    ends = (f"{float(end):.4g}".replace("inf", "∞") for end in (value.min(), value.max()))
    return " … ".join(ends)


def _as_mask(tensor: Any, square: tuple[int, ...]) -> Array:
    """Give a mask or bias of one sentence as [query, key] or [head, query, key]."""
    mask = as_sentence(tensor, min(3, tensor.ndim))
    if mask.ndim == 3 and len(mask) == 1:
        mask = mask[0]
    return np.broadcast_to(mask, (*mask.shape[:-2], *square))


def _make_trace(kind: type[AttentionTrace], values: dict[str, Any]) -> AttentionTrace:
    """Make a record again from its fields."""
    return kind(**values)


def _frozen(value: Array) -> Array:
    """Give a view that cannot be written to."""
    view = value.view()
    view.flags.writeable = False
    return view
