"""Real models beside transformers: proofs of every layer, roles, heads switched off, times.

    python -m benchmarks.real [FOLDER]

FOLDER is where `make models` has put its two (`models/` unless given). The tests cannot have these
models; this is where they are held to what is said of them.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path

import torch

from mha_core.model.edits import Edits, Head, zeros_for
from mha_core.real.capture import NAME, capture
from mha_core.real.edited import run_edited
from mha_core.real.folder import list_models, models_root
from mha_core.real.layer import NEAR, real_layer, real_layers
from mha_core.real.load import RealModel, load_model
from mha_core.real.roles import HeadScores, score_heads
from mha_core.walk import compare, limits

TEXTS = (
    "The Eiffel Tower is a wrought-iron lattice tower on the Champ de Mars in Paris, France. It is "
    "named after the engineer Gustave Eiffel, whose company designed and built the tower.",
    "我喜欢多头注意力。 The naïve café 🙂 it's",
)
# What is known of these heads: how many of the best must be among them.
KNOWN: dict[str, dict[str, tuple[int, set[Head]]]] = {
    "SmolLM2-135M-Instruct": {
        "induction": (4, {(18, 6), (17, 3), (17, 4), (17, 5)}),
        "previous": (2, {(16, 0), (11, 1)}),
    },
    "all-MiniLM-L6-v2": {"previous": (1, {(0, 2)})},
}
N_OFF = 4


def prove(model: RealModel) -> None:
    """Take every layer through the walk on some texts, and print the largest distances."""
    for text in (*TEXTS, TEXTS[0] * 4):
        read = model.encode(text)
        layers = real_layers(model, read)
        steps = {step: max(layer.proof[step] for layer in layers) for step in layers[0].proof}
        told = ", ".join(f"{step} {apart:.0e}" for step, apart in steps.items())
        print(f"  {read.n_tokens} tokens, {len(layers)} layers proved: {told}")
        assert max(steps.values()) <= NEAR
    trace = layers[len(layers) // 2].trace
    allowed = limits(trace)
    share = max(apart / allowed[step] for step, apart in compare(trace).items())
    print(f"  layer {len(layers) // 2} against float64: {share:.2f} of the limit")
    assert share <= 1


def rank(model: RealModel) -> HeadScores:
    """Score all heads on the tokens that ship, and print the best of each role."""
    scores = score_heads(model)
    for role in scores.values:
        best = ", ".join(
            f"{layer}.{head} {each.mean:.2f} [{each.low:.2f}, {each.high:.2f}]"
            for (layer, head), each in scores.ranked(role)[:5]
        )
        print(f"  {role} (chance {scores.chance[role].mean():.3f}): {best}")
    for role, (count, heads) in KNOWN.get(model.name, {}).items():
        assert {head for head, _ in scores.ranked(role)[:count]} <= heads, role
    return scores


def repeated_probability(model: RealModel, scores: HeadScores, edits: Edits | None) -> float:
    """The probability of the token that comes next, the second time it is said."""
    found = []
    for ids in scores.texts[:4]:
        chances = run_edited(model, torch.tensor([ids]), edits).logits[0].softmax(-1)
        places = torch.arange(len(ids) // 2 + 1, len(ids) - 1)
        found.append(chances[places, torch.tensor(ids)[places + 1]].mean())
    return float(torch.stack(found).mean())


def switch_off(model: RealModel, scores: HeadScores) -> None:
    """Switch the best induction heads off, and as many others of the same layers."""
    best = [head for head, _ in scores.ranked("induction")[:N_OFF]]
    worst = [head for head, _ in scores.ranked("induction")[::-1]]
    others: list[Head] = []
    for layer, _ in best:
        others.append(next(head for head in worst if head[0] == layer and head not in others))
    whole, without, control = (
        repeated_probability(model, scores, edits)
        for edits in (None, zeros_for(best), zeros_for(others))
    )
    names = [", ".join(f"{layer}.{head}" for layer, head in each) for each in (best, others)]
    print(f"  the repeated token: {whole:.3f}; without {names[0]}: {without:.3f}")
    print(f"  without as many others ({names[1]}): {control:.3f}")
    assert without <= whole / 2
    assert control > whole / 2


def seconds(run: Callable[[], object]) -> float:
    """This thread's time for the best of three."""
    best = float("inf")
    for _ in range(3):
        start = time.thread_time()
        run()
        best = min(best, time.thread_time() - start)
    return best


def times(model: RealModel) -> None:
    """A forward pass by transformers, the same captured, and one layer walked and proved."""
    read = model.encode((TEXTS[0] + " ") * 2)
    ids = torch.tensor([read.ids])

    def forward() -> None:
        with torch.no_grad():
            model.network(input_ids=ids)

    model.network.set_attn_implementation("sdpa")  # type: ignore[operator]
    plain = seconds(forward)
    model.network.set_attn_implementation(NAME)  # type: ignore[operator]
    real_layer(model, read, 0)
    captured = seconds(lambda: capture(model, read))
    walked = seconds(lambda: real_layer(model, read, 0))
    print(
        f"  {read.n_tokens} tokens: transformers {plain:.3f} s, captured {captured / plain:.2f} ×, "
        f"one layer walked and proved {walked / plain:.2f} ×"
    )
    print(f"  memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:,.0f} MiB")


def main() -> None:
    """Hold the models that are there to what is said of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=models_root())
    torch.set_num_threads(1)
    folder = parser.parse_args().folder
    cards = [card for card in list_models(folder) if card.problem is None]
    if not cards:
        parser.error(f"{folder} holds no model: make models brings two in")
    for card in cards:
        model = load_model(card.name, root=folder, device="cpu")
        print(f"{card.name}: {model.n_layers} layers, {sum(model.n_heads)} heads")
        times(model)
        prove(model)
        scores = rank(model)
        if model.speaks:
            switch_off(model, scores)


if __name__ == "__main__":
    main()
