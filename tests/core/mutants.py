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
    Mutant(
        "the mean left in the norm of queries and keys",
        "options",
        "layer_norm(x, width, None, None, eps)",
        "rms_norm(x, width, None, eps)",
    ),
    Mutant("the length by the mean", "options", "x.square().sum(-1", "x.square().mean(-1"),
    Mutant(
        "the first head's gain for all", "options", "gain = gain[:, None]", "gain = gain[:1, None]"
    ),
    Mutant(
        "the bias of queries and keys left out",
        "options",
        "normed if shift is None else normed + shift",
        "normed",
    ),
    Mutant(
        "angles longer than the library's",
        "rope",
        'torch.float32 if rope.angle_dtype == "float32" else torch.float64',
        "torch.float64",
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


# Mistakes around the layer: in what-ifs, derivations, masks, shared keys and values, the record;
# `test_mutants.py` shows that the exams of `exams.py` notice each.
EXAMINED_MUTANTS = (
    Mutant("the hidden scores vary too", "whatif", "raw[seen].astype", "raw.astype"),
    Mutant(
        "another head's share", "derivation", "trace.heads[head, token]", "trace.heads[0, token]"
    ),
    Mutant(
        "RoPE taken off the queries only",
        "whatif",
        "(trace.k_rot if as_it_is else trace.k, kv_head)",
        "(trace.k_rot, kv_head)",
    ),
    Mutant(
        "the eps forgotten", "whatif", "norm=trace.norm,", "norm=trace.norm and trace.norm.kind,"
    ),
    Mutant(
        "the float type forgotten",
        "whatif",
        "dtype=getattr(torch, trace.dtype),\n    )\n\n\ndef _kept",
        "dtype=torch.float32,\n    )\n\n\ndef _kept",
    ),
    Mutant("the bias forgotten", "whatif", "trace.bias if bias is None else bias", "bias"),
    Mutant(
        "the positions forgotten",
        "whatif",
        "positions = trace.positions if positions is None else positions",
        "pass",
    ),
    Mutant("the mask hides what the layer lets go", "whatif", "trace.keep | ~own", "trace.keep"),
    Mutant(
        "another mask is cut by causality",
        "whatif",
        'settings = {"causal": False, "window": (None, None)} | settings',
        "pass",
    ),
    Mutant(
        "another scale not taken",
        "whatif",
        "scale=config.scale if scale is None else scale",
        "scale=config.scale",
    ),
    Mutant(
        "the sinks left out",
        "whatif",
        "sinks=None if sinks is None else",
        "sinks=None if True else",
    ),
    Mutant("the first head's sink", "whatif", "sinks[head : head + 1]", "sinks[:1]"),
    Mutant("the first head's mask", "whatif", "else mask[head]", "else mask[0]"),
    Mutant(
        "the softcap left out of turned scores",
        "whatif",
        "score(q, k, config.scale, config.softcap)",
        "score(q, k, config.scale)",
    ),
    Mutant(
        "the wrong KV head",
        "whatif",
        "kv_head = head // config.group",
        "kv_head = head % config.n_kv_heads",
    ),
    Mutant(
        "the softcap left out of the wide head",
        "whatif",
        "n_kv_heads=1,\n        d_head",
        "n_kv_heads=1,\n        softcap=None,\n        d_head",
    ),
    Mutant("the narrow head's scale kept", "whatif", "scale=own_scale", "scale=config.scale"),
    Mutant(
        "KV heads tiled",
        "whatif",
        "np.repeat(heads, config.group, axis=0)",
        "np.concatenate([heads] * config.group)",
    ),
    Mutant(
        "the order of pairs turned round",
        "whatif",
        'turned = order if pairing == "half" else np.argsort(order)',
        'turned = order if pairing != "half" else np.argsort(order)',
    ),
    Mutant(
        "the sink left out of the sum",
        "derivation",
        "exponentials.sum()) + sink_part",
        "exponentials.sum())",
    ),
    Mutant(
        "the sink no candidate for the maximum",
        "derivation",
        "max(float(masked.max()), sink)",
        "float(masked.max())",
    ),
    Mutant(
        "the bias left out of the terms",
        "derivation",
        "bias = np.zeros(()) if trace.bias is None else trace.bias",
        "bias = np.zeros(())",
    ),
    Mutant(
        "the maximum not taken off", "derivation", "np.exp(masked - row_maximum)", "np.exp(masked)"
    ),
    Mutant(
        "the query's head read from the keys",
        "derivation",
        "trace.k_rot[head // config.group, key]",
        "trace.k_rot[head % config.n_kv_heads, key]",
    ),
    Mutant(
        "the values of another head",
        "derivation",
        "trace.v[kv_head, :, feature]",
        "trace.v[0, :, feature]",
    ),
    Mutant(
        "the other pairing's places",
        "derivation",
        'rope.pairing == "half"',
        'rope.pairing != "half"',
    ),
    Mutant(
        "pairs of the whole head",
        "derivation",
        "before.shape[-1] if rope is None else rope.width(before.shape[-1])",
        "before.shape[-1]",
    ),
    Mutant(
        "the factor left out of what is read next",
        "derivation",
        "after.factor * trace.out[token].astype",
        "1.0 * trace.out[token].astype",
    ),
    Mutant(
        "the MLP beside left out of the sum",
        "derivation",
        "+ (beside or 0.0)",
        "",
    ),
    Mutant(
        "the norm of the sum taken for that of the output",
        "derivation",
        "norm = after.norm_out",
        "norm = after.norm_sum",
    ),
    Mutant(
        "smallest terms first",
        "derivation",
        "np.argsort(-np.abs(products)",
        "np.argsort(np.abs(products)",
    ),
    Mutant(
        "the bias is no part of the rest", "derivation", "printed - round(extra, digits)", "printed"
    ),
    Mutant(
        "heads taken in another order",
        "derivation",
        ".reshape(config.d_model, config.n_heads, config.d_value)",
        ".reshape(config.d_model, config.d_value, config.n_heads).transpose(0, 2, 1)",
    ),
    Mutant(
        "shares by the contribution's own size",
        "derivation",
        "head_contributions(trace), trace.out, optimize",
        "head_contributions(trace), np.abs(trace.out), optimize",
    ),
    Mutant(
        "strided heads merged",
        "grouped",
        "value.reshape(n_after, n_before // n_after, width, *value.shape[1:])",
        "value.reshape(n_before // n_after, n_after, width, *value.shape[1:]).swapaxes(0, 1)",
    ),
    Mutant(
        "the first of the neighbours",
        "grouped",
        "heads.mean(axis=1, dtype=np.float64)",
        "heads[:, 0].astype(np.float64)",
    ),
    Mutant(
        "the cached values in reverse",
        "grouped",
        "cache = steps.cache",
        "cache = KVCache(steps.cache.k_rot, steps.cache.v.flip(-2))",
    ),
    Mutant(
        "positions from 0", "grouped", "positions=positions[here]", "positions=positions[here] * 0"
    ),
    Mutant(
        "the bias not read along",
        "grouped",
        "bias=None if bias is None else bias[..., here, so_far]",
        "bias=None",
    ),
    Mutant(
        "values not counted",
        "grouped",
        "cache.k_rot.numel() + cache.v.numel()",
        "2 * cache.k_rot.numel()",
    ),
    Mutant(
        "moved by the size after",
        "grouped",
        "size = float(np.linalg.norm(before.out))",
        "size = float(np.linalg.norm(after.out))",
    ),
    Mutant(
        "a later key may be seen", "grouped", "np.triu(keep, 1).any()", "np.triu(keep, 2).any()"
    ),
    Mutant(
        "only the last head compared", "walk", "max(apart.get(name, 0.0), distance)", "distance"
    ),
    Mutant(
        "the bias not compared",
        "walk",
        "        bias=trace.bias,\n",
        "",
    ),
    Mutant(
        "the positions not compared",
        "walk",
        "        positions=trace.positions,\n        bias",
        "        bias",
    ),
    Mutant(
        "no norm before a walk from the heads",
        "walk",
        "x = before if norm is None else norm.apply(before)",
        "x = before",
    ),
    Mutant(
        "the sinks forgotten in a walk from the heads",
        "walk",
        "weights.w_o, b_o=weights.b_o, sinks=weights.sinks",
        "weights.w_o, b_o=weights.b_o",
    ),
    Mutant(
        "ready queries turned again in the reference",
        "walk",
        "replace(config, rope=None, qk_norm=None)",
        "config",
    ),
    Mutant(
        "a softcap forgotten in a walk from the heads",
        "walk",
        "            softcap=config.softcap,\n            sinks=tensors",
        "            softcap=None,\n            sinks=tensors",
    ),
    Mutant("the norm's eps not compared", "walk", "norm.bias, norm.eps)", "norm.bias, 1e-6)"),
    Mutant(
        "the mask left out of the fused form",
        "walk",
        "keep=torch.tensor(trace.keep),\n            bias=None if trace",
        "bias=None if trace",
    ),
    Mutant(
        "the bias left out of the fused form",
        "walk",
        "bias=None if trace.bias is None else torch.tensor(trace.bias),",
        "",
    ),
    Mutant(
        "a longer type in the fused form",
        "walk",
        "dtype = getattr(torch, trace.dtype)",
        "dtype = torch.float64",
    ),
    Mutant(
        "the residual takes x",
        "walk",
        "residual = before + steps.out",
        "residual = steps.x + steps.out",
    ),
    Mutant(
        "limits by the square",
        "walk",
        "unit * _largest(step.value)",
        "unit * _largest(step.value) ** 2",
    ),
    Mutant(
        "what follows the output not compared",
        "walk",
        'reference.add_stream(columns["stream"], out, trace.after)',
        'columns["stream"] + out',
    ),
    Mutant(
        "what follows the output left out",
        "walk",
        "before + steps.out if after is None else after.apply(before, steps.out)",
        "before + steps.out",
    ),
    Mutant(
        "what follows the output not recorded",
        "walk",
        "        after=after,\n        positions",
        "        positions",
    ),
    Mutant("what follows forgotten", "whatif", "trace.after.first(n_tokens),", "None,"),
    Mutant(
        "the factor on the sum", "after", "out if self.factor == 1 else out * self.factor", "out"
    ),
    Mutant(
        "the stream normed with the output",
        "after",
        "self.norm_out.apply(added)",
        "self.norm_out.apply(stream + added) - stream",
    ),
    Mutant(
        "the MLP beside left out",
        "after",
        "total = total + torch.tensor(self.beside).to(total)",
        "pass",
    ),
    Mutant(
        "the MLP beside added after the norm",
        "after",
        "return total if self.norm_sum is None else self.norm_sum.apply(total)",
        "beside = 0 if self.beside is None else torch.tensor(self.beside).to(total)\n"
        "        normed = self.norm_sum.apply if self.norm_sum else (lambda value: value)\n"
        "        return normed(total - beside) + beside",
    ),
    Mutant("beside not cut", "after", "self.beside[:n_tokens]", "self.beside"),
    Mutant("-∞ beside a number is near", "walk", 'return float("inf")', "return 0.0"),
    Mutant("a prefix one too long", "masks", "(key < prefix)", "(key <= prefix)"),
    Mutant(
        "the window without the query", "masks", "query - key < window", "query - key <= window"
    ),
    Mutant("the first sink only", "masks", "(key < sinks)", "(key < 1)"),
    Mutant(
        "sinks ahead of the query",
        "masks",
        "causal & (near | (key < sinks))",
        "(causal & near) | (key < sinks)",
    ),
    Mutant(
        "a mask per sentence for each head",
        "masks",
        "start[..., None, None, None]",
        "start[None, :, None, None]",
    ),
    Mutant("the offset taken off", "masks", "query = start + torch", "query = -start + torch"),
    Mutant("left for right", "masks", "keep &= ahead <= right", "keep &= ahead <= (left or 0)"),
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


# Mistakes in finding circuits: each must fail the exam of its module in `test_circuit_mutants.py`.
CIRCUIT_MUTANTS = (
    Mutant("the path is added, not replaced", "model.edits",
           "fit(value, sent[path.sender]) - sent[path.sender]", "fit(value, sent[path.sender])"),
    Mutant("a layer's other parts read it too", "model.edits",
           "path.layer == layer and path.part in parts", "path.layer == layer"),
    Mutant("one head hears nothing of what all hear", "model.edits",
           "else change + changes[part, None]", "else change"),
    Mutant("the unembedding forgotten", "model.edits",
           'return [*paths, Path(sender, n_layers, "out")]', "return paths"),
    Mutant("a path back is let through", "model.edits",
           "path.sender[0] if own_layer_too else path.sender[0] + 1", "0"),
    Mutant("only one of two masks", "model.edits",
           "forbidden[layer] | mask if layer in forbidden else mask", "mask"),
    Mutant("keys for values", "model.reading",
           '"v": changed.v}[part]', '"v": changed.k_rot}[part]'),
    Mutant("all heads for one", "model.reading",
           "parts[part][..., head, :, :] = found[..., head, :, :]", "parts[part] = found"),
    Mutant("keys are not turned", "model.reading", '"k": changed.k_rot,', '"k": changed.k,'),
    Mutant("a single head comes before all", "model.reading",
           "one[1] is not None", "one[1] is None"),
    Mutant("KV heads not shared out", "model.reading", "found = share(made_of_it, n_heads)",
           "found = made_of_it.repeat(n_heads // made_of_it.shape[-3], 1, 1)"),
    Mutant("its own for the twin's", "heads.circuits",
           "self.sent(sender, twin=True)", "self.sent(sender)"),
    Mutant("the mean over padding too", "heads.circuits",
           "self.sent(sender)[self._real].mean(0)", "self.sent(sender).flatten(0, 1).mean(0)"),
    Mutant("the wrong word's margin", "heads.circuits",
           "logits[rows, self._right] - logits[rows, self._wrong]",
           "logits[rows, self._wrong] - logits[rows, self._right]"),
    Mutant("effects not by the whole", "heads.circuits",
           "self._margins(self.logits(edits))) / whole)", "self._margins(self.logits(edits))))"),
    Mutant("the control holds the circuit", "heads.circuits",
           "and path not in worth and path.sender", "and path.sender"),
    Mutant("shares of the whole circuit", "heads.circuits",
           "(path, effect.mean / whole)", "(path, effect.mean)"),
    Mutant("queries read as keys do", "heads.composition", '"q": reads.mT', '"q": reads'),
    Mutant("a receiver's writing left out", "heads.composition",
           '"v": _write(head)}', '"v": head[2].mT @ head[2]}'),
    Mutant("not by the sizes", "heads.composition",
           "torch.linalg.matrix_norm(reader @ write) / sizes",
           "torch.linalg.matrix_norm(reader @ write)"),
    Mutant("the sender read backwards", "heads.composition", "return o @ v", "return (o @ v).mT"),
)  # fmt: skip
