"""What a saved picture says of itself: its title, the sentence, what was chosen, its axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mha_view import compute, real, thread
from mha_view.scene import Scene
from mha_view.words import Words

# Axes that need no word beside the picture on its page, and do where it stands alone.
AXES = {
    "shares": {"xaxis": "head"},
    "contributions": {"yaxis": "head"},
    "w_o_heads": {"yaxis": "head"},
    "moved": {"xaxis": "head"},
    "decode": {"yaxis": "head"},
    "losses": {"yaxis": "head"},
    "role_strip": {"yaxis": "role"},
    "role_map": {"yaxis": "role"},
    "damage": {"yaxis": "task"},
    "direct": {"yaxis": "part"},
    "lens": {"yaxis": "stage"},
    "lens_parts": {"yaxis": "part"},
    "lens_beside": {"yaxis": "head"},
    "story": {"yaxis": "cut"},
    **{
        f"claim_{name}": {"xaxis": "token"} for name in ("first", "antecedent", "follower", "again")
    },
    "parameters": {"xaxis": "matrix"},
    "flops": {"xaxis": "step"},
    "cache_bytes": {"xaxis": "kind"},
    "answer": {"xaxis": "digit"},
}


@dataclass(frozen=True)
class About:
    """What a picture was made from.

    Attributes:
        subject: the sentence, the model or the digit.
        facts: what was chosen of it, in one line.
    """

    subject: str
    facts: str = ""


def about_sentence(scene: Scene, words: Words) -> About:
    """The sentence, and the weights, layer, head, token and mask it was seen through."""
    head, focus = thread.head_of(scene), thread.focus_of(scene)
    card = real.card_of(scene)  # which is read as it was made
    facts = words(
        "picture.facts" if card is None else "picture.facts.real",
        weights=words(f"weights.{scene.weights}") if card is None else card.name,
        layer=min(scene.layer, compute.n_layers_of(scene) - 1),
        head=head,
        token=compute.reading_of(scene).labels[focus],
        mask=words(f"mask.{scene.mask}"),
        rope=words("rope.on" if scene.rope else "rope.off"),
    )
    return About(scene.text, facts)


def said_of(name: str, words: Words, about: About, remarks: Sequence[str] = ()) -> dict[str, Any]:
    """What travels to the browser with a picture.

    Args:
        name: the picture's.
        words: the reader's words.
        about: what it was made from.
        remarks: lines that stand under it.
    """
    titled = f"picture.{name}"
    return {
        **({"title": words(titled)} if words.has(titled) else {}),
        "sentence": about.subject,
        "facts": about.facts,
        "remarks": list(remarks),
        "axes": {axis: words(f"picture.axis.{key}") for axis, key in AXES.get(name, {}).items()},
    }
