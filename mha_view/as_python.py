"""A page's numbers as the few lines of Python that give them again, from `mha_core` alone."""

from __future__ import annotations

from collections.abc import Iterator

from mha_view import compute, live
from mha_view.scene import Scene

# The step of the trace that each page of the walk is about.
STEP_OF = {
    "overview": "pattern", "tokens": "stream", "projection": "q_full", "heads": "q",
    "rope": "q_rot", "attention": "pattern", "concat": "concat", "output": "out",
    "why_heads": "pattern",
}  # fmt: skip


def write_python(scene: Scene, step: str = "pattern") -> str:
    """Write the lines that walk this scene's layer and end with one step's numbers.

    Run as they are, they leave the record as `trace` and the step's numbers, in the article's
    order, as `value`. A model trained in the session is trained again by the same settings, which
    gives the same one on the same machine.

    Args:
        scene: what the reader chose.
        step: a step's name.

    >>> print(write_python(Scene(text="The cat sat.", layer=1)))
    from mha_core import load_toy_model
    <BLANKLINE>
    text = 'The cat sat.'
    model = load_toy_model()
    trace = model.trace(text).layers[1]
    value = trace['pattern'].article_value
    """
    scene = compute.resolve(scene)
    numpy = ["import numpy as np", ""] if scene.shift else []
    if scene.weights == "real":
        lines = _real(scene)
    else:
        lines = _trained(scene) if compute.is_trained(scene) else _random(scene)
    return "\n".join([*numpy, *lines, f"value = trace[{step!r}].article_value"])


def write_patterns(scene: Scene, checkpoint: int | None = None) -> str:
    """Write the lines that leave every layer's record of a scene as `traces`.

    Args:
        scene: what the reader chose.
        checkpoint: a shipped step of training instead of the final weights.
    """
    scene = compute.resolve(scene)
    if scene.weights == "real":
        lines = list(_real(scene))[:-1]
        lines[0] = lines[0].replace("real_layer", "real_layers")
        lines.append("layers = real_layers(model, model.encode(text))")
        return "\n".join([*lines, "traces = [layer.trace for layer in layers]"])
    if not compute.is_trained(scene):
        numpy = ["import numpy as np", ""] if scene.shift else []
        return "\n".join([*numpy, *_random(scene), "traces = [trace]"])
    lines = list(_trained(scene.with_(shift=0, layer=0), checkpoint))
    lines[-1] = lines[-1].replace("trace = ", "traces = ", 1).removesuffix(".layers[0]") + ".layers"
    if scene.shift:
        at = lines.index("")
        lines.insert(at, "from mha_core.whatif import walk_again")
        lines.append(f"positions = np.arange(traces[0].n_tokens) + {scene.shift}")
        lines.append("traces = [walk_again(trace, positions=positions) for trace in traces]")
        lines = ["import numpy as np", "", *lines]
    return "\n".join(lines)


def _trained(scene: Scene, checkpoint: int | None = None) -> Iterator[str]:
    """A trained model's layer."""
    kept = live.find(scene)
    names = ["named_mask"] if scene.mask != "causal" else []
    if kept is None:
        names.append("load_toy_model")
    yield from _imports(names)
    if kept is not None:
        yield "from mha_core.training.live import live_snapshots"
    if checkpoint is not None:
        yield "from mha_core.model.checkpoint import list_checkpoints"
    if scene.shift:
        yield "from mha_core.whatif import walk_again"
    yield ""
    yield f"text = {_text(scene)!r}"
    if checkpoint is not None:
        yield f"path = next(path for path in list_checkpoints() if '-{checkpoint:05}' in path.name)"
        yield "model = load_toy_model(path)"
    elif kept is None:
        yield "model = load_toy_model()"
    else:
        s = kept.settings
        yield (
            f"*_, last = live_snapshots(until={s.steps}, d_model={s.d_model}, "
            f"n_heads={s.n_heads}, n_layers={s.n_layers}, seed={s.seed})"
        )
        yield "model = last.model"
    more = "" if scene.rope else ", rope=False"
    if scene.mask != "causal":
        yield f"keep = {mask_call(scene, 'len(model.ids_of(text))')}"
        more += ", keep=keep"
    layer = min(scene.layer, compute.n_layers_of(scene) - 1)
    yield f"trace = model.trace(text{more}).layers[{layer}]"
    if scene.shift:
        yield f"positions = range({scene.shift}, {scene.shift} + trace.n_tokens)"
        yield "trace = walk_again(trace, positions=np.array(positions))"


def _real(scene: Scene) -> Iterator[str]:
    """A layer of another people's model, out of the folder where it lies."""
    yield "from mha_core.real.layer import real_layer"
    yield "from mha_core.real.load import load_model"
    yield ""
    yield f"text = {_text(scene)!r}"
    yield f"model = load_model({scene.real!r}, device='cpu')"
    layer = min(scene.layer, compute.n_layers_of(scene) - 1)
    yield f"trace = real_layer(model, model.encode(text), {layer}).trace"


def _random(scene: Scene) -> Iterator[str]:
    """A layer of random weights."""
    c = compute.config_of(scene)
    names = ["AttentionConfig", "load_tokenizer", "named_mask", "random_embedding"]
    yield from _imports([*names, "random_weights", "walk_layer", *(["Rope"] if c.rope else [])])
    yield ""
    yield f"text = {_text(scene)!r}"
    more = "" if c.n_kv_heads == c.n_heads else f", n_kv_heads={c.n_kv_heads}"
    more += "" if c.d_head * c.n_heads == c.d_model else f", d_head={c.d_head}"
    if c.rope:
        more += f", rope=Rope(base={c.rope.base!r}, pairing={c.rope.pairing!r})"
    yield f"config = AttentionConfig(d_model={c.d_model}, n_heads={c.n_heads}{more}, causal=False)"
    yield "tokenizer = load_tokenizer()"
    yield "ids = list(tokenizer.encode(text).ids)"
    yield f"embedding = random_embedding(len(tokenizer), config.d_model, seed={scene.seed})"
    yield f"weights = random_weights(config, seed={scene.seed})"
    yield f"keep = {mask_call(scene, 'len(ids)')}"
    places = ", positions=positions" if scene.shift else ""
    if scene.shift:
        yield f"positions = np.arange(len(ids)) + {scene.shift}"
    yield f"trace = walk_layer(embedding[ids], weights, config, keep=keep{places})"


def _imports(names: list[str]) -> Iterator[str]:
    """What comes in by the front door, one name a line where they are many."""
    listed = sorted(names, key=lambda name: (not name[0].isupper(), name))
    if not listed:
        return
    if len(listed) <= 3:
        yield f"from mha_core import {', '.join(listed)}"
        return
    yield "from mha_core import ("
    yield from (f"    {name}," for name in listed)
    yield ")"


def _text(scene: Scene) -> str:
    """The text as far as it is read."""
    reading = compute.reading_of(scene)
    return (
        scene.text[: max(token.end for token in reading.tokens)]
        if reading.n_left_out
        else scene.text
    )


def mask_call(scene: Scene, n_tokens: str) -> str:
    """The call that makes the scene's mask.

    Args:
        scene: what the reader chose; the mask's settings are named where it has any.
        n_tokens: what stands for the number of tokens.
    """
    own = {
        "window": {"window": scene.window},
        "prefix": {"prefix": scene.prefix},
        "sink_window": {"window": scene.window, "sinks": scene.sinks},
    }.get(scene.mask, {})
    more = "".join(f", {name}={value}" for name, value in own.items())
    return f"named_mask({scene.mask!r}, {n_tokens}{more})"
