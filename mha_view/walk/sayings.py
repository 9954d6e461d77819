"""What Play says: a sentence a step, about the reader's own sentence."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from mha_core.derivation import head_share
from mha_core.trace import AttentionTrace
from mha_view.words import Words

STEP_NAMES = ("tokens", "projection", "heads", "rope", "attention", "concat", "w_o", "residual")


def sayings(
    trace: AttentionTrace,
    labels: Sequence[str],
    head: int,
    token: int,
    words: Words,
    *,
    learned: bool,
) -> list[str]:
    """One sentence for each of `STEP_NAMES`, as HTML.

    Args:
        trace: the layer.
        labels: a label a token.
        head: the chosen head.
        token: the token looked at.
        words: the reader's words.
        learned: whether the weights have learned anything.
    """
    config = trace.config
    key, weight = strongest_key(trace, head, token)
    before, added = (
        float(np.linalg.norm(vector.astype(np.float64)))
        for vector in (trace.stream[token], trace.out[token])
    )
    share = f"{head_share(trace, head, token):.0%}".replace("-", "−")
    values = {
        "S": trace.n_tokens, "d": config.d_model, "n": config.n_heads, "kv": config.n_kv_heads,
        "d_head": config.d_head, "group": config.group, "rows": config.n_heads * config.d_head,
        "stacked": config.n_heads * config.d_value, "head": head,
        "place": token if trace.positions is None else int(trace.positions[token]),
        "token": _marked(labels[token], "query"), "key": _marked(labels[key], "key"),
        "weight": f"<b>{weight:.3f}</b>", "share": f"<b>{share}</b>",
        "before": f"{before:.1f}", "added": f"{added:.1f}",
    }  # fmt: skip
    names = dict.fromkeys(STEP_NAMES, "")
    if config.n_kv_heads < config.n_heads:
        names |= {"projection": ".grouped", "heads": ".grouped"}
    if config.n_heads == 1:
        names["heads"] = ".one"
    if config.rope is None:
        names["rope"] = ".off"
    names["attention"] = ("" if learned else ".random") + (".self" if key == token else "")
    return [words(f"stage.say.{name}{kind}", **values) for name, kind in names.items()]


def strongest_key(trace: AttentionTrace, head: int, query: int) -> tuple[int, float]:
    """The key that a query of a head gives most weight, and that weight."""
    row = trace.pattern[head, query]
    key = int(row.argmax())
    return key, float(row[key])


def _marked(label: str, role: str) -> str:
    """A word in its role's colour, as HTML."""
    return f'<b class="{role}"><bdi>{escape(label)}</bdi></b>'
