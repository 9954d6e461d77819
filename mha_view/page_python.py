"""The figures of the pages that explore and relate, as the lines of Python that give them again.

Each page's lines leave the numbers of its main picture or table as `value`.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from mha_view import compute, live
from mha_view.as_python import write_patterns, write_python
from mha_view.scene import Scene
from mha_view.words import Words

Write = Callable[[Scene], str | None]


def write_page(name: str, scene: Scene) -> str | None:
    """Write the lines of a page; None where there is nothing to compute yet.

    Args:
        name: the page's.
        scene: what the reader chose.

    >>> print(write_page("sizes", Scene(model="gpt2-medium")))
    from mha_core.sizes import measure, read_bundled
    <BLANKLINE>
    value = measure(read_bundled('gpt2-medium'))
    """
    return PAGES[name](compute.resolve(scene))


def draw_python(name: str, words: Words, scene: Scene) -> None:
    """The lines of a page, to be copied, at its foot."""
    if (code := write_page(name, scene)) is not None:
        with st.expander(words("card.python")):
            st.code(code, language="python")


def _gallery(scene: Scene) -> str:
    """Every layer's pattern, [head, query, key] each."""
    return write_patterns(scene) + "\nvalue = [trace.pattern for trace in traces]"


def _compare(scene: Scene) -> str:
    """Both readings, [query, key] each."""
    from mha_view.explore.compare import as_shown

    now = as_shown(scene)
    other, step = now, None
    if now.against == "mask":
        other = now.with_(mask=now.other_mask)
    elif now.against == "rope":
        other = now.with_(rope=not now.rope)
    elif now.against == "text":
        other = now.with_(text=now.other_text)
    elif now.against == "weights":
        other = now.with_(weights=now.other_weights)
    elif now.against == "checkpoint":
        from mha_view.explore.checkpoints import final_step

        step = None if now.other_step == final_step() else now.other_step
    is_head = now.against == "head"
    first, second = write_patterns(now), write_patterns(other, step)
    parts = [first, f"first = {_head_of(now, now.layer, now.head)}"]
    if second != first:
        parts += ["", second]
    layer, head = (now.other_layer, now.other_head) if is_head else (now.layer, now.head)
    return "\n".join([*parts, f"second = {_head_of(other, layer, head)}", "value = first, second"])


def _head_of(scene: Scene, layer: int, head: int) -> str:
    """One head's pattern, of the last layer or head where there are fewer."""
    layer = min(layer, compute.n_layers_of(scene) - 1)
    head = min(head, compute.config_of(scene).n_heads - 1)
    return f"traces[{layer}].pattern[{head}]"


def _specialisation(scene: Scene) -> str:
    """Every head's score in the chosen role, [layer][head], as it was measured for the weights; of
    another people's model its scores as an induction head, or the share of pairs it has right."""
    if scene.weights == "real":
        return _of_real_heads(scene)
    return "\n".join([
        "from mha_core import load_toy_model",
        "from mha_core.heads.report import read_report",
        "",
        "report = read_report(load_toy_model())",
        f"role = report['roles'][{scene.role!r}]",
        "value = [[found['mean'] for found in layer] for layer in role['heads']]",
    ])  # fmt: skip


def _of_real_heads(scene: Scene) -> str:
    """What is measured of another people's model, on the part of the page that is open."""
    from mha_view.explore.tabs import tab_of

    load = ["from mha_core.real.load import load_model"]
    model = f"model = load_model({scene.real!r}, device='cpu')"
    if tab_of(scene) == "roles":
        load.append("from mha_core.real.roles import score_heads")
        return "\n".join(
            [*load, "", model, "value = score_heads(model).values['induction'].mean(axis=0)"]
        )
    load.append("from mha_core.real.pairs import score_pairs")
    lines, given = [model], "model"
    if scene.off:
        is_mean = scene.ablation != "zero"
        load.insert(0, f"from mha_core.model.edits import {'Edits' if is_mean else 'zeros_for'}")
        lines.append(f"heads = {list(scene.off)!r}")
        edits = "zeros_for(heads)"
        if is_mean:
            lines.append("*_, whole = score_pairs(model)")
            edits = "Edits({(layer, head): whole.means[layer][head] for layer, head in heads})"
        given = f"model, {edits}"
    lines += [f"*_, found = score_pairs({given})",
              "value = [task.right.mean for task in found.tasks]"]  # fmt: skip
    return "\n".join([*load, "", *lines])


def _circuits(scene: Scene) -> str | None:
    """What each path of a task's circuit is worth, the largest first, as measured for the weights;
    none for the reader's own two sentences."""
    if scene.circuit == "own":
        return None
    return "\n".join([
        "from mha_core import load_toy_model",
        "from mha_core.heads.circuit_report import read_circuits",
        "",
        f"circuit = read_circuits(load_toy_model())[{scene.circuit!r}]",
        "value = [effect.mean for effect in circuit.edges.values()]",
    ])  # fmt: skip


