"""What a teacher's questions are answered with: numbers of the sentence on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mha_core.derivation import head_shares
from mha_core.weights import KV_PARAMETERS
from mha_core.whatif import count_parameters
from mha_view import compute, heavy, thread
from mha_view.panel import literal, number, plain
from mha_view.store import STORE
from mha_view.walk.choose import clearest_key, largest_row
from mha_view.walk.rope import judge_shift

if TYPE_CHECKING:
    from mha_view.scene import Scene
    from mha_view.words import Words

MOVED = 5  # tokens


def facts_of(scene: Scene, words: Words | None = None) -> dict[str, str]:
    """Every number that the stations' words name, as it is printed.

    Args:
        scene: sentence, weights, layer, head and token.
        words: the reader's, where a long sentence's numbers are to be waited for in line.
    """
    scene = compute.resolve(scene)
    head, focus = thread.head_of(scene), thread.focus_of(scene)
    key = ("class facts", compute.walk_key(scene), scene.layer, head, focus)
    cells = compute.config_of(scene).n_heads * len(compute.reading_of(scene)) ** 2
    if words is None or cells <= compute.HEAVY_CELLS or key in STORE:
        return STORE.get(key, lambda: _work_out(scene, head, focus))
    job = heavy.once(STORE.get, key, lambda: _work_out(scene, head, focus))
    found: dict[str, str] = heavy.wait_for(words, "facts", key, job)
    return found


def _work_out(scene: Scene, head: int, focus: int) -> dict[str, str]:
    """The numbers, from the trace of the scene's layer."""
    trace, reading = compute.layer_of(scene), compute.reading_of(scene)
    config, labels = trace.config, reading.labels
    looked_at = clearest_key(trace.pattern[head], focus, compute.fragments_of(scene))
    row_head = head or config.n_heads - 1  # a row of head 0 is no question
    row = row_head * config.d_head + config.d_head // 2
    first = slice(head * config.d_head, (head + 1) * config.d_head)
    feature = largest_row(trace["q_full"].article_value, focus, first)
    shares = head_shares(trace)[:, focus]
    strongest, weakest = int(shares.argmax()), int(shares.argmin())
    _, change = judge_shift(trace, by=MOVED)
    whole = sum(  # read as one head, each shared key and value head is repeated
        np.size(value) * (config.group if name in KV_PARAMETERS else 1)
        for name, value in trace.weights.items()
    )
    size = len(reading)
    return {
        "n_heads": str(config.n_heads),
        "last_head": str(config.n_heads - 1),
        "n_tokens": str(size),
        "square": f"{size * size:,}",
        "weights": f"{config.n_heads * size * size:,}",
        "characters": f"{len(scene.text):,}",
        "d_model": str(config.d_model),
        "d_head": str(config.d_head),
        "rows": str(config.n_heads * config.d_head),
        "head": str(head),
        "token": literal(labels[focus]),
        "key": literal(labels[looked_at]),
        "weight": plain(float(trace.pattern[head, focus, looked_at])),
        "row": str(row),
        "row_head": str(row_head),
        "remainder": str(row % config.d_head),
        "feature": str(feature),
        "value": number(float(trace.q_full[focus, feature])),
        "moved": str(MOVED),
        "change": f"{change:.1e}",
        "strongest": str(strongest),
        "share": f"{100 * shares[strongest]:.0f}",
        "weakest": str(weakest),
        "least": plain(round(100 * float(shares[weakest])), 0),
        "total": plain(float(np.sum(shares))),
        "parameters": f"{count_parameters(trace.weights):,}",
        "parameters_one": f"{whole:,}",
    }
