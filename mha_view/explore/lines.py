"""The pictures and tables of the explore pages as lines of Python, from `mha_core` alone.

Each function gives lines by name: under "" what all of a page's lines stand on, which leave the
page's main numbers as `value`; under a picture's or a table's name the lines that leave its numbers
as a variable of that name. A table's are columns by name.
"""

from __future__ import annotations

from textwrap import dedent
from typing import get_args

import numpy as np

from mha_core.heads.measures import MEASURES, Seen
from mha_core.language.alignment import align_tokens
from mha_view import compute, live
from mha_view.as_python import mask_call, write_patterns
from mha_view.grouping import Grouping, group_tokens
from mha_view.link import has_own_head
from mha_view.scene import MaskName, Scene
from mha_view.snippets import imports_for, join, regrouped
from mha_view.store import STORE

Lines = dict[str, str]
TOY = "from mha_core import load_toy_model\nmodel = load_toy_model()"
SCORED = "from mha_core.real.roles import score_heads\nroles = score_heads(model)"


def model_lines(scene: Scene) -> str:
    """The lines that leave the scene's model, trained by us, as `model`."""
    kept = live.find(scene)
    if kept is None:
        return TOY
    s = kept.settings
    return (
        "from mha_core.training.live import live_snapshots\n"
        f"*_, last = live_snapshots(until={s.steps}, d_model={s.d_model}, n_heads={s.n_heads}, "
        f"n_layers={s.n_layers}, seed={s.seed})\nmodel = last.model"
    )


def _ids(scene: Scene) -> str:
    """Where the token numbers are after `write_patterns`."""
    if scene.weights == "real":
        return "model.encode(text).ids"
    return "model.ids_of(text)" if compute.is_trained(scene) else "ids"


def _grouping(scene: Scene, *, hide: bool) -> Grouping:
    """Which tokens a picture of the scene takes as one or leaves out."""
    return group_tokens(
        compute.reading_of(scene).tokens, scene.text,
        hide_special=hide and scene.hide_special, whole_words=scene.whole_words,
    )  # fmt: skip


def gallery(scene: Scene) -> Lines:
    """Every layer's pattern, [head, query, key]; the tiles, the chosen head, each layer's mean."""
    reading, walk = compute.reading_of(scene), compute.walk_of(scene)
    counts = [len(heads) for heads in walk.patterns]
    grouping = _grouping(scene, hide=True)
    layer = min(scene.layer, len(counts) - 1)
    head = min(scene.head, counts[layer] - 1)
    every = [(at, number) for at, n in enumerate(counts) for number in range(n)]
    order = list(range(len(every)))
    if scene.sort != "place":
        seen = _seen(scene, reading)
        scores = MEASURES[scene.sort].score(np.concatenate(walk.patterns), seen)
        scores = np.nan_to_num(scores, nan=-np.inf)
        order = [int(place) for place in np.argsort(-scores, kind="stable")]
    tiles = "np.concatenate(value)"
    if order != sorted(order):
        tiles += f"[{order}]"
    punctuation = [n for n, token in enumerate(reading.tokens) if token.kind == "punctuation"]
    more = imports_for(grouping)
    is_large = len(every) > 60
    means = "[value[LAYER].mean(axis=0)]" if is_large else "[heads.mean(axis=0) for heads in value]"
    means = means.replace("LAYER", str(layer))
    lines = {
        "": f"import numpy as np\n{write_patterns(scene)}\n"
            + "value = [trace.pattern for trace in traces]",
        "gallery": more + f"gallery = {regrouped(tiles, grouping)}",
        "chosen": more + f"chosen = {regrouped(f'value[{layer}][{head}]', grouping)}",
        "passport": (
            "from mha_core.heads.measures import MEASURES, Seen\n"
            f"punctuation = np.isin(np.arange({len(reading)}), {punctuation})\n"
            f"seen = Seen(traces[0].keep, np.array({_ids(scene)}), punctuation)\n"
            f"scores = [m.score(value[{layer}][{head}], seen) for m in MEASURES.values()]\n"
            'passport = {"score": [float(score) for score in scores if score == score]}'
        ),
        "mean": more + f"mean = {regrouped(f'np.stack({means})', grouping)}",
    }  # fmt: skip
    if is_large:  # the wall shows them all, the tiles a few
        del lines["gallery"]
    if scene.weights == "real" and ("roles", ("real", scene.real)) in STORE:  # then shown here, too
        lines |= {"": join(lines[""], SCORED), **real_roles()}
    return lines


