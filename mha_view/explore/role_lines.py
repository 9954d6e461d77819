"""The pictures and tables of the specialisation page as lines of Python; see `explore.lines`."""

from __future__ import annotations

from textwrap import dedent

import numpy as np

from mha_view import compute
from mha_view.as_python import mask_call
from mha_view.explore.evidence import Report
from mha_view.explore.lines import SCORED, TOY, Lines, real_roles
from mha_view.explore.tabs import tab_of
from mha_view.link import existing_off
from mha_view.scene import Scene
from mha_view.snippets import join

REPORT = (
    "from mha_core import load_toy_model\nfrom mha_core.heads.report import read_report\n"
    "report = read_report(load_toy_model())"
)


def specialisation(scene: Scene) -> Lines:
    """What is on the chosen tab, from the figures measured for the weights."""
    from mha_view.explore import evidence

    if scene.weights == "real":
        return _of_real_heads(scene)
    lines = {
        "": f"import numpy as np\n{REPORT}\nfilled = report['roles'][{scene.role!r}]\n"
            "value = [[found['mean'] for found in layer] for layer in filled['heads']]"
    }  # fmt: skip
    report = evidence.find()
    if report is None:
        return lines
    parts = {"roles": _roles, "map": _map, "damage": _damage, "bench": _bench}
    return lines | parts[tab_of(scene)](scene, report)


def _roles(scene: Scene, report: Report) -> Lines:
    """The chosen role and the chosen head."""
    from mha_core.heads.probe import TASK_RELATION
    from mha_core.heads.repeats import REPEAT_ROLES

    heads, best = report["roles"][scene.role]["heads"], tuple(report["roles"][scene.role]["head"])
    chosen = min(scene.layer, len(heads) - 1), min(scene.head, len(heads[0]) - 1)
    layer, head = chosen if scene.own else best
    lines = {
        "role_strip": "role_strip = np.array(value).reshape(1, -1)",
        "role": dedent(f"""\
            found = filled["heads"][{layer}][{head}]
            role = {{name: [found[name]] for name in ("mean", "low", "high", "n")}}"""),
    }
    if scene.role in REPEAT_ROLES:
        lines["copying"] = dedent(f"""\
            without = np.array(report["copying"]["without"])
            others = np.delete(without.ravel(), {layer} * without.shape[1] + {head})
            scores = [report["copying"]["nouns"], without[{layer}, {head}], others.mean()]
            copying = {{"score": scores}}""")
    for task in [task for task, kind in TASK_RELATION.items() if kind == scene.role]:
        lines[f"knockout_{task}"] = dedent(f"""\
            cut = report["knockout"][{task!r}]
            names = [name for name in ("intact", "role", "others", "distractor") if name in cut]
            knockout_{task} = {{"score": [cut[name]["pair"] for name in names]}}""")
    lines["passport"] = dedent(f"""\
        measured = report["heads"]["{chosen[0]}.{chosen[1]}"].values()
        passport = {{"score": [found["mean"] for found in measured]}}
        passport |= {{name: [found[name] for found in measured] for name in ("low", "high")}}""")
    return lines


def _map(scene: Scene, report: Report) -> Lines:
    """Every role's score for every head, and one role's head by head."""
    from mha_view.explore.roles import roles_of

    heads = report["roles"][scene.role]["heads"]
    means = np.array([found["mean"] for layer in heads for found in layer])
    order = list(range(means.size))
    if scene.by_score:
        order = [int(place) for place in np.argsort(-means, kind="stable")]
    return {
        "role_map": dedent(f"""\
            order = {order}
            names = {roles_of(report)}
            roles = [report["roles"][name] for name in names]
            scores = [[found["mean"] for layer in role["heads"] for found in layer]
                      for role in roles]
            role_map = np.array(scores)[:, order]"""),
        f"role_{scene.role}": dedent(f"""\
            every = [found for layer in filled["heads"] for found in layer]
            parts = {{"mass": "mean", "low": "low", "high": "high"}}
            role_{scene.role} = {{name: [every[place][part] for place in order]
                                 for name, part in parts.items()}}"""),
        "roles": dedent("""\
            best = [role["heads"][role["head"][0]][role["head"][1]] for role in roles]
            roles = {name: [found[name] for found in best] for name in ("mean", "low", "high")}"""),
    }


