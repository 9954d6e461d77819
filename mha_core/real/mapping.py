"""Which parts of a model make one attention layer, told by the numbers that passed through them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args

import torch
from torch import Tensor, nn

from mha_core.after import After
from mha_core.brief import brief
from mha_core.config import AttentionConfig
from mha_core.errors import DataError, Note
from mha_core.norms import Norm
from mha_core.real.norms import Fitted, fit, is_norm
from mha_core.real.seen import Event, Scene
from mha_core.rope import Pairing, Rope, rotate
from mha_core.weights import AttentionWeights, Floats

# Two ways to one number in float32.
SAME = 1e-4


@dataclass(frozen=True, eq=False)
class Mapped:
    """How one layer is made: its numbers, and where in a scene to find what it read and gave.

    Args:
        config: sizes and settings; the mask's are those of the text it is walked on.
        weights: NumPy arrays.
        norm: what makes x out of the stream.
        after: what follows the output; `beside` is that of the text.
        projection: the module that reads x first.
        norm_module: the norm before it, or None.
        output: the module that makes the output.
        reader: the norm that reads the residual; it stands for the reader where it is part of the
            sum (BERT).
        beside: the module whose output is added to the same sum, or None.
        hidden: what is not known of the way from x to queries, keys and values, so that the walk
            begins after them; None where all of it is known.
    """

    config: AttentionConfig
    weights: AttentionWeights[Floats]
    norm: Norm | None
    after: After
    projection: Any
    norm_module: Any
    output: Any
    reader: Any
    beside: Any
    hidden: Note | None = None

    __repr__ = brief

    def x_of(self, scene: Scene) -> Tensor:
        """[token, feature], what the projections read."""
        return _flat(_last(scene, self.projection, later=False).given)

    def stream_of(self, scene: Scene) -> Tensor:
        """[token, feature], the residual stream that enters."""
        if self.norm_module is None:
            return self.x_of(scene)
        return _flat(_last(scene, self.norm_module, later=False).given)

    def out_of(self, scene: Scene) -> Tensor:
        """[token, feature], the output."""
        return _flat(_first(scene, self.output).out)

    def beside_of(self, scene: Scene) -> Tensor | None:
        """[token, feature], what is added beside the output."""
        if self.beside is None:
            return None
        return _flat(next(each.out for each in scene.events if each.module is self.beside))

    def residual_of(self, scene: Scene) -> Tensor:
        """[token, feature], what is read next."""
        event = _first(scene, self.reader)
        return _flat(event.out if self.after.norm_sum is not None else event.given)


def map_layer(network: Any, name: str, scene: Scene) -> Mapped:
    """Find out how one layer is made.

    Args:
        network: the model.
        name: of the model, for messages.
        scene: the layer at work on tokens that tell positions apart.

    Raises:
        DataError: part of it is made in a way that is not known here; the text names the part.
    """
    finder = _Finder(network, name, scene)
    return finder.find()


class _Finder:
    """Goes from the call outwards: projections, norms of queries and keys, angles, norm, sum."""

    def __init__(self, network: Any, name: str, scene: Scene) -> None:
        self.network, self.name, self.scene, self.call = network, name, scene, scene.call
        self.before = [each for each in scene.events if not each.later]
        self.later = [each for each in scene.events if each.later]

    def unknown(self, part: str) -> DataError:
        """The refusal of a layer of which one part is not known."""
        return DataError(
            "real.unmapped",
            name=self.name, layer=self.call.number, kind=type(self.call.module).__name__,
            part=Note(f"real.part.{part}"),
        )  # fmt: skip

    def find(self) -> Mapped:
        """Put everything together."""
        output = self.find_output()
        hidden: Note | None = None
        try:
            linear, weights = self.find_projections(output)
            config, weights = self.find_settings(linear, weights, _flat(linear.given))
        except DataError as error:
            hidden = error.values["part"]  # type: ignore[assignment]
            linear, weights, config = self.from_heads(output)
        x = _flat(linear.given)
        norm_event, fitted, after, reader, beside = self.find_surroundings(x, _flat(output.out))
        return Mapped(
            config=config,
            weights=weights.convert(lambda value: value.contiguous()).to_numpy(),
            norm=None if fitted is None else fitted.as_norm(),
            after=after,
            projection=linear.module,
            norm_module=None if norm_event is None else norm_event.module,
            output=output.module,
            reader=reader.module,
            beside=None if beside is None else beside.module,
            hidden=hidden,
        )

    def from_heads(self, output: Event) -> tuple[Event, AttentionWeights[Any], AttentionConfig]:
        """What is left where the way from X to the heads is not known: what reads X, and W_o."""
        call, inside = self.call, set(self.call.module.modules())
        readers = [
            each for each in self.before if each.module in inside and _is_linear(each.module)
        ]
        first = [each for each in readers if _fits(each.given, _flat(output.out))]
        if not first:
            raise self.unknown("projections")
        # The module may have run for the layer before too: its last round counts.
        reader = next(each for each in reversed(first) if each.module is first[0].module)
        w_o, b_o = _matrix(output.module)
        weights: AttentionWeights[Any] = AttentionWeights(
            None, None, None, w_o, b_o=b_o, sinks=call.sinks
        )
        config = AttentionConfig(
            len(w_o), call.n_heads, call.n_kv_heads, call.q.shape[3], call.v.shape[3],
            scale=call.scale, softcap=call.softcap, causal=False,
        )  # fmt: skip
        return reader, weights, config

    def find_output(self) -> Event:
        """The matrix that reads the heads side by side."""
        for event in self.later:
            if _is_linear(event.module) and _same(_flat(event.given), self.scene.concat):
                return event
        raise self.unknown("output")

    def find_projections(self, output: Event) -> tuple[Event, AttentionWeights[Tensor]]:
        """The matrices that make queries, keys and values of one x."""
        call = self.call
        inside = set(call.module.modules())
        linears = [
            each for each in self.before if each.module in inside and _is_linear(each.module)
        ]
        h, hk = call.n_heads, call.n_kv_heads
        sizes = (h * call.q.shape[3], hk * call.k.shape[3], hk * call.v.shape[3])
        w_o, b_o = _matrix(output.module)
        for events in (linears[-3:], linears[-1:]):
            if not events or not all(_same(each.given, events[0].given) for each in events):
                continue
            stacked = [_matrix(each.module) for each in events]
            w = torch.cat([each[0] for each in stacked])
            b = _joined([each[1] for each in stacked], [len(each[0]) for each in stacked])
            made = torch.cat([_flat(each.out) for each in events], dim=-1)
            for rows in _arrangements(len(w), sizes, h, hk):
                if _same(_heads(made[:, rows[2]], hk), call.v[0]) and self.agree(
                    made, rows, events
                ):
                    w_q, w_k, w_v = (w[row] for row in rows)
                    b_q, b_k, b_v = (None if b is None else b[row] for row in rows)
                    found: AttentionWeights[Tensor] = AttentionWeights(
                        w_q, w_k, w_v, w_o, b_q, b_k, b_v, b_o, sinks=call.sinks
                    )
                    return events[0], found
        raise self.unknown("projections")

    def agree(self, made: Tensor, rows: tuple[Tensor, Tensor, Tensor], events: list[Event]) -> bool:
        """Whether the first token's queries and keys, which no angle turns, have the right sizes.

        Where neither is normed this tells queries from keys and heads from one another.
        """
        if self.normed(events[0]):
            return True
        for row, whole in zip(rows, (self.call.q, self.call.k), strict=False):
            ours, theirs = _heads(made[:, row], whole.shape[1])[:, 0], whole[0, :, 0]
            ours, theirs = ours.norm(dim=-1), theirs.norm(dim=-1)
            if not _same(ours * (theirs.sum() / ours.sum()), theirs):
                return False
        return True

    def normed(self, linear: Event) -> list[Event]:
        """The norms of queries and keys, in order: those that ran after the projection."""
        inside = set(self.call.module.modules()) - {self.call.module}
        since = self.before[self.before.index(linear) :]
        found = [each for each in since if each.module in inside and is_norm(each)]
        parts = {
            part for each in found for part in each.module.modules() if part is not each.module
        }
        return [each for each in found if each.module not in parts]

    def find_settings(
        self, linear: Event, weights: AttentionWeights[Tensor], x: Tensor
    ) -> tuple[AttentionConfig, AttentionWeights[Tensor]]:
        """Norms of queries and keys, angles and scale: what turns W x into what meets."""
        call = self.call
        config = AttentionConfig(
            x.shape[-1], call.n_heads, call.n_kv_heads, call.q.shape[3], call.v.shape[3],
            scale=call.scale, softcap=call.softcap, causal=False,
        )  # fmt: skip
        config, weights = self.with_norms(self.normed(linear), config, weights)
        from mha_core.layer import project

        plain = replace(config, rope=None)
        made = project(x, x, weights.to_torch(x.device, x.dtype), plain)
        best: tuple[float, Rope | None, float] | None = None
        for rope in self.ropes(call.q.shape[3]):
            q, k = (each if rope is None else rotate(each, rope) for each in (made.q, made.k))
            factor = float((q * call.q[0]).sum() / (q * q).sum().clamp(1e-30))
            apart = max(_distance(factor * q, call.q[0]), _distance(k, call.k[0]))
            if best is None or apart < best[0]:
                best = apart, rope, factor
        assert best is not None
        apart, rope, factor = best
        if apart > SAME:
            raise self.unknown("positions")
        scale = call.scale if abs(factor - 1) < SAME else call.scale * self.exact(factor)
        return replace(config, rope=rope, scale=scale), weights

    def exact(self, factor: float) -> float:
        """A factor as the module holds it, where it holds one so near."""
        for value in vars(self.call.module).values():
            if isinstance(value, float) and abs(value - factor) < SAME * abs(value):
                return value
        return factor

    def with_norms(
        self, events: list[Event], config: AttentionConfig, weights: AttentionWeights[Tensor]
    ) -> tuple[AttentionConfig, AttentionWeights[Tensor]]:
        """Take the norms of queries and keys into the settings."""
        if not events:
            return config, weights
        fitted = [fit(each) for each in events]
        if len(events) != 2 or fitted[0] is None or fitted[1] is None:
            raise self.unknown("qk_norm")
        q, k = fitted[0], fitted[1]
        width = events[0].given.shape[-1]
        if (q.kind, q.eps) != (k.kind, k.eps) or width not in (config.d_head, len(weights.w_q)):
            raise self.unknown("qk_norm")
        whole = width != config.d_head or (events[0].given.ndim == 3 and config.n_heads == 1)
        gains = [_gain(each, width) for each in (q, k)]
        place: Any = "whole" if whole else "each" if gains[0].ndim == 2 else "head"
        if place == "whole":
            gains[1] = _gain(k, len(weights.w_k))
        named: dict[str, Tensor] = {"q_norm": gains[0], "k_norm": gains[1]}
        if q.bias is not None and k.bias is not None:
            named |= {"q_norm_bias": q.bias, "k_norm_bias": k.bias}
        settings = replace(config, qk_norm=place, qk_norm_kind=q.kind, qk_norm_eps=q.eps)
        return settings, replace(weights, **named)

    def ropes(self, d_head: int) -> list[Rope | None]:
        """Every rotation that the model's own frequencies allow, none first."""
        found: list[Rope | None] = [None]
        for frequencies, factor in self.frequencies():
            width = 2 * len(frequencies)
            if width > d_head:
                continue
            found += [
                Rope(
                    base=self.base(),
                    dim=None if width == d_head else width,
                    pairing=pairing,
                    frequencies=tuple(frequencies.double().tolist()),
                    attention_factor=factor,
                    angle_dtype="float32",
                )
                for pairing in get_args(Pairing)
            ]
        return found

    def frequencies(self) -> list[tuple[Tensor, float]]:
        """Tables of frequencies with what multiplies their waves, as the model holds them."""
        found: list[tuple[Tensor, float]] = []
        for module in self.network.modules():
            for name, table in module.named_buffers(recurse=False):
                if name.endswith("inv_freq") and "original" not in name and table.ndim == 1:
                    factor = getattr(module, name.replace("inv_freq", "attention_scaling"), 1.0)
                    found.append((table.detach().float().cpu(), float(factor or 1.0)))
        width = getattr(self.call.module, "rotary_dim", None)
        if isinstance(width, int) and width > 0:  # GPT-J keeps the waves, not the frequencies
            found.append((1.0 / (10000 ** (torch.arange(0, width, 2) / width)), 1.0))
        return found

    def base(self) -> float:
        """θ as the configuration states it, for comparison; frequencies decide."""
        told: Any = getattr(self.network.config.get_text_config(), "rope_parameters", None) or {}
        kind = getattr(self.call.module, "layer_type", None)
        told = told.get(kind, told) if isinstance(told.get(kind, told), dict) else told
        base = told.get("rope_theta") if isinstance(told, dict) else None
        return float(base) if isinstance(base, (int, float)) and base > 0 else 10_000.0

    def find_surroundings(
        self, x: Tensor, out: Tensor
    ) -> tuple[Event | None, Fitted | None, After, Event, Event | None]:
        """The norm before x, and how the output comes back to the stream: tried on what is read.

        A norm that made x may be the one before attention, whose input is the stream, or the one
        that ended the layer before, whose output is.
        """
        if x.shape != out.shape:  # it reads more than the stream, or gives less (Zamba)
            raise self.unknown("residual")
        before = [each for each in self.before if is_norm(each) and _same(_flat(each.out), x)]
        streams: list[tuple[Event | None, Tensor]] = [(None, x)]
        streams = [(each, _flat(each.given)) for each in before[-1:]] + streams
        readers = [each for each in self.later if _fits(each.given, x)]
        for reader in sorted(readers, key=lambda each: not is_norm(each)):
            total = _flat(reader.given)
            for event, stream in streams:
                found = self.explain(total - stream, out, total)
                if found is None:
                    continue
                after, beside = found
                fitted = None if event is None else fit(event)
                if event is not None and (fitted is None or fitted.kind == "l2"):
                    continue
                if event is None and is_norm(reader) and self.ends_the_layer(reader, total):
                    closing = fit(reader)
                    if closing is None or closing.kind == "l2":
                        continue
                    after = replace(after, norm_sum=closing.as_norm())
                return event, fitted, after, reader, beside
        raise self.unknown("residual")

    def explain(
        self, added: Tensor, out: Tensor, total: Tensor
    ) -> tuple[After, Event | None] | None:
        """What made `added` of the output: nothing, a factor, a norm, or an MLP beside."""
        rounding = 8 * torch.finfo(torch.float32).eps * float(total.abs().max())
        if float(added.abs().max()) <= rounding:  # the stream itself, read beside attention
            return None

        def near(ours: Tensor) -> bool:
            size = float(ours.abs().max())
            return float((ours - added).abs().max()) <= SAME * size + rounding

        if near(out):
            return After(), None
        for event in self.later:
            if is_norm(event) and _fits(event.given, out) and _same(_flat(event.given), out):
                fitted = fit(event)
                if near(_flat(event.out)) and fitted is not None and fitted.kind != "l2":
                    return After(norm_out=fitted.as_norm()), None
        factor = float((added * out).sum() / (out * out).sum().clamp(1e-30))
        if near(out * factor):
            return After(factor=self.exact_in_block(factor)), None
        for event in self.scene.events:
            if _fits(event.out, out) and near(out + _flat(event.out)):
                return After(), event
        return None

    def exact_in_block(self, factor: float) -> float:
        """A factor as the model's configuration holds it, where it holds one so near."""
        values = vars(self.network.config.get_text_config()).values()
        near = [v for v in values if isinstance(v, float) and abs(v - factor) < SAME * abs(v)]
        return near[0] if near else factor

    def ends_the_layer(self, reader: Event, total: Tensor) -> bool:
        """Whether the norm that reads a sum gives the stream itself, not only what an MLP reads.

        Told by the next sum: it holds the norm's output, or what the norm was given.
        """
        normed = _flat(reader.out)
        place = self.later.index(reader)
        sums = [
            each for each in self.later[place + 1 :] if is_norm(each) and _fits(each.given, total)
        ]
        made = [_flat(each.out) for each in self.later[place + 1 :] if _fits(each.out, total)]
        for event in sums:
            following = _flat(event.given)
            for stream, ends in ((normed, True), (total, False)):
                if any(_same(following - stream, each) for each in made):
                    return ends
        return True