def real_roles() -> Lines:
    """The best heads of another people's model in each role, out of `roles`."""
    return {
        f"real_role_{role}": (
            f"best = roles.ranked({role!r})[:5]\n"
            f'real_role_{role} = {{"score": [found.mean for _, found in best]}}'
        )
        for role in ("previous", "induction", "duplicate", "sink")
    }


def _seen(scene: Scene, reading: compute.Reading) -> Seen:
    """What the patterns of a scene were made from."""
    tokens = reading.tokens
    return Seen(
        compute.keep_of(scene, len(reading)),
        np.array([token.id for token in tokens]),
        np.array([token.kind == "punctuation" for token in tokens]),
    )


def compare(scene: Scene) -> Lines:
    """Both readings, [query, key] each, their difference, their scores, the five masks."""
    from mha_view.explore.compare import COMPARED, as_shown

    now = as_shown(scene)
    other, step = now, None
    if now.against == "mask":
        other = now.with_(mask=now.other_mask)
    elif now.against == "rope":
        other = now.with_(rope=not now.rope)
    elif now.against == "text":
        other = now.with_(text=now.other_text)
    elif now.against == "weights":
        name = now.other_real if now.other_weights == "real" else now.real
        other = compute.resolve(now.with_(weights=now.other_weights, real=name))
    elif now.against == "checkpoint":
        from mha_view.explore.checkpoints import final_step

        step = None if now.other_step == final_step() else now.other_step
    is_head = now.against == "head" or has_own_head(now)
    first, second = write_patterns(now), write_patterns(other, step)
    at = _head_at(now, now.layer, now.head)
    parts = ["import numpy as np", first, f"one, keep_one = {at}, traces[0].keep"]
    has_masks = now.weights != "real"  # which is read as it was made
    if has_masks:
        parts += [_under_masks(now)]
    if second != first:
        parts += [second]
    layer, head = (now.other_layer, now.other_head) if is_head else (now.layer, now.head)
    parts += [f"two, keep_two = {_head_at(other, layer, head)}, traces[0].keep",
              "value = one, two"]  # fmt: skip
    lines = {"": "\n".join(parts)}
    groupings = [_grouping(each, hide=False) for each in (now, other)]
    for name, short, grouping in zip(("first", "second"), ("one", "two"), groupings, strict=True):
        lines[name] = imports_for(grouping) + f"{name} = {regrouped(short, grouping)}"
    aligned = _aligned(now, other)
    if aligned:
        lines["difference"] = aligned
    elif len(groupings[0].labels) == len(groupings[1].labels):
        lines["difference"] = "difference = second - first"
    elif len(compute.reading_of(now)) == len(compute.reading_of(other)):
        lines["difference"] = "difference = two - one"
    lines["compare_numbers"] = (
        "from mha_core.heads.measures import MEASURES, Seen\n"
        f"names = {list(COMPARED)}\n"
        "compare_numbers = {\n"
        '    "first": [float(MEASURES[name].score(one, Seen(keep_one))) for name in names],\n'
        '    "second": [float(MEASURES[name].score(two, Seen(keep_two))) for name in names],\n'
        "}"
    )
    if has_masks:
        head = min(now.head, compute.config_of(now).n_heads - 1)
        measures = ["entropy", "entropy_share", "distance", "first"]
        lines["compare_masks"] = (
            "from mha_core.heads.measures import MEASURES, Seen\n"
            "compare_masks = {\n"
            f"    name: [float(MEASURES[name].score(each.pattern[{head}], Seen(each.keep)))\n"
            "           for each in under]\n"
            f"    for name in {measures}\n"
            "}"
        )
    return lines


def _aligned(now: Scene, other: Scene) -> str:
    """The difference over the stretches of one text that two readings cut alike; "" for readings
    that cut it alike all over, or read different texts."""
    spans = [
        [(token.start, token.end) for token in compute.reading_of(each).tokens]
        for each in (now, other)
    ]
    if now.text != other.text or spans[0] == spans[1]:
        return ""
    stretches = align_tokens(now.text, *spans)
    return (
        "from mha_core.heads.regroup import merge_tokens\n"
        f"covers_one = {[list(each.first) for each in stretches]}\n"
        f"covers_two = {[list(each.second) for each in stretches]}\n"
        "difference = merge_tokens(two, covers_two) - merge_tokens(one, covers_one)"
    )