def _damage(scene: Scene, report: Report) -> Lines:
    """What every task loses without each head, and without two."""
    found = report["damage"]["tasks"][scene.task]
    kinds = [kind for kind in ("loss", "zero", "exact") if found[kind] is not None]
    return {
        "damage": dedent("""\
            tasks = report["damage"]["tasks"]
            lost = np.array([np.ravel(found["loss"]) for found in tasks.values()])
            damage = -lost"""),
        "losses": dedent(f"""\
            task = tasks[{scene.task!r}]
            losses = -np.array([np.ravel(task[kind]) for kind in {kinds}])"""),
        "jurors": dedent("""\
            first, second = np.sort(-lost)[:, :2].T
            accuracy = [report["tasks"][name]["mean"] for name in report["damage"]["tasks"]]
            jurors = {"intact": accuracy, "first_lost": -first, "second_lost": -second}"""),
        "pairs": dedent("""\
            dearest = sorted(task["pairs"], key=lambda pair: -pair["loss"])
            alone = np.array(task["loss"])
            pairs = {"both_lost": [pair["loss"] for pair in dearest]}
            pairs["first_lost"] = [alone[tuple(pair["heads"][0])] for pair in dearest]
            pairs["second_lost"] = [alone[tuple(pair["heads"][1])] for pair in dearest]"""),
    }


def _read_with(scene: Scene) -> str:
    """The toy model's reading of the scene's sentence as `run`."""
    rope = "" if scene.rope else ", rope=False"
    masked = ""
    lines = ["import torch", TOY, f"ids = torch.tensor(model.ids_of({scene.text!r}))"]
    if scene.mask != "causal":
        lines += ["from mha_core import named_mask",
                  f"keep = torch.from_numpy({mask_call(scene, 'len(ids)')})"]  # fmt: skip
        masked = ", keep=keep"
    return join(*lines, f"with torch.no_grad():\n    run = model.run(ids{masked}{rope})")


def _bench(scene: Scene, _: Report) -> Lines:
    """The next word before and after heads are changed, and its logit in parts."""
    from mha_view.explore.bench import token_after

    read, place = _read_with(scene), token_after(scene, compute.reading_of(scene))
    options = read.rpartition("model.run(ids")[2].rpartition(")")[0]
    token = "int(before.argmax())" if scene.token < 0 else str(scene.token)
    return {
        "bench_before": read + "\n" + _next(f"run.logits[{place}]", "before"),
        "bench_after": join(
            _edits(scene, place),
            f"with torch.no_grad():\n    without = model.run(ids{options}, edits=edits)",
            _next(f"without.logits[{place}]", "after"),
        ),
        "direct": dedent(f"""\
            from mha_core.heads.ablation import logit_parts
            word = {token}
            parts = logit_parts(model, run, query={place})
            pieces = [parts.embedding[0, word][None], parts.heads[:, :, 0, word].flatten()]
            has_mlp = [added is not None for added in run.mlps]
            direct = torch.cat([*pieces, parts.mlps[has_mlp, 0, word]])[None].numpy()"""),
    }


def _next(logits: str, name: str) -> str:
    """The most probable next words of logits, as the table of that name has them."""
    from mha_view.explore.bench import SHOWN

    return dedent(f"""\
        {name} = {logits}.double().softmax(-1)
        bench_{name} = {{"score": {name}.sort(descending=True).values[:{SHOWN}].numpy()}}""")


