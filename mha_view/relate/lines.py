"""The pictures and tables of the relate pages as lines of Python; see `mha_view.explore.lines`."""

from __future__ import annotations

from textwrap import dedent

from mha_core.errors import DataError, TwelveHeadsError
from mha_core.sizes import Sizes, from_numbers
from mha_view import compute
from mha_view.as_python import write_python
from mha_view.scene import Scene

Lines = dict[str, str]


def sizes(scene: Scene) -> Lines | None:
    """Everything measured about a config, and what is drawn of it."""
    source = _source(scene)
    if source is None:
        return None
    try:
        whole = _measured(scene)
    except TwelveHeadsError:  # it is refused, by the lines too
        return {"": source}
    part = scene.part if scene.part in whole.entries else ""
    one = whole.entries[part] if part else whole
    lines = {
        "": f"{source}\nshown = value{f'.entries[{part!r}]' if part else ''}",
        "sizes": dedent("""\
            counts = shown.matrix_parameters() if shown.has_shapes else {}
            sums = vars(shown.parameters)
            totals = [sums[name] for name in ("attention_per_layer", "attention", "base", "total")]
            sizes = {"parameters": [*map(counts.get, shown.first.shapes), *totals]}"""),
    }
    if one.has_shapes:
        lines["layer"] = "layer = [each for chain in shown.first.shapes.values() for each in chain]"
        lines["parameters"] = "parameters = [[number for number in counts.values() if number]]"
        if one.stages:
            lines["stages"] = 'stages = {"d_model": [stage["d_model"] for stage in shown.stages]}'
    if one.flops(scene.cost_tokens) is not None:
        lines |= _costs(scene.cost_tokens)
    return lines | _kept(scene, one)


def _source(scene: Scene) -> str | None:
    """The lines that measure what the scene names; None where it names nothing yet."""
    if scene.model == "hand":
        return dedent(f"""\
            from mha_core.sizes import from_numbers

            value = from_numbers(d_model={scene.hand_d}, n_heads={scene.hand_h}, \
n_kv_heads={scene.hand_kv or None}, d_head={scene.hand_d_head or None}, \
n_layers={scene.hand_layers})""")
    if scene.model == "file":
        if not scene.config_text.strip():
            return None
        return dedent(f"""\
            from mha_core.sizes import measure, read_text

            config, notes = read_text({scene.config_text!r})
            value = measure(config, notes=notes)""")
    return (
        "from mha_core.sizes import measure, read_bundled\n\n"
        f"value = measure(read_bundled({scene.model!r}))"
    )


def _measured(scene: Scene) -> Sizes:
    """The sizes a scene names as far as they are known at once."""
    from mha_view.relate.subject import find_sizes

    if scene.model == "hand":
        return from_numbers(
            d_model=scene.hand_d, n_heads=scene.hand_h, n_kv_heads=scene.hand_kv or None,
            d_head=scene.hand_d_head or None, n_layers=scene.hand_layers,
        )  # fmt: skip
    if scene.model == "file":
        return find_sizes("text", scene.config_text)
    return find_sizes("bundled", scene.model)


def _costs(n: int) -> Lines:
    """FLOPs of the steps, and the curves that cross."""
    from mha_view.figures.relate_sizes import POINTS

    return {
        "flops": f"flops = [[*shown.flops({n}).values()]]",
        "crossing": dedent(f"""\
            import numpy as np
            crossings = [shown.crossover(causal=causal) for causal in (False, True)]
            last = 1.45 * max({n}, *(each for each in crossings if each is not None))
            tokens = np.unique(np.linspace(1, last, {POINTS}).astype(int))
            steps = [[shown.flops(int(n), causal=causal) for n in tokens]
                     for causal in (False, True)]
            two_way, causal = [[step["scores"] + step["values"] for step in each] for each in steps]
            whole = [sum(step.values()) for step in steps[0]]
            projections = np.array(whole) - two_way
            crossing = {{"n_tokens": tokens, "projections": projections,
                        "products_two_way": two_way, "products_causal": causal}}"""),
    }