def _is_linear(module: Any) -> bool:
    """Whether a module is one matrix, perhaps with a bias."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def _matrix(module: Any) -> tuple[Tensor, Tensor | None]:
    """A matrix with outputs in rows, and its bias."""
    w = module.weight.detach()
    bias = getattr(module, "bias", None)
    return w if isinstance(module, nn.Linear) else w.T, None if bias is None else bias.detach()


def _joined(biases: list[Tensor | None], lengths: list[int]) -> Tensor | None:
    """Biases under one another; zeros for a matrix without one where another has one."""
    there = [each for each in biases if each is not None]
    if not there:
        return None
    parts = [
        there[0].new_zeros(length) if bias is None else bias
        for bias, length in zip(biases, lengths, strict=True)
    ]
    return torch.cat(parts)


def _arrangements(
    n_rows: int, sizes: tuple[int, int, int], n_heads: int, n_kv_heads: int
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Ways in which the rows of queries, keys and values may stand in one matrix.

    One after another, in any order, or for each KV head its queries, its key and its value
    (GPT-NeoX).
    """
    if sum(sizes) != n_rows:
        return []
    rows = torch.arange(n_rows)
    found = []
    for order in ((0, 1, 2), (1, 0, 2), (2, 0, 1), (0, 2, 1), (1, 2, 0), (2, 1, 0)):
        parts: list[Any] = [None, None, None]
        start = 0
        for part in order:
            parts[part] = rows[start : start + sizes[part]]
            start += sizes[part]
        found.append((parts[0], parts[1], parts[2]))
    widths = [size // n_kv_heads for size in sizes]
    by_head = torch.split(rows.view(n_kv_heads, -1), widths, dim=1)
    q, k, v = (part.reshape(-1) for part in by_head)
    return [*found, (q, k, v)]


def _heads(x: Tensor, n_heads: int) -> Tensor:
    """[token, feature] as [head, token, feature]."""
    return x.view(len(x), n_heads, -1).transpose(0, 1)


def _flat(x: Tensor) -> Tensor:
    """[1, token, feature] as [token, feature]."""
    return x[0] if x.ndim == 3 else x


def _gain(fitted: Fitted, width: int) -> Tensor:
    """A norm's gain; ones where it has none."""
    return torch.ones(width) if fitted.gain is None else fitted.gain


def _fits(x: Tensor, like: Tensor) -> bool:
    """Whether a tensor is one vector a token, as wide as the stream."""
    return x.ndim in (2, 3) and _flat(x).shape == like.shape


def _distance(ours: Tensor, theirs: Tensor) -> float:
    """The largest distance as a share of the largest number."""
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp(1e-30))


def _same(ours: Tensor, theirs: Tensor) -> bool:
    """Whether two tensors are one, but for rounding."""
    return ours.shape == theirs.shape and _distance(ours, theirs) <= SAME


def _last(scene: Scene, module: Any, *, later: bool) -> Event:
    """The last time a module ran before the call."""
    return [each for each in scene.events if each.module is module and each.later == later][-1]


def _first(scene: Scene, module: Any) -> Event:
    """The first time a module ran after the call."""
    return next(each for each in scene.events if each.module is module and each.later)