def _hypothesis(scene: Scene) -> str | None:
    """Every head's weight on the target over the half that reports."""
    from mha_view.explore.stated import open_stated_of

    stated = open_stated_of(scene)
    if not stated.can_freeze:
        return None
    kept = live.find(scene)
    load = "from mha_core import load_toy_model"
    model = ["model = load_toy_model()"]
    if kept is not None:
        s = kept.settings
        load = "from mha_core.training.live import live_snapshots"
        model = [
            f"*_, last = live_snapshots(until={s.steps}, d_model={s.d_model}, n_heads={s.n_heads}, "
            f"n_layers={s.n_layers}, seed={s.seed})",
            "model = last.model",
        ]
    return "\n".join([
        load,
        "from mha_core.heads.claim import Claim, examine",
        "from mha_core.heads.marks import read_marked",
        "",
        f"marked = {scene.marked!r}",
        *model,
        f"reading = read_marked(marked, model.tokenizer, count={scene.claim_count}, "
        f"seed={scene.claim_seed})",
        f"heads = {stated.heads!r}",
        f"claim = Claim({stated.says!r}, reading.sentences, heads, seed={scene.claim_seed})",
        "outcome = examine(model, claim)",
        "value = [found.mass.mean for found in outcome.findings]",
    ])  # fmt: skip


def _continue(scene: Scene) -> str:
    """The probability of every next token after the text as it stands, [vocabulary]."""
    if scene.weights == "real":
        return "\n".join([
            "import torch",
            "",
            "from mha_core.real.load import load_model",
            "",
            f"text = {scene.text!r}",
            f"model = load_model({scene.real!r}, device='cpu')",
            f"ids = torch.tensor([[*model.encode(text).ids, *{list(scene.said)!r}]])",
            "with torch.no_grad():",
            "    value = model.network(input_ids=ids).logits[0, -1].double().softmax(-1).numpy()",
        ])  # fmt: skip
    said = f"[*model.ids_of(text), *{list(scene.said)!r}]" if scene.said else "model.ids_of(text)"
    return "\n".join([
        "import torch",
        "",
        "from mha_core import load_toy_model",
        "",
        f"text = {scene.text!r}",
        "model = load_toy_model()",
        f"ids = torch.tensor([{said}])",
        "with torch.no_grad():",
        "    value = model(ids)[0, -1].double().softmax(-1).numpy()",
    ])  # fmt: skip


def _training(scene: Scene) -> str:
    """Every layer's pattern at the training step looked at, [head, query, key] each."""
    from mha_view.explore.checkpoints import final_step, list_steps, nearest_step

    toy = scene.with_(weights="toy", shift=0)
    step = nearest_step(scene.step) if list_steps() else final_step()
    lines = write_patterns(toy, None if step == final_step() else step)
    return lines + "\nvalue = [trace.pattern for trace in traces]"


def _sizes(scene: Scene) -> str | None:
    """Everything measured about a config."""
    if scene.model == "hand":
        return "\n".join([
            "from mha_core.sizes import from_numbers",
            "",
            f"value = from_numbers(d_model={scene.hand_d}, n_heads={scene.hand_h}, "
            f"n_kv_heads={scene.hand_kv or None}, d_head={scene.hand_d_head or None}, "
            f"n_layers={scene.hand_layers})",
        ])  # fmt: skip
    if scene.model == "file":
        if not scene.config_text.strip():
            return None
        return "\n".join([
            "from mha_core.sizes import measure, read_text",
            "",
            f"config, notes = read_text({scene.config_text!r})",
            "value = measure(config, notes=notes)",
        ])  # fmt: skip
    return (
        "from mha_core.sizes import measure, read_bundled\n\n"
        f"value = measure(read_bundled({scene.model!r}))"
    )


def _grouped(scene: Scene) -> str:
    """The layer's pattern with KV heads merged, [head, query, key]."""
    from mha_core.grouped import kv_choices

    choices = kv_choices(compute.config_of(scene).n_kv_heads)
    shared = scene.shared if scene.shared in choices else choices[len(choices) // 2]
    lines = write_python(scene).splitlines()[:-1]
    at = lines.index("") if lines[0].startswith("from") else lines.index("", 2)
    lines.insert(at, "from mha_core.grouped import share_again")
    return "\n".join([*lines, f"value = share_again(trace, {shared}).pattern"])


def _vit(scene: Scene) -> str:
    """Every layer's pattern on the image, [head, query, key] each."""
    if scene.drawn:
        from mha_core.errors import DataError
        from mha_core.model.digits import digit_from_canvas
        from mha_view.relate.drawing import unpack_drawing

        try:
            image = digit_from_canvas(unpack_drawing(scene.drawing)).tolist()
        except DataError:
            image = [[0] * 8] * 8
        source = ["import numpy as np", "", "from mha_core.model.vit import load_vit", "",
                  f"image = np.array({image!r}, dtype=np.uint8)"]  # fmt: skip
    else:
        source = [
            "from mha_core.model.digits import load_digits, split_digits",
            "from mha_core.model.vit import load_vit",
            "",
            f"image = split_digits(load_digits())[1].images[{scene.digit}]",
        ]
    return "\n".join(
        [*source, "value = [layer.pattern for layer in load_vit().trace(image).layers]"]
    )


PAGES: dict[str, Write] = {
    "gallery": _gallery,
    "compare": _compare,
    "specialisation": _specialisation,
    "circuits": _circuits,
    "hypothesis": _hypothesis,
    "continue": _continue,
    "training": _training,
    "sizes": _sizes,
    "grouped": _grouped,
    "vit": _vit,
}
