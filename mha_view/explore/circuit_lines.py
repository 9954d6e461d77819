"""The pictures and tables of circuits and hypotheses as lines of Python; see `explore.lines`."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

from mha_view import compute, live
from mha_view.explore.lines import TOY, Lines, model_lines
from mha_view.scene import Scene
from mha_view.snippets import join

if TYPE_CHECKING:
    from mha_core.heads.prompts import Prompt


def circuits(scene: Scene) -> Lines | None:
    """The circuit and what it is drawn as on the chosen part of the page."""
    from mha_view.explore import circuit as found_by

    scene = found_by.as_asked(scene)
    if scene.circuit_part == "lens":
        return _lens(scene)
    if scene.circuit_part == "story":
        scene = scene.with_(circuit="copying", instead="corrupted")
    base = _circuit(scene)
    if base is None:
        return None
    lines = {"": f"{base}\nvalue = [effect.mean for effect in circuit_found.edges.values()]"}
    if scene.circuit_part == "story":
        return lines | _story(scene)
    if scene.circuit_part == "weights":
        return lines | {
            "against_weights": dedent("""\
            from mha_core.heads.composition import measure_composition
            from mha_core.model.edits import EMBEDDING
            composition = measure_composition(model)
            against_weights = []
            for path, effect in circuit_found.paths.items():
                if path.sender != EMBEDDING and path.part in ("q", "k", "v"):
                    scores = composition.scores[path.part][*path.sender, path.layer]
                    times = scores.mean() / composition.baseline[path.part]
                    against_weights.append((times, effect.mean))""")
        }
    return lines | {
        "circuit": (
            "circuit = [(effect.mean, effect.low, effect.high)\n"
            "           for effect in circuit_found.edges.values()]"
        ),
        "circuit_paths": (
            'circuit_paths = {"whole": [effect.mean for effect in circuit_found.heads.values()]}'
        ),
    }


def _circuit(scene: Scene) -> str | None:
    """The lines that leave the circuit asked about as `circuit_found`; None where nothing can be
    asked."""
    from mha_core.errors import ConfigError
    from mha_view.explore import circuit as found_by

    is_live = live.find(scene) is not None
    model = model_lines(scene)
    if scene.circuit != "own" and scene.instead == "corrupted" and not is_live:
        return join(
            model,
            "from mha_core.heads.circuit_report import read_circuits\n"
            f"circuit_found = read_circuits(model)[{scene.circuit!r}]",
        )
    prompts = (
        "from mha_core.heads.circuit_report import CIRCUIT_COUNT, CIRCUIT_SEED\n"
        "from mha_core.heads.prompts import cut_after, task_prompts\n"
        f"drawn = task_prompts({scene.circuit!r}, CIRCUIT_SEED, CIRCUIT_COUNT)\n"
        "prompts = [cut_after(prompt) for prompt in drawn]"
    )
    if scene.circuit == "own":
        try:
            prompts = _prompt(found_by.asked_of(scene).prompt, cut=True)
        except ConfigError:
            return None
    elif is_live:
        prompts = prompts.replace("task_prompts", "copying_prompts")
        prompts = prompts.replace(f"{scene.circuit!r}, CIRCUIT_SEED, CIRCUIT_COUNT",
                                  "CIRCUIT_SEED, CIRCUIT_COUNT, pool_ids()")  # fmt: skip
        prompts = f"from mha_core.training.live import pool_ids\n{prompts}"
    return join(
        model, prompts,
        "from mha_core.heads.circuits import Bench, find_circuit_at_once\n"
        f"bench = Bench(model, prompts, {scene.instead!r})\n"
        "circuit_found = find_circuit_at_once(bench)",
    )  # fmt: skip


def _prompt(prompt: Prompt, *, cut: bool) -> str:
    """One sentence and its twin as `prompts`."""
    from mha_core.heads.prompts import cut_after

    p = cut_after(prompt) if cut else prompt
    return (
        "from mha_core.heads.prompts import Prompt\n"
        f"sentence, twin = {p.ids!r}, {p.corrupted!r}\n"
        f"prompts = [Prompt(sentence, twin, query={p.query}, right={p.right}, wrong={p.wrong})]"
    )


def _story(scene: Scene) -> Lines:
    """The word's probability as it is, without each step of the story, without those cut."""
    from mha_view.explore import circuit as found_by
    from mha_view.explore.story import HALF, cast_of, story_prompt

    found = found_by.known(scene)
    cast = None if found is None else cast_of(found)
    if cast is None:
        return {}
    prompt, (layer, _) = story_prompt(scene), cast.inducing
    model = compute.model_of(scene)
    n, h, query = model.n_layers, model.n_heads, prompt.query
    cuts = [number - 1 for number in scene.cuts if number <= 5]
    together = ""
    if len(cuts) > 1:
        joined = " | ".join(f"cuts[{number}]" for number in cuts)
        together = f"\nstory = [[*story[0], bench.probability({joined})]]"
    edges = f"(({layer}, head, {query}, {query - HALF + 1}) for head in range({h}))"
    return {
        "story": join(
            _prompt(prompt, cut=False),
            "from mha_core.heads.circuits import Bench\n"
            "from mha_core.model.edits import EMBEDDING, Path, every_path, forbid_edges\n"
            "bench = Bench(model, prompts)\n"
            f"back = {cast.back}\n"
            "cuts = [\n"
            f"    bench.cut(every_path(back, {n})),\n"
            f'    bench.cut([Path(back, {layer}, "k")]),\n'
            f'    bench.cut([Path(EMBEDDING, {layer}, "q")]),\n'
            f"    forbid_edges({edges}, {h}, {len(prompt.ids)}),\n"
            f'    bench.cut([Path(EMBEDDING, {layer}, "v")]),\n'
            "]\n"
            f"story = [[bench.probability(), *map(bench.probability, cuts)]]{together}",
        )
    }


