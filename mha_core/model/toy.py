"""The toy model: embedding, layers of the same attention as the walk-through, and logits.

Each layer adds attention to the residual stream, and an MLP where the recipe has one:

    x = norm(stream);  stream += attention(x);  stream += mlp(norm(stream))
    logits = W_u · norm(stream)

Norms are RMSNorm, attention has no biases, embedding and W_u are two matrices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import gelu, linear

from mha_core.brief import brief
from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError
from mha_core.language.tokenizer import Encoding, Tokenizer, load_tokenizer
from mha_core.layer import AttentionSteps, attention, fused_attention, join_heads
from mha_core.model.edits import ATTENTION_PARTS, EMBEDDING, Edits, Head, fit, zeros_for
from mha_core.model.reading import attention_reading
from mha_core.norms import NORM_EPS, Norm, rms_norm
from mha_core.rope import Rope
from mha_core.trace import AttentionTrace, ModelTrace, as_sentence
from mha_core.values import check_size, is_whole
from mha_core.weights import AttentionWeights


@dataclass(frozen=True)
class ModelConfig:
    """The sizes of a toy model.

    Args:
        n_vocabulary: tokens it knows.
        d_model: features of one token.
        n_heads: heads of every layer.
        d_mlp: hidden features of each layer's MLP, 0 for a layer without one; as long as the
            model has layers.
        base: RoPE's base.

    Raises:
        ConfigError: no layer, or a base or an MLP that cannot be.
        ShapeError: no tokens, or heads that do not share d_model equally, or whose width is odd:
            RoPE turns pairs.

    >>> ModelConfig(n_vocabulary=10, d_model=12, n_heads=3, d_mlp=(0, 8)).attention.d_head
    4
    """

    n_vocabulary: int
    d_model: int = 96
    n_heads: int = 6
    d_mlp: tuple[int, ...] = (0, 0, 96)
    base: float = 10_000.0

    def __post_init__(self) -> None:
        check_size("n_vocabulary", self.n_vocabulary)
        layers = self.d_mlp if isinstance(self.d_mlp, tuple) else ()
        if not layers or not all(is_whole(hidden) and hidden >= 0 for hidden in layers):
            raise ConfigError("model.layers", d_mlp=self.d_mlp)
        _ = self.attention  # which refuses what no layer can be

    @property
    def n_layers(self) -> int:
        """How many layers the model has."""
        return len(self.d_mlp)

    @property
    def attention(self) -> AttentionConfig:
        """The attention of every layer."""
        return AttentionConfig(self.d_model, self.n_heads, rope=Rope(self.base))


@dataclass(frozen=True, eq=False)
class ModelSteps:
    """What a model computed for a batch of token numbers.

    Attributes:
        streams: the residual stream [..., token, feature] before each layer, and after the last.
        layers: every step of each layer's attention.
        mlps: what each layer's MLP added [..., token, feature], None where there is none.
        logits: [..., token, vocabulary], or [batch, vocabulary] where one place was asked for.
    """

    streams: tuple[Tensor, ...]
    layers: tuple[AttentionSteps, ...]
    mlps: tuple[Tensor | None, ...]
    logits: Tensor

    __repr__ = brief

    @property
    def patterns(self) -> tuple[Tensor, ...]:
        """The pattern [..., head, query, key] of each layer."""
        return tuple(layer.pattern for layer in self.layers)

    @property
    def heads(self) -> tuple[Tensor, ...]:
        """What each layer's heads give, before W_o: [..., head, query, d_value]."""
        return tuple(layer.heads for layer in self.layers)


class Layer(nn.Module):
    """One layer's parameters: attention, its norm, and an MLP with its norm where wanted."""

    def __init__(self, config: ModelConfig, d_mlp: int, generator: torch.Generator) -> None:
        super().__init__()
        d = config.d_model
        self.norm = nn.Parameter(torch.ones(d))
        near, far = 0.7 / d**0.5, 0.5 / (d * 2 * config.n_layers) ** 0.5
        self.w_q, self.w_k, self.w_v = (_draw(generator, near, d, d) for _ in range(3))
        self.w_o = _draw(generator, far, d, d)
        self.d_mlp = d_mlp
        if d_mlp:
            self.mlp_norm = nn.Parameter(torch.ones(d))
            self.mlp_in = _draw(generator, 1 / d**0.5, d_mlp, d)
            self.mlp_in_bias = nn.Parameter(torch.zeros(d_mlp))
            self.mlp_out = _draw(generator, 0.5 / d_mlp**0.5, d, d_mlp)
            self.mlp_out_bias = nn.Parameter(torch.zeros(d))

    @property
    def weights(self) -> AttentionWeights[Tensor]:
        """The attention's parameters, the model's own tensors."""
        return AttentionWeights(self.w_q, self.w_k, self.w_v, self.w_o)

    def mlp(self, stream: Tensor) -> Tensor:
        """What the MLP adds to the stream [..., token, feature]."""
        x = rms_norm(stream, self.mlp_norm)
        hidden = gelu(linear(x, self.mlp_in, self.mlp_in_bias))
        return linear(hidden, self.mlp_out, self.mlp_out_bias)