def _kept(scene: Scene, one: Sizes) -> Lines:
    """The caches of all models compared, what fits beside their weights, RoPE's wavelengths."""
    from mha_view.figures.relate_sizes import POINTS
    from mha_view.relate.subject import find_sizes

    n, dtype, batch, memory = scene.cost_tokens, scene.float_type, scene.batch, scene.memory
    names = [name for name in scene.others if name != scene.model]
    others = [find_sizes("bundled", name) for name in names]
    read = [f"measure(read_bundled({name!r}))" for name in names]
    imports = "from mha_core.sizes import measure, read_bundled\n" if names else ""
    settings = f"{scene.weight_type!r}, {dtype!r}, {batch}"
    lines = {
        "compared": imports
        + dedent(f"""\
            models = [{", ".join(["shown", *read])}]
            sums = [model.parameters for model in models]
            compared = {{"parameters": [each.total or each.base for each in sums]}}
            compared["weight_bytes"] = [each.weight_bytes({scene.weight_type!r}) for each in models]
            """),
    }
    if any(each.cache for each in (one, *others)):
        lines["cache"] = dedent(f"""\
            import numpy as np
            from mha_core.sizes import cache_bytes
            tokens = np.unique(np.linspace(1, {2 * n}, {POINTS}).astype(int))
            cache = [tokens]
            for model in models:
                if model.cache:
                    layers = model.cache
                    cache += [[cache_bytes(layers, int(n), {dtype!r}, {batch}) for n in tokens]]""")
    if any(each.cache and each.weight_bytes(scene.weight_type) is not None
           for each in (one, *others)):  # fmt: skip
        lines["fits"] = dedent(f"""\
            fitting = [model for model in models
                       if model.cache and model.weight_bytes({scene.weight_type!r}) is not None]
            needed = [{memory}, *(model.weight_bytes({scene.weight_type!r}) / 2**30
                      for model in fitting)]
            gib = np.geomspace(min(needed) / 1.5, 4 * max(needed), {4 * POINTS})
            fits = [gib]
            for model in fitting:
                contexts = [model.context_that_fits(int(each * 2**30), {settings}) for each in gib]
                fits += [[context or np.nan for context in contexts]]""")
    if one.rope:
        lines["wavelengths"] = dedent(f"""\
            wavelengths = []
            for waves in shown.rope:
                wavelengths += [waves.plain()]
                if waves.is_scaled and waves.scaled({n}) is not None:
                    wavelengths += [waves.scaled({n})]""")
    return lines


def grouped(scene: Scene) -> Lines:
    """The layer's pattern with KV heads merged, [head, query, key], and what that changes."""
    from mha_core.grouped import kv_choices
    from mha_view.relate.grouped import MOST_STEPS

    config = compute.config_of(scene)
    choices = kv_choices(config.n_kv_heads)
    shared = scene.shared if scene.shared in choices else choices[len(choices) // 2]
    n_tokens = len(compute.reading_of(scene))
    width, n_layers = config.d_head + config.d_value, compute.n_layers_of(scene)
    looks_ahead = compute.keep_of(scene, n_tokens)[0, 1:].any() or scene.mask == "two_way"
    causal = ", keep=np.tri(trace.n_tokens, dtype=bool)" if looks_ahead else ""
    return {
        "": "from mha_core.grouped import share_again\n" + _trace(scene)
            + f"\nvalue = share_again(trace, {shared}).pattern",
        "before": "before = trace.pattern",
        "after": "after = value",
        "moved": "from mha_core.grouped import patterns_moved\n"
                 "moved = [patterns_moved(trace.pattern, value)]",
        "cache_bytes": dedent(f"""\
            from mha_core.sizes import CacheLayers, cache_bytes as count_bytes
            kept = [[CacheLayers({n_layers}, kv * {width})] for kv in {choices}]
            cache_bytes = [[count_bytes(layers, trace.n_tokens, {scene.float_type!r}) / 1024
                            for layers in kept]]"""),
        "decode": ("import numpy as np\n" if causal else "") + dedent(f"""\
            from mha_core.grouped import decode as decode_again
            first = share_again(trace, {shared}{causal}, n_tokens={min(n_tokens, MOST_STEPS)})
            found = decode_again(first)
            decode = [found.k_rot, found.v, found.pattern]"""),
    }  # fmt: skip


def _trace(scene: Scene) -> str:
    """The lines that leave the scene's layer as `trace`."""
    return "\n".join(write_python(scene).splitlines()[:-1])


def vit(scene: Scene) -> Lines:
    """Every layer's pattern on the image, [head, query, key] each; the sentence beside it."""
    if scene.drawn:
        from mha_core.model.digits import digit_from_canvas
        from mha_view.relate.drawing import unpack_drawing

        try:
            image = digit_from_canvas(unpack_drawing(scene.drawing)).tolist()
        except DataError:
            image = [[0] * 8] * 8
        source = f"import numpy as np\n\nimage = np.array({image!r}, dtype=np.uint8)"
    else:
        image = [[1]]
        source = (
            "from mha_core.model.digits import load_digits, split_digits\n\n"
            f"image = split_digits(load_digits())[1].images[{scene.digit}]"
        )
    base = (
        f"from mha_core.model.vit import load_vit\n{source}\nseen = load_vit().trace(image)\n"
        "value = [layer.pattern for layer in seen.layers]"
    )
    head = min(scene.head, compute.config_of(scene).n_heads - 1)
    sentence = {
        "pattern": f"{_trace(scene)}\npattern = trace.pattern",
        "two_masks": dedent(f"""\
            from mha_core import named_mask
            from mha_core.whatif import look_again
            masks = [named_mask(name, trace.n_tokens) for name in ("causal", "two_way")]
            two_masks = [look_again(trace, {head}, keep=keep) for keep in masks]"""),
    }
    if not any(map(any, image)):
        return {"": base, **sentence}
    return {
        "": base,
        "answer": "answer = [seen.probabilities]",
        "patches": dedent(f"""\
            layer = seen.layers[min({scene.layer}, len(seen.layers) - 1)]
            looks = layer.pattern[min({scene.head}, len(layer.pattern) - 1)]
            patches = [image, looks[{scene.patch}].reshape(4, 4)]"""),
        "patch_pattern": "patch_pattern = looks",
        "folded": f"folded = layer.pattern[:, {scene.patch}].reshape(-1, 4, 4)",
        **sentence,
    }
