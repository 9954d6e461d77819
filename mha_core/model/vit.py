"""A small vision transformer: patches of an image as tokens, the same attention, two-way.

What differs from the language model on these pages: no mask, learned positions instead of RoPE,
LayerNorm instead of RMSNorm, biases, and one answer for the whole image (the mean of its tokens).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import gelu, linear

from mha_core.brief import brief
from mha_core.config import AttentionConfig
from mha_core.errors import ConfigError, DataError, ShapeError
from mha_core.layer import AttentionSteps, attention, fused_attention
from mha_core.model.digits import MAX_INK, SIDE
from mha_core.norms import NORM_EPS, Norm, layer_norm
from mha_core.trace import AttentionTrace, as_sentence
from mha_core.weights import AttentionWeights

FILE = Path(__file__).parents[1] / "data" / "vit" / "vit.safetensors"
N_CLASSES = 10
# As large as the embedded patches: with the usual .02 forty passes learn too little of where.
POSITION_STD = 0.5


@dataclass(frozen=True)
class VitConfig:
    """The sizes of the small vision transformer.

    Args:
        d_model: features of one patch.
        n_heads: heads of every layer.
        n_layers: layers.
        d_mlp: hidden features of each layer's MLP.
        patch: pixels along one side of a patch.

    Raises:
        ConfigError: the patches do not tile the image.

    >>> VitConfig().n_tokens, VitConfig().attention.d_head
    (16, 12)
    """

    d_model: int = 48
    n_heads: int = 4
    n_layers: int = 2
    d_mlp: int = 96
    patch: int = 2

    def __post_init__(self) -> None:
        if self.patch < 1 or SIDE % self.patch:
            raise ConfigError("vit.patch", patch=self.patch, side=SIDE)

    @property
    def grid(self) -> int:
        """Patches along one side."""
        return SIDE // self.patch

    @property
    def n_tokens(self) -> int:
        """Patches of an image: its tokens."""
        return self.grid**2

    @property
    def attention(self) -> AttentionConfig:
        """The attention of every layer: two-way, without RoPE."""
        return AttentionConfig(self.d_model, self.n_heads, causal=False)


@dataclass(frozen=True, eq=False)
class VitTrace:
    """One image through the model.

    Args:
        tokens: (row, column) of each patch, as text.
        patches: [token, pixel], 0 to 1.
        layers: one trace per layer, from the first.
        logits: [digit], one score for the whole image.
    """

    tokens: tuple[str, ...]
    patches: NDArray[np.float32]
    layers: tuple[AttentionTrace, ...]
    logits: NDArray[np.float32]

    __repr__ = brief

    @property
    def probabilities(self) -> NDArray[np.float32]:
        """[digit], summing to 1."""
        powers = np.exp(self.logits - self.logits.max())
        share: NDArray[np.float32] = powers / powers.sum()
        return share

    @property
    def digit(self) -> int:
        """The most probable digit."""
        return int(self.logits.argmax())


class VitLayer(nn.Module):
    """One layer's parameters: norm, attention with biases, norm, MLP."""

    def __init__(self, sizes: VitConfig) -> None:
        super().__init__()
        d = sizes.d_model
        self.norm = nn.LayerNorm(d, eps=NORM_EPS["layer"])
        self.query, self.key, self.value, self.output = (nn.Linear(d, d) for _ in range(4))
        self.mlp_norm = nn.LayerNorm(d, eps=NORM_EPS["layer"])
        self.mlp_in = nn.Linear(d, sizes.d_mlp)
        self.mlp_out = nn.Linear(sizes.d_mlp, d)

    @property
    def weights(self) -> AttentionWeights[Tensor]:
        """The attention's parameters, the model's own tensors."""
        parts = (self.query, self.key, self.value, self.output)
        return AttentionWeights(*(part.weight for part in parts), *(part.bias for part in parts))

    def x(self, stream: Tensor) -> Tensor:
        """The stream [..., token, feature] as the attention reads it."""
        return layer_norm(stream, self.norm.weight, self.norm.bias)

    def mlp(self, stream: Tensor) -> Tensor:
        """What the MLP adds to the stream [..., token, feature]."""
        x = layer_norm(stream, self.mlp_norm.weight, self.mlp_norm.bias)
        added: Tensor = self.mlp_out(gelu(self.mlp_in(x)))
        return added


