"""A real model as the small protocol that every tool for circuits stands on.

For models that are a chain: every layer reads one stream through a norm, and what its heads and
its MLP give is added to that stream. Each layer's own numbers have been proved before
(`real_layers`); what is changed is changed inside the model itself, and all else it computes anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mha_core.brief import brief
from mha_core.errors import DataError
from mha_core.layer import project
from mha_core.model.edits import ATTENTION_PARTS, EMBEDDING, Edits, Head
from mha_core.model.edits import fit as spread
from mha_core.real.capture import Call, watching
from mha_core.real.layer import real_layers
from mha_core.real.load import RealModel
from mha_core.real.mapping import Mapped
from mha_core.real.norms import Fitted, fit, is_norm
from mha_core.real.seen import Event
from mha_core.weights import AttentionWeights


@dataclass(frozen=True, eq=False)
class ChainRun:
    """What a chain computed; see `model.edits.Run`."""

    streams: tuple[Tensor, ...]
    heads: tuple[Tensor, ...]
    patterns: tuple[Tensor, ...]
    mlps: tuple[Tensor | None, ...]
    logits: Tensor

    __repr__ = brief


class Chain:
    """A real model, open to changes of heads, looks and single paths; see `model.edits.OpenModel`.

    Args:
        model: see `load_model`. Its layers are walked once, and proved, on a few tokens.

    Raises:
        DataError: the model says nothing of the next token, a layer is not proved, or its layers
            are no chain.
    """

    def __init__(self, model: RealModel) -> None:
        if not model.speaks or len(set(model.n_heads)) != 1:
            raise DataError("real.chain", name=model.name)
        layers = real_layers(model, model.encode("a b c", special=False))
        self.model = model
        self.maps: list[Mapped] = [model.maps[number] for number in range(model.n_layers)]
        plain = all(
            layer.trace.after is None and layer.hidden is None and each.norm_module is not None
            for layer, each in zip(layers, self.maps, strict=True)
        )
        modules = {id(each.output) for each in self.maps}
        if not plain or len(modules) != model.n_layers:
            raise DataError("real.chain", name=model.name)
        self.weights = [each.weights.to_torch(self._device, self._dtype) for each in self.maps]
        self.unembedding: Any = self._network.get_output_embeddings()
        self.last_norm, self.last = self._find_last_norm()

    @property
    def n_layers(self) -> int:
        """How many layers there are."""
        return self.model.n_layers

    @property
    def n_heads(self) -> int:
        """How many heads each layer has."""
        return self.model.n_heads[0]

    @property
    def _network(self) -> Any:
        return self.model.network

    @property
    def _device(self) -> torch.device:
        return next(self.model.network.parameters()).device

    @property
    def _dtype(self) -> torch.dtype:
        return next(self.model.network.parameters()).dtype

    def _find_last_norm(self) -> tuple[Any, Fitted]:
        """The norm whose output is read out, and what it does."""
        ran: list[Event] = []
        read: list[Tensor] = []

        def note(module: Any, given: tuple[Any, ...], out: Any) -> None:
            if given and isinstance(out, Tensor):
                ran.append(Event(module, "", given[0], out, later=True))

        with ExitStack() as stack:
            for module in self._network.modules():
                if module is self.unembedding:
                    hook = module.register_forward_pre_hook(lambda _, given: read.append(given[0]))
                else:
                    hook = module.register_forward_hook(note)
                stack.callback(hook.remove)
            with self.model.lock, torch.no_grad():
                ids = torch.arange(8, device=self._device)[None] % self.model.n_rows
                self._network(input_ids=ids)
        for event in reversed(ran):
            if is_norm(event) and torch.equal(event.out, read[0]):
                fitted = fit(event)
                if fitted is not None and fitted.kind != "l2":
                    return event.module, fitted
        raise DataError("real.chain", name=self.model.name)

    def run(
        self,
        ids: Tensor,
        *,
        keep: Tensor | None = None,
        edits: Edits | None = None,
        known: ChainRun | None = None,
        at: Tensor | None = None,
    ) -> ChainRun:
        """Compute the model and keep every step; see `OpenModel.run`. All is computed anew.

        Raises:
            ConfigError: the edits name what the model has not.
            ShapeError: a value does not fit what it stands for.
        """
        edits = Edits() if edits is None else edits
        edits.check(self.n_layers, self.n_heads)
        lone = ids.ndim == 1
        ids = ids.reshape(-1, ids.shape[-1]).to(self._device)
        one = _OneRun(self, edits, keep)
        with self.model.lock, torch.no_grad(), one.inside(), watching(one.attend):
            logits = self._network(input_ids=ids).logits
        logits = logits if at is None else logits[torch.arange(len(ids)), at]
        mlps = [
            one.streams[layer + 1] - one.streams[layer] - one.added[layer]
            for layer in range(self.n_layers)
        ]
        steps = (one.streams, one.heads, one.patterns, mlps)
        streams, heads, patterns, rest = (
            tuple(each[0] if lone else each for each in step) for step in steps
        )
        return ChainRun(streams, heads, patterns, rest, logits[0] if lone else logits)

    def contributions(self, layer: int, heads: Tensor) -> Tensor:
        """What heads [..., head, query, d_value] add to the stream: [..., head, query, feature]."""
        w_o = self.weights[layer].w_o
        columns = w_o.view(len(w_o), self.n_heads, heads.shape[-1])
        return torch.einsum("...hqv,dhv->...hqd", heads, columns)

    def read_out(self, stream: Tensor) -> Tensor:
        """The logits that a stream [..., feature] would give: last norm and unembedding."""
        with torch.no_grad():
            found: Tensor = self.unembedding(self.last_norm(stream))
        return found

    def direct(self, part: Tensor, stream: Tensor) -> Tensor:
        """What a part of the last stream adds to the logits, the last norm's scale held at its
        value for `stream`; see `OpenModel`."""
        last = self.last
        if last.kind == "layer":
            part, stream = (each - each.mean(-1, keepdim=True) for each in (part, stream))
        scaled = part * (stream.pow(2).mean(-1, keepdim=True) + last.eps).rsqrt()
        scaled = scaled if last.gain is None else scaled * last.gain
        with torch.no_grad():
            logits: Tensor = self.unembedding(scaled if last.bias is None else scaled + last.bias)
        return logits

    def folded(self, layer: int) -> AttentionWeights[Tensor]:
        """A layer's attention weights, the gain of the norm before them multiplied in.

        Keys and values that several heads share are repeated, once for each head.
        """
        weights, config, norm = self.weights[layer], self.maps[layer].config, self.maps[layer].norm
        gain: Any = 1.0
        if norm is not None and norm.weight is not None:
            gain = torch.as_tensor(norm.weight).to(weights.w_q)

        def repeat(value: Tensor) -> Tensor:
            rows = value.view(config.n_kv_heads, -1, value.shape[-1])
            return rows.repeat_interleave(config.group, 0).flatten(0, 1)

        reads = (weights.w_q * gain, repeat(weights.w_k) * gain, repeat(weights.w_v) * gain)
        return AttentionWeights(*reads, weights.w_o)


class _OneRun:
    """One run: what is changed where, and what is kept."""

    def __init__(self, chain: Chain, edits: Edits, keep: Tensor | None) -> None:
        self.chain, self.edits, self.keep = chain, edits, keep
        self.streams: list[Tensor] = []
        self.heads: list[Tensor] = []
        self.patterns: list[Tensor] = []
        self.added: list[Tensor] = []
        self.sent: dict[Head, Tensor] = {}

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Stand at the places of the model where streams are read and outputs given."""
        with ExitStack() as stack:
            for layer, each in enumerate(self.chain.maps):
                for handle in (
                    each.norm_module.register_forward_pre_hook(self._note),
                    each.output.register_forward_hook(self._gives(layer)),
                    each.reader.register_forward_pre_hook(self._reads(layer, "mlp")),
                ):
                    stack.callback(handle.remove)
            last = self._reads(self.chain.n_layers, "out")
            stack.callback(self.chain.last_norm.register_forward_pre_hook(last).remove)
            yield

    def _note(self, _: Any, given: tuple[Any, ...]) -> None:
        """A layer begins: its stream."""
        if not self.streams:
            self.sent[EMBEDDING] = given[0]
        self.streams.append(given[0])

    def _reads(self, layer: int, part: Any) -> Callable[[Any, tuple[Any, ...]], Any]:
        """A receiver reads the stream, perhaps another one than the others."""

        def hook(_: Any, given: tuple[Any, ...]) -> Any:
            if part == "out":
                self.streams.append(given[0])
            change = self.edits.changes_at(layer, (part,), self.sent).get((part, None))
            # OPT's MLP reads the tokens of all sentences under one another.
            return None if change is None else (given[0] + change.view_as(given[0]), *given[1:])

        return hook

    def _gives(self, layer: int) -> Callable[[Any, Any, Tensor], Tensor]:
        """A layer's heads have given: what each adds, perhaps another vector."""

        def hook(_: Any, __: Any, out: Tensor) -> Tensor:
            adds = self.chain.contributions(layer, self.heads[layer])
            bias = self.chain.weights[layer].b_o
            for head in range(self.chain.n_heads):
                instead = self.edits.outputs.get((layer, head))
                if instead is not None:
                    instead = spread(instead, adds[..., head, :, :])
                    out = out + instead - adds[..., head, :, :]
                    adds[..., head, :, :] = instead
                self.sent[layer, head] = adds[..., head, :, :]
            self.added.append(out if bias is None else out - bias)
            return out

        return hook

    def attend(self, call: Call) -> Tensor:
        """One layer's attention, changed."""
        layer = call.number
        self._read_anew(call)
        forbidden = self.edits.forbidden.get(layer)
        if self.keep is not None:
            call.mask = None
            forbidden = ~self.keep if forbidden is None else ~self.keep | forbidden
        rows = call.rows(forbidden=forbidden)
        given = call.collect(rows)
        for (number, head), value in self.edits.heads.items():
            if number == layer:
                given[:, head] = spread(value, given[:, head])
        self.patterns.append(rows)
        self.heads.append(given)
        return given

    def _read_anew(self, call: Call) -> None:
        """Make queries, keys and values of what their receivers read instead of the stream."""
        layer, chain = call.number, self.chain
        changes = self.edits.changes_at(layer, ATTENTION_PARTS, self.sent)
        if not changes:
            return
        mapped, weights = chain.maps[layer], chain.weights[layer]
        config, norm = mapped.config, mapped.norm
        group = call.n_heads // call.n_kv_heads
        q = call.q.clone()
        k, v = (each.repeat_interleave(group, 1) for each in (call.k, call.v))
        # What all heads read first, then what single ones do.
        for (part, head), change in sorted(changes.items(), key=_single_last):
            stream = self.streams[layer] + change
            x = stream if norm is None else norm.apply(stream)
            made = project(x, x, weights, config)
            if part == "q":
                new, into = made.q_rot * (config.scale / call.scale), q
            elif part == "k":
                new, into = made.k_rot.repeat_interleave(group, 1), k
            else:
                new, into = made.v.repeat_interleave(group, 1), v
            which = slice(None) if head is None else slice(head, head + 1)
            into[:, which] = new[:, which]
        call.q, call.k, call.v = q, k, v


def _single_last(change: tuple[tuple[str, int | None], Tensor]) -> bool:
    """Sorts receivers: all heads of a part before single ones."""
    return change[0][1] is not None
