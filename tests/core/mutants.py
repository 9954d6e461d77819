"""Hand-made mistakes in attention: the standard that the tests themselves are held to.

Each mutant replaces one line of the source. Loaded beside the real modules, it must disagree with
the article's arithmetic in `reference.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import mha_core

# In the order in which they import one another.
MODULES = ("masks", "rope", "options", "fused", "layer")


@dataclass(frozen=True)
class Mutant:
    """One mistake: in which module, and which source text becomes which."""

    name: str
    module: str
    right: str
    wrong: str


MUTANTS = (
    Mutant("mask off by one", "masks", "keep &= ahead <= 0", "keep &= ahead <= 1"),
    Mutant("mask reversed", "masks", "keep &= ahead <= 0", "keep &= ahead >= 0"),
    Mutant("no scale", "layer", "(q * scale) @ k.mT", "q @ k.mT"),
    Mutant("√d in place of √d_head", "layer", "scale=config.scale", "scale=x.shape[-1] ** -0.5"),
    Mutant(
        "softmax over the queries",
        "options",
        "torch.softmax(masked, dim=-1",
        "torch.softmax(masked, dim=-2",
    ),
    Mutant(
        "KV heads tiled",
        "options",
        "x.repeat_interleave(n_heads // n_kv_heads, dim=-3)",
        "torch.cat([x] * (n_heads // n_kv_heads), dim=-3)",
    ),
    Mutant(
        "RoPE turns the other way",
        "rope",
        "first * cos - second * sin, second * cos + first * sin",
        "first * cos + second * sin, second * cos - first * sin",
    ),
    Mutant(
        "RoPE on queries only",
        "layer",
        "k_rot = turn(k, config,",
        "k_rot = k if config.rope else turn(k, config,",
    ),
    Mutant(
        "heads joined in reverse order",
        "layer",
        "heads.transpose(-3, -2).flatten(-2)",
        "heads.flip(-3).transpose(-3, -2).flatten(-2)",
    ),
    Mutant(
        "W_o transposed", "layer", "linear(concat, weights.w_o", "linear(concat, weights.w_o.mT"
    ),
    # Beyond the ten: mistakes that real code has made.
    Mutant(
        "split without transposing",
        "layer",
        "x.view(*x.shape[:-1], n_heads, -1).transpose(-3, -2)",
        "x.view(*x.shape[:-2], n_heads, x.shape[-2], -1)",
    ),
    Mutant(
        "joined without transposing",
        "layer",
        "heads.transpose(-3, -2).flatten(-2)",
        "heads.reshape(*heads.shape[:-3], heads.shape[-2], -1)",
    ),
    Mutant("pattern transposed", "layer", "heads = pattern @ v", "heads = pattern.mT @ v"),
    Mutant(
        "pairs swapped",
        "rope",
        "first, second = x.chunk(2, dim=-1)",
        "second, first = x.chunk(2, dim=-1)",
    ),
    Mutant(
        "rotary width in the exponent",
        "rope",
        "np.arange(0, width, 2) / width",
        "np.arange(0, width, 2) / (2 * width)",
    ),
    Mutant("window one too wide", "masks", "keep &= ahead >= -left", "keep &= ahead >= -left - 1"),
    Mutant("softcap left out", "layer", "cap((q * scale) @ k.mT, softcap)", "(q * scale) @ k.mT"),
    Mutant(
        "bias left out",
        "options",
        "else bias.to(dtype)\n    return torch.where",
        "else bias.to(dtype) * 0\n    return torch.where",
    ),
    Mutant(
        "values read from the keys' bias",
        "layer",
        "weights.w_v, weights.b_v",
        "weights.w_v, weights.b_k",
    ),
)


@contextmanager
def loaded(mutant: Mutant | None) -> Iterator[ModuleType]:
    """Load the modules anew with one mistake in them, and give `attention`.

    Raises:
        LookupError: the source no longer holds the text that the mutant replaces.
    """
    before = {name: sys.modules.get(f"mha_core.{name}") for name in MODULES}
    try:
        for name in MODULES:
            module = _load(name, mutant if mutant and mutant.module == name else None)
        yield module
    finally:
        for name, original in before.items():
            if original is None:
                del sys.modules[f"mha_core.{name}"]
            else:
                sys.modules[f"mha_core.{name}"] = original


def _load(name: str, mutant: Mutant | None) -> ModuleType:
    """Run one module's source, changed or not, under its own name."""
    path = Path(mha_core.__path__[0]) / f"{name}.py"
    source = path.read_text(encoding="utf-8")
    if mutant is not None:
        if mutant.right not in source:
            raise LookupError(f"{path} no longer holds {mutant.right!r}")
        source = source.replace(mutant.right, mutant.wrong)
    module = ModuleType(f"mha_core.{name}")
    sys.modules[module.__name__] = module
    exec(compile(source, str(path), "exec"), vars(module))
    return module