def _lens(scene: Scene) -> Lines:
    """What each stage would say, what each part adds, and what is lost without each head."""
    from mha_view.explore.bench import token_after

    place = token_after(scene, compute.reading_of(scene))
    word = str(scene.token)
    if not 0 <= scene.token < len(compute.model_of(scene).tokenizer):
        word = f"int(run.logits[{place}].argmax())"
    base = join(
        "import torch", model_lines(scene),
        f"ids = torch.tensor(model.ids_of({scene.text!r}))\n"
        "with torch.no_grad():\n"
        "    run = model.run(ids)\n"
        f"    word = {word}\n"
        "    stages = torch.stack([model.read_out(stream) for stream in run.streams])\n"
        "    value = stages.softmax(-1)[..., word].numpy()",
    )  # fmt: skip
    return {
        "": base,
        "lens": "lens = value",
        "lens_parts": dedent("""\
            last = run.streams[-1]
            with torch.no_grad():
                parts = [model.direct(run.streams[0], last)[:, word]]
                for layer, heads in enumerate(run.heads):
                    parts += [*model.direct(model.contributions(layer, heads), last)[..., word]]
                parts += [model.direct(mlp, last)[:, word] for mlp in run.mlps if mlp is not None]
            lens_parts = torch.stack(parts).numpy()"""),
        "lens_beside": "from mha_core.heads.ablation import ablate" + dedent(f"""
            import numpy as np
            means = torch.stack([heads.mean(-2) for heads in run.heads])
            off = []
            for head in np.ndindex(model.n_layers, model.n_heads):
                edits = ablate(model, [head], mode="mean", means=means)
                with torch.no_grad():
                    without = model.run(ids, edits=edits).logits
                off.append(float(run.logits[{place}, word] - without[{place}, word]))
            lens_beside = np.stack([lens_parts[1 : 1 + len(off), {place}], off])"""),
    }  # fmt: skip


def hypothesis(scene: Scene) -> Lines | None:
    """Every head's weight on the target over the half that reports, and what is shown of it."""
    from mha_core.heads.ready_claims import READY
    from mha_view.explore.stated import EXAMPLE_SEED, open_stated_of

    reading = "from mha_core.heads.marks import read_marked\n"
    mark = "[(one.query - 1, place - 1) for one in first for place in one.targets]"
    if not scene.marked.strip():
        return {
            "": f"from mha_core.heads.ready_claims import READY\n{reading}{TOY}",
            **{
                f"claim_{name}": (
                    f"read = read_marked(READY[{name!r}][{scene.lang!r}], model.tokenizer, "
                    f"count={scene.claim_count}, seed={EXAMPLE_SEED})\n"
                    f"first = read.sentences[:1]\nclaim_{name} = {mark}"
                )
                for name in READY
            },
        }
    stated = open_stated_of(scene)
    if not stated.sentences:
        return None
    cutter, model = "model.tokenizer", model_lines(scene)
    if stated.scene.weights == "real":
        cutter = "Cutter(real)"
        model = (
            "from mha_core.real.chain import Chain\nfrom mha_core.real.cutter import Cutter\n"
            "from mha_core.real.load import load_model\n"
            f"real = load_model({scene.real!r}, device='cpu')\nmodel = Chain(real)"
        )
    base = join(
        model, f"{reading}marked = {scene.marked!r}\n"
        f"reading = read_marked(marked, {cutter}, count={scene.claim_count}, "
        f"seed={scene.claim_seed})",
    )  # fmt: skip
    if not stated.can_freeze:
        return {"": base, "claim_first": f"first = reading.sentences[:1]\nclaim_first = {mark}"}
    base = join(
        base, "from mha_core.heads.claim import Claim, examine\n"
        f"heads = {stated.heads!r}\n"
        f"claim = Claim({stated.says!r}, reading.sentences, heads, seed={scene.claim_seed})\n"
        "outcome = examine(model, claim)\n"
        "value = [found.mass.mean for found in outcome.findings]",
    )  # fmt: skip
    if not scene.frozen:
        return {"": base, "claim_first": f"first = reading.sentences[:1]\nclaim_first = {mark}"}
    return {
        "": base,
        "claim_heads": dedent("""\
            found = outcome.findings
            claim_heads = {
                "mass": [one.mass.mean for one in found],
                "low": [one.mass.low for one in found],
                "high": [one.mass.high for one in found],
                "anywhere": [one.anywhere for one in found],
                "shuffled": [one.shuffled for one in found],
                "p": [one.p for one in found],
                "argmax": [one.argmax.mean for one in found],
            }"""),
        "claim_findings": 'claim_findings = {"mass": value, "p": claim_heads["p"]}',
        "claim_spread": "claim_spread = outcome.masses",
        "claim_cut": dedent("""\
            cuts = outcome.cut.edge, outcome.cut.other_key, outcome.cut.other_head
            claim_cut = {"score": [cut and cut.mean for cut in cuts]}"""),
        "claim_sentences": 'claim_sentences = {"mass": outcome.masses}',
    }