class ToyModel(nn.Module):
    """A small language model whose attention can be looked through, step by step.

    Args:
        sizes: its sizes.
        seed: which random numbers it starts from.
        tokenizer: what turns text into its token numbers; the toy vocabulary's unless given.

    >>> model = ToyModel(ModelConfig(len(load_tokenizer()), 12, 3, (0, 0)), seed=0)
    >>> model.trace("The cat sat").tokens
    ('<bos>', 'The', 'cat', 'sat')
    """

    def __init__(
        self, sizes: ModelConfig, seed: int = 0, tokenizer: Tokenizer | None = None
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.sizes = sizes
        self.tokenizer = load_tokenizer() if tokenizer is None else tokenizer
        self.metadata: dict[str, str] = {}
        self.embedding = _draw(generator, 0.12, sizes.n_vocabulary, sizes.d_model)
        self.layers = nn.ModuleList(Layer(sizes, d_mlp, generator) for d_mlp in sizes.d_mlp)
        self.norm = nn.Parameter(torch.ones(sizes.d_model))
        self.unembedding = _draw(
            generator, 0.5 / sizes.d_model**0.5, sizes.n_vocabulary, sizes.d_model
        )

    def __repr__(self) -> str:
        return f"ToyModel({self.sizes})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as sizes and numbers; the toy vocabulary's tokenizer is found again there."""
        own = None if self.tokenizer is load_tokenizer() else self.tokenizer
        arrays = {name: value.numpy(force=True) for name, value in self.state_dict().items()}
        return _rebuild, (self.sizes, own, arrays, self.metadata, self.training)

    @property
    def config(self) -> AttentionConfig:
        """The attention of every layer."""
        return self.sizes.attention

    @property
    def n_layers(self) -> int:
        """How many layers the model has."""
        return self.sizes.n_layers

    @property
    def n_heads(self) -> int:
        """How many heads each layer has."""
        return self.sizes.n_heads

    def each_layer(self) -> Iterator[Layer]:
        """The layers, from the first."""
        for layer in self.layers:
            yield cast(Layer, layer)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits [batch, token, vocabulary] for token numbers [batch, token], the fast way."""
        return linear(self.read(self.embedding[ids]), self.unembedding)

    def read(self, stream: Tensor) -> Tensor:
        """What the layers make of embedded tokens, the fast way: [batch, token, feature] twice.

        `forward` is this, on `embedding`, and the unembedding.
        """
        config = self.config
        for layer in self.each_layer():
            x = rms_norm(stream, layer.norm)
            stream = stream + fused_attention(x, layer.weights, config)
            if layer.d_mlp:
                stream = stream + layer.mlp(stream)
        return rms_norm(stream, self.norm)

    def run(
        self,
        ids: Tensor,
        *,
        keep: Tensor | None = None,
        rope: bool = True,
        edits: Edits | None = None,
        known: ModelSteps | None = None,
        at: Tensor | None = None,
    ) -> ModelSteps:
        """Compute the model and keep every step, on a batch or a single sentence.

        Args:
            ids: [..., token], `<bos>` included.
            keep: bool, True where a query may look, instead of causality; spread to
                [..., head, query, key].
            rope: False turns RoPE off.
            edits: what is changed; the rest is computed from the result.
            known: what this gave without edits, for the same tokens, mask and RoPE; what lies
                before the first change is taken from it.
            at: [batch], the place in each sentence whose logits are wanted; of all if None.

        Returns:
            Every step; where heads were edited, `heads`, `concat` and `out` are the edited ones.

        Raises:
            ConfigError: the edits name what the model has not.
            ShapeError: a value among the edits does not fit what it stands for.
        """
        edits = Edits() if edits is None else edits
        edits.check(self.n_layers, self.n_heads)
        config = self.config if rope else replace(self.config, rope=None)
        if keep is not None:
            config = replace(config, causal=False)
        first = self.n_layers if edits.first_layer is None else edits.first_layer
        stream = self.embedding[ids]
        streams, layers, mlps = [stream], [], []
        sent = {EMBEDDING: stream}
        for index, layer in enumerate(self.each_layer()):
            before = known.layers[index] if known is not None and index <= first else None
            steps = self._attend(stream, index, config, keep, edits, sent, before)
            sent |= self._sent(index, steps.heads, edits)
            if known is not None and index < first:
                stream, added = known.streams[index + 1], known.mlps[index]
            else:
                stream = stream + steps.out
                change = edits.changes_at(index, ["mlp"], sent).get(("mlp", None))
                added = layer.mlp(_plus(stream, change)) if layer.d_mlp else None
                stream = stream if added is None else stream + added
            streams.append(stream)
            layers.append(steps)
            mlps.append(added)
        change = edits.changes_at(self.n_layers, ["out"], sent).get(("out", None))
        last = _plus(stream, change)
        last = last if at is None else last[torch.arange(len(at)), at]
        return ModelSteps(tuple(streams), tuple(layers), tuple(mlps), self.read_out(last))

    def contributions(self, layer: int, heads: Tensor) -> Tensor:
        """What heads [..., head, query, d_value] add to the stream: [..., head, query, feature]."""
        w_o = self._layer(layer).w_o
        columns = w_o.view(w_o.shape[0], self.n_heads, heads.shape[-1])
        return torch.einsum("...hqv,dhv->...hqd", heads, columns)

    def read_out(self, stream: Tensor) -> Tensor:
        """The logits that a stream [..., feature] would give: last norm and unembedding."""
        return linear(rms_norm(stream, self.norm), self.unembedding)

    def direct(self, part: Tensor, stream: Tensor) -> Tensor:
        """What a part [..., feature] of the last stream adds to the logits, the last norm's scale
        held at its value for `stream`; see `OpenModel`."""
        scale = (stream.pow(2).mean(-1, keepdim=True) + NORM_EPS["rms"]).rsqrt()
        return linear(part * scale * self.norm, self.unembedding)

    def folded(self, layer: int) -> AttentionWeights[Tensor]:
        """A layer's attention weights, the gain of the norm before them multiplied in."""
        here = self._layer(layer)
        reads = (here.w_q * here.norm, here.w_k * here.norm, here.w_v * here.norm)
        return AttentionWeights(*reads, here.w_o)

    def _layer(self, index: int) -> Layer:
        """One layer."""
        return cast(Layer, self.layers[index])

    def _attend(
        self,
        stream: Tensor,
        index: int,
        config: AttentionConfig,
        keep: Tensor | None,
        edits: Edits,
        sent: Mapping[Head, Tensor],
        before: AttentionSteps | None,
    ) -> AttentionSteps:
        """A layer's attention with its edits; `before` are its steps where only heads differ."""
        layer = self._layer(index)
        changes = edits.changes_at(index, ATTENTION_PARTS, sent)
        forbidden = edits.forbidden.get(index)
        steps = before
        if steps is None or changes or forbidden is not None:
            if forbidden is not None:
                keep = ~forbidden if keep is None else keep & ~forbidden
            instead = {
                receiver: rms_norm(stream + change, layer.norm)
                for receiver, change in changes.items()
            }
            x = rms_norm(stream, layer.norm)
            steps = (
                attention_reading(x, instead, layer.weights, config, keep=keep, before=before)
                if instead
                else attention(x, layer.weights, config, keep=keep)
            )
        heads = {head: value for (at, head), value in edits.heads.items() if at == index}
        if heads:
            steps = _with_heads(steps, heads, layer.w_o)
        outputs = {head: value for (at, head), value in edits.outputs.items() if at == index}
        if outputs:
            added = self.contributions(index, steps.heads)
            out = steps.out
            for head, value in outputs.items():
                out = out + fit(value, added[..., head, :, :]) - added[..., head, :, :]
            steps = replace(steps, out=out)
        return steps

    def _sent(self, index: int, heads: Tensor, edits: Edits) -> dict[Head, Tensor]:
        """What the senders of a layer add to the stream, [..., token, feature]."""
        sent = {}
        for sender in edits.senders:
            if sender[0] != index:
                continue
            _, head = sender
            one = heads[..., head, :, :]
            width = one.shape[-1]
            columns = self._layer(index).w_o[:, head * width : head * width + width]
            added = linear(one, columns)
            sent[sender] = fit(edits.outputs[sender], added) if sender in edits.outputs else added
        return sent

    def ids_of(self, text: str | Encoding) -> list[int]:
        """The token numbers of a text, `<bos>` first."""
        encoding = self.tokenizer.encode(text) if isinstance(text, str) else text
        return [self.tokenizer.bos.id, *encoding.ids]

    def trace(
        self,
        text: str | Encoding,
        *,
        keep: NDArray[np.bool_] | None = None,
        rope: bool = True,
        heads_off: Collection[Head] = (),
    ) -> ModelTrace:
        """Take a text through the model and keep every step.

        Args:
            text: any text, or its encoding.
            keep: bool [query, key] instead of causality, `<bos>` counted.
            rope: False turns RoPE off.
            heads_off: (layer, head) pairs whose output is set to zero before W_o.

        Returns:
            Tokens in readable form (`<bos>` first), one trace per layer, logits.

        Raises:
            ShapeError: `keep` does not fit the tokens.
            ConfigError: a head in `heads_off` does not exist.
        """
        encoding = self.tokenizer.encode(text) if isinstance(text, str) else text
        mask = None if keep is None else torch.from_numpy(np.ascontiguousarray(keep))
        ids = torch.tensor(self.ids_of(encoding))
        with torch.no_grad():
            steps = self.run(ids, keep=mask, rope=rope, edits=zeros_for(heads_off))
        return ModelTrace(
            tokens=(self.tokenizer.bos.display, *encoding.displays),
            layers=self._layer_traces(steps, rope=rope, causal=keep is None),
            logits=as_sentence(steps.logits, 2),
        )

    def predict(self, text: str | Encoding, n: int = 10) -> list[tuple[str, float]]:
        """The n most probable next tokens after a text, in readable form, with probabilities.

        >>> model = ToyModel(ModelConfig(len(load_tokenizer()), 12, 3, (0,)), seed=0)
        >>> len(model.predict("The cat", n=3))
        3
        """
        with torch.no_grad():
            logits = self(torch.tensor([self.ids_of(text)]))[0, -1]
        best = logits.softmax(-1).topk(min(n, len(logits)))
        entries = self.tokenizer.entries
        return [
            (entries[number].display, float(p))
            for number, p in zip(best.indices.tolist(), best.values, strict=True)
        ]

    def _layer_traces(
        self, steps: ModelSteps, *, rope: bool, causal: bool
    ) -> tuple[AttentionTrace, ...]:
        """The records of all layers of one sentence."""
        config = replace(self.config, causal=causal, rope=self.config.rope if rope else None)
        return tuple(
            AttentionTrace.from_steps(
                done,
                stream=as_sentence(stream, 2),
                weights=layer.weights.convert(lambda value: value.detach()).to_numpy(),
                config=config,
                residual=as_sentence(stream + done.out, 2),
                norm=Norm("rms", layer.norm.detach().numpy()),
            )
            for layer, done, stream in zip(
                self.each_layer(), steps.layers, steps.streams, strict=False
            )
        )


def _draw(generator: torch.Generator, std: float, *shape: int) -> nn.Parameter:
    """Normally distributed starting values."""
    return nn.Parameter(torch.randn(*shape, generator=generator) * std)


def _plus(stream: Tensor, change: Tensor | None) -> Tensor:
    """A stream as it is read."""
    return stream if change is None else stream + change


def _with_heads(
    steps: AttentionSteps, instead: Mapping[int, Tensor], w_o: Tensor
) -> AttentionSteps:
    """The steps of a layer some of whose heads give something else before W_o."""
    heads = steps.heads.clone()
    for head, value in instead.items():
        heads[..., head, :, :] = fit(value, heads[..., head, :, :])
    concat = join_heads(heads)
    return replace(
        steps,
        score_steps=replace(steps.score_steps, heads=heads),
        concat=concat,
        out=linear(concat, w_o),
    )


def _rebuild(
    sizes: ModelConfig,
    tokenizer: Tokenizer | None,
    arrays: Mapping[str, NDArray[np.floating]],
    metadata: dict[str, str],
    training: bool,
) -> ToyModel:
    """Make a model out of what `ToyModel.__reduce__` took apart."""
    model = ToyModel(sizes, tokenizer=tokenizer)
    model.load_state_dict({name: torch.tensor(value) for name, value in arrays.items()})
    model.metadata = dict(metadata)
    return model.train(training)