class Vit(nn.Module):
    """A vision transformer for digits of 8 × 8.

    Args:
        sizes: its sizes.
        seed: which random numbers it starts from.

    >>> trace = Vit().trace(np.zeros((8, 8), dtype=np.uint8))
    >>> trace.layers[0].pattern.shape, trace.logits.shape, trace.tokens[5]
    ((4, 16, 16), (10,), '(1, 1)')
    """

    def __init__(self, sizes: VitConfig | None = None, seed: int = 0) -> None:
        super().__init__()
        self.sizes = sizes or VitConfig()
        self.metadata: dict[str, str] = {}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            d = self.sizes.d_model
            self.embedding = nn.Linear(self.sizes.patch**2, d)
            self.positions = nn.Parameter(torch.randn(self.sizes.n_tokens, d) * POSITION_STD)
            self.layers = nn.ModuleList(VitLayer(self.sizes) for _ in range(self.sizes.n_layers))
            self.norm = nn.LayerNorm(d, eps=NORM_EPS["layer"])
            self.answer = nn.Linear(d, N_CLASSES)

    def __repr__(self) -> str:
        return f"Vit({self.sizes})"

    def each_layer(self) -> Iterator[VitLayer]:
        """The layers, from the first."""
        for layer in self.layers:
            yield cast(VitLayer, layer)

    def patches(self, images: NDArray[np.generic]) -> Tensor:
        """Cut images [image, row, column] of 0 to 16 into patches [image, token, pixel] of 0 to 1.

        Raises:
            ShapeError: the images are not 8 × 8.
        """
        if images.ndim != 3 or images.shape[1:] != (SIDE, SIDE):
            raise ShapeError("vit.image", shape=images.shape, side=SIDE)
        grid, patch = self.sizes.grid, self.sizes.patch
        pixels = torch.tensor(images.astype(np.float32)) / MAX_INK
        blocks = pixels.reshape(-1, grid, patch, grid, patch).transpose(2, 3)
        return blocks.reshape(-1, self.sizes.n_tokens, patch * patch)

    def forward(self, patches: Tensor) -> Tensor:
        """Logits [image, digit] for patches [image, token, pixel], the fast way."""
        stream = self._embed(patches)
        for layer in self.each_layer():
            stream = stream + fused_attention(layer.x(stream), layer.weights, self.sizes.attention)
            stream = stream + layer.mlp(stream)
        return self._answer(stream)

    def trace(self, image: NDArray[np.generic]) -> VitTrace:
        """Take one image [8, 8] of 0 to 16 through the model and keep every step.

        Raises:
            ShapeError: the image is not 8 × 8.
        """
        if image.shape != (SIDE, SIDE):
            raise ShapeError("vit.image", shape=image.shape, side=SIDE)
        patches = self.patches(image[None])[0]
        layers = []
        with torch.no_grad():
            stream = self._embed(patches)
            for layer in self.each_layer():
                steps = attention(layer.x(stream), layer.weights, self.sizes.attention)
                layers.append(self._record(layer, steps, stream))
                stream = stream + steps.out
                stream = stream + layer.mlp(stream)
            logits = self._answer(stream)
        grid = range(self.sizes.grid)
        return VitTrace(
            tokens=tuple(f"({row}, {column})" for row in grid for column in grid),
            patches=patches.numpy(),
            layers=tuple(layers),
            logits=logits.numpy(),
        )

    def _embed(self, patches: Tensor) -> Tensor:
        embedded: Tensor = self.embedding(patches)
        return embedded + self.positions

    def _answer(self, stream: Tensor) -> Tensor:
        pooled = layer_norm(stream, self.norm.weight, self.norm.bias).mean(dim=-2)
        return linear(pooled, self.answer.weight, self.answer.bias)

    def _record(self, layer: VitLayer, steps: AttentionSteps, stream: Tensor) -> AttentionTrace:
        gain, shift = layer.norm.weight.detach().numpy(), layer.norm.bias.detach().numpy()
        return AttentionTrace.from_steps(
            steps,
            stream=as_sentence(stream, 2),
            weights=layer.weights.convert(lambda value: value.detach()).to_numpy(),
            config=self.sizes.attention,
            norm=Norm("layer", gain, shift),
        )


def save_vit(model: Vit, path: Path, metadata: dict[str, str]) -> None:
    """Write a model's weights as float16 safetensors, its sizes and remarks beside them."""
    tensors = {
        name: value.detach().half().contiguous() for name, value in model.state_dict().items()
    }
    sizes = {name: str(value) for name, value in asdict(model.sizes).items()}
    save_file(tensors, path, metadata=sizes | metadata)


def read_vit(path: Path) -> Vit:
    """Read a model that `save_vit` wrote, checking every tensor.

    Raises:
        DataError: the file is missing, is no safetensors, lacks a tensor, has one too many, one
            of another shape, or a number that is not finite.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        sizes = VitConfig(**{name: int(metadata[name]) for name in asdict(VitConfig())})
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise DataError("vit.weights", name=path.name, reason=type(error).__name__) from error
    model = Vit(sizes)
    expected = {name: value.shape for name, value in model.state_dict().items()}
    for name in sorted(expected.keys() | tensors.keys()):
        found = tensors.get(name)
        if found is None or expected.get(name) != found.shape or not found.isfinite().all():
            raise DataError("vit.weights", name=path.name, reason=name)
    model.load_state_dict({name: value.float() for name, value in tensors.items()})
    model.metadata = metadata
    return model.eval().requires_grad_(False)


@cache
def load_vit() -> Vit:
    """Load the bundled model; see `read_vit`.

    >>> load_vit().trace(np.zeros((8, 8))).layers[1].config.causal
    False
    """
    return read_vit(FILE)