def _head_at(scene: Scene, layer: int, head: int) -> str:
    """One head's pattern, of the last layer or head where there are fewer."""
    layer = min(layer, compute.n_layers_of(scene) - 1)
    head = min(head, compute.config_of(scene).n_heads - 1)
    return f"traces[{layer}].pattern[{head}]"


def _under_masks(scene: Scene) -> str:
    """The lines that leave the scene's layer under each of the five masks as `under`."""
    n = f"len({_ids(scene)})"
    calls = [mask_call(scene.with_(mask=mask), n) for mask in get_args(MaskName)]
    if compute.is_trained(scene):
        layer = min(scene.layer, compute.n_layers_of(scene) - 1)
        rope = "" if scene.rope else ", rope=False"
        walked = f"model.trace(text, keep=keep{rope}).layers[{layer}]"
    else:
        walked = "walk_layer(embedding[ids], weights, config, keep=keep)"
    listed = "".join(f"    {call},\n" for call in calls)
    return (
        f"from mha_core import named_mask\nmasks = [\n{listed}]\n"
        f"under = [{walked} for keep in masks]"
    )


def continuing(scene: Scene) -> Lines:
    """The probability of every next token after the text as it stands; every head's row there."""
    from mha_view import writing

    if scene.weights == "real":
        model = (
            "from mha_core.real.load import load_model\nfrom mha_core.real.writer import RealWriter"
            f"\nwriter = RealWriter(load_model({scene.real!r}, device='cpu'))"
        )
    else:
        follow = ""
        if live.find(scene) is not None:
            model = "from mha_core.training.live import pool_ids\n"
            follow = ", may_follow=pool_ids()"
        model = join(
            model_lines(scene), model if follow else "",
            f"from mha_core.model.writer import ToyWriter\nwriter = ToyWriter(model{follow})",
        )  # fmt: skip
    said = writing.said_of(scene)[: writing.look_of(scene)]
    ids = "writer.encode(text)"
    base = join(
        "import numpy as np", model,
        f"from mha_core.continuing import Sampling, chances\n"
        f"text = {scene.text!r}\n"
        f"ids = [*{ids}, *{list(said)}]\nread = writer.read(ids)\n"
        "value = chances(read.logits, Sampling())",
    )  # fmt: skip
    lines = {"": base, "rows": "rows = np.concatenate(read.rows)"}
    if scene.off:
        lines["continue_before"] = 'continue_before = {"score": np.sort(value)[::-1][:5]}'
        lines["continue_after"] = dedent(f"""\
            after = chances(writer.read_without(ids, {scene.off!r}), Sampling())
            continue_after = {{"score": np.sort(after)[::-1][:5]}}""")
    return lines


def training(scene: Scene) -> Lines:
    """Every layer's pattern at the training step looked at, and the curves of the run."""
    from mha_view.explore.checkpoints import final_step, list_steps, nearest_step
    from mha_view.explore.training import CURVES, shipped_curves

    toy = scene.with_(weights="toy", shift=0)
    step = nearest_step(scene.step) if list_steps() else final_step()
    base = write_patterns(toy, None if step == final_step() else step)
    lines = {"": base + "\nvalue = [trace.pattern for trace in traces]"}
    if not list_steps():
        return lines
    grouping = _grouping(toy, hide=False)
    layer = min(scene.layer, compute.TOY_LAYERS - 1)
    lines["checkpoint"] = (
        imports_for(grouping) + f"checkpoint = {regrouped(f'value[{layer}]', grouping)}"
    )
    run = shipped_curves()
    if run is not None:
        names = [name for name in CURVES if name in run.scores[0].heads]
        lines["curves"] = dedent(f"""\
            from mha_core.heads.curves import Curves
            from mha_core.model.checkpoint import WEIGHTS
            run = Curves.read(WEIGHTS / "scores.json")
            curves = {{"steps": run.steps, "losses": run.losses}}
            for name in {names}:
                curves[name] = [scores.best()[name] for scores in run.scores]""")
    return lines