def _edits(scene: Scene, place: int) -> str:
    """The lines that leave what the bench changes as `edits`."""
    from mha_view.explore.changed import edge_of, every_head

    off = [head for head in scene.off if head in every_head(scene)]
    if not off:
        return "from mha_core.model.edits import Edits\nedits = Edits()"
    if scene.ablation == "zero":
        return f"from mha_core.model.edits import zeros_for\nedits = zeros_for({off})"
    if scene.ablation == "look":
        query, key = edge_of(scene, compute.walk_of(scene).patterns, place)
        edges = [(*head, query, key) for head in off]
        n_heads = "model.n_heads[0]" if scene.weights == "real" else "model.n_heads"
        return (
            "from mha_core.model.edits import forbid_edges\n"
            f"edits = forbid_edges({edges}, {n_heads}, ids.shape[-1])"
        )
    if scene.weights == "real":
        return join(
            "from mha_core.real.pairs import score_pairs\n*_, whole = score_pairs(model)",
            "from mha_core.model.edits import Edits\n"
            f"heads = {{(layer, head): whole.means[layer][head] for layer, head in {off}}}\n"
            "edits = Edits(heads)",
        )
    return (
        "from mha_core.heads.ablation import ablate\n"
        "from mha_core.heads.evaluate import measure_means\n"
        f'edits = ablate(model, {off}, mode="mean", means=measure_means(model))'
    )


def _of_real_heads(scene: Scene) -> Lines:
    """What is measured of another people's model on the open tab: its scores as an induction head,
    or the share of pairs it has right; what it expects next with heads changed."""
    from mha_view.explore.bench import token_after

    model = (
        "from mha_core.real.load import load_model\n"
        f"model = load_model({scene.real!r}, device='cpu')"
    )
    if tab_of(scene) == "roles":
        value = "value = roles.values['induction'].mean(axis=0)"
        return {"": join(model, SCORED, value), **real_roles()}
    if tab_of(scene) == "bench":
        place = token_after(scene, compute.reading_of(scene))
        run = "run_edited(model, ids, {edits}).logits[0, " + str(place) + "].float()"
        whole = join(
            model,
            "import torch\nfrom mha_core.model.edits import Edits\n"
            "from mha_core.real.edited import run_edited\n"
            f"ids = torch.tensor([model.encode({scene.text!r}).ids])\n"
            f"value = {run.format(edits='Edits()')}.softmax(-1).numpy()",
        )
        return {
            "": whole,
            "bench_before": _next(run.format(edits="Edits()"), "before"),
            "bench_after": join(_edits(scene, place), _next(run.format(edits="edits"), "after")),
        }
    return _of_tasks(scene, model)


def _of_tasks(scene: Scene, model: str) -> Lines:
    """The share of pairs that a model has right, with all its heads and with some off; and by how
    much, pair by pair."""
    from mha_core.real.pairs import load_pairs

    right, is_off = "[task.right.mean for task in {of}.tasks]", bool(existing_off(scene))
    scored = "from mha_core.real.pairs import score_pairs\n*_, whole = score_pairs(model)"
    leads = {"lead": "whole"}
    lines = {"known_whole": f'known_whole = {{"score": {right.format(of="whole")}}}'}
    if is_off:
        how = "zero" if scene.ablation == "zero" else "mean"
        edits = _edits(scene.with_(ablation=how), 0)
        scored = join(scored, f"{edits}\n*_, without = score_pairs(model, edits)")
        leads["without"] = "without"
        lines["known_without"] = (
            "both = zip(whole.tasks, without.tasks)\n"
            "shares = [after.right.mean for before, after in both if before.is_known]\n"
            'known_without = {"score": shares}'
        )
    for place, name in enumerate(load_pairs()):
        columns = [f'"{lead}": {of}.tasks[{place}].margins' for lead, of in leads.items()]
        lines[f"known_{name}"] = f"known_{name} = {{{', '.join(columns)}}}"
    value = f"value = {right.format(of=[*leads.values()][-1])}"
    return {"": join(model, f"{scored}\n{value}"), **lines}
