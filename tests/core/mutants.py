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
MODULES = ("masks", "rope", "scores", "options", "steps", "fused", "layer")


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
    Mutant("no scale", "scores", "(q.to(wide) * scale)", "q.to(wide)"),
    Mutant("√d in place of √d_head", "layer", "scale=config.scale", "scale=x.shape[-1] ** -0.5"),
    Mutant(
        "softmax over the queries",
        "scores",
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
        "x.view(*x.shape[:-1], n_heads, x.shape[-1] // n_heads).transpose(-3, -2)",
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
    Mutant(
        "softcap left out",
        "scores",
        "return scores if softcap is None else softcap * torch.tanh(scores / softcap)",
        "return scores",
    ),
    Mutant(
        "bias left out",
        "scores",
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


# Mistakes in the measures of heads; `test_measures.py` shows that each is noticed.
MEASURE_MUTANTS = (
    Mutant(
        "rows that see one key count", "heads.measures", "sum(axis=-1) >= 2", "sum(axis=-1) >= 1"
    ),
    Mutant("the sink counts the second row", "heads.measures", "queries >= 2", "queries >= 1"),
    Mutant(
        "the maximum of the entropy by the length",
        "heads.measures",
        "np.log(visible)",
        "np.log(pattern.shape[-1])",
    ),
    Mutant(
        "induction looks at the earlier token itself",
        "heads.measures",
        "cells[:, 1:] = same & (seen.ahead[:, 1:] <= 0) & seen.keep[:, 1:]",
        "cells[:, :-1] = same & (seen.ahead[:, :-1] < 0) & seen.keep[:, :-1]",
    ),
    Mutant(
        "induction stops before the query",
        "heads.measures",
        "(seen.ahead[:, 1:] <= 0)",
        "(seen.ahead[:, 1:] < 0)",
    ),
    Mutant(
        "duplicates look ahead",
        "heads.measures",
        "same & (seen.ahead < 0)",
        "same & (seen.ahead > 0)",
    ),
    Mutant(
        "a token is its own duplicate", "heads.measures", "(seen.ahead < 0)", "(seen.ahead <= 0)"
    ),
    Mutant(
        "previous and next exchanged",
        "heads.measures",
        "(seen.ahead == offset)",
        "(seen.ahead == -offset)",
    ),
    Mutant("distance with its sign", "heads.measures", "np.abs(seen.ahead)", "-seen.ahead"),
    Mutant(
        "rows without the cell count as misses",
        "heads.measures",
        "np.where(cells.any(axis=-1), put, np.nan)",
        "put",
    ),
    Mutant("bits for nats", "heads.measures", "np.log(safe)", "np.log2(safe)"),
    Mutant("total variation not halved", "heads.measures", ".sum(axis=-1) / 2", ".sum(axis=-1)"),
    Mutant(
        "a stretch forgets where it starts", "heads.measures", "self.start + first", "first * 0"
    ),
    Mutant(
        "the mean of two stretches' means",
        "heads.measures",
        "return Tally(self.total + other.total, self.count + other.count)",
        "return Tally((self.mean + other.mean) / 2, np.ones_like(self.count))",
    ),
)


def loaded_alone(mutant: Mutant | None, module: str = "heads.measures") -> ModuleType:
    """One module run under a name of its own, changed or not; the others see nothing of it.

    Raises:
        LookupError: the source no longer holds the text that the mutant replaces.
    """
    path = Path(mha_core.__path__[0]).joinpath(*module.split(".")).with_suffix(".py")
    source = path.read_text(encoding="utf-8")
    if mutant is not None:
        if mutant.right not in source:
            raise LookupError(f"{path} no longer holds {mutant.right!r}")
        source = source.replace(mutant.right, mutant.wrong)
    alone = ModuleType(f"mutant_{module.replace('.', '_')}")
    sys.modules[alone.__name__] = alone
    try:
        exec(compile(source, str(path), "exec"), vars(alone))
    finally:
        del sys.modules[alone.__name__]
    return alone
