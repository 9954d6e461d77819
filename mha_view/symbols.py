"""Every symbol as a chip that opens one sentence with its number for this sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

from mha_core.palette import ROLE_OF
from mha_view import compute
from mha_view.indices import low
from mha_view.words import Words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mha_core.config import AttentionConfig
    from mha_core.trace import AttentionTrace
    from mha_view.scene import Scene

SIZES = ("d", "S", "h", "d_head")
MATRICES = ("w_q", "w_k", "w_v", "w_o")
# All symbols in the order of the walk.
SYMBOLS = (
    *SIZES, "stream", "x", "w_q", "w_k", "w_v", "q_full", "k_full", "v_full", "q", "k", "v",
    "q_rot", "k_rot", "scores", "mask", "pattern", "heads", "concat", "w_o", "out", "residual",
)  # fmt: skip


def numbers(
    keep: NDArray[np.bool_], config: AttentionConfig, n_tokens: int, head: int
) -> Mapping[str, object]:
    """The numbers that the glossary's sentences name."""
    return {
        "d": config.d_model,
        "S": n_tokens,
        "h": config.n_heads,
        "d_head": config.d_head,
        "d_value": config.d_value,
        "root": f"{config.d_head**0.5:.2f}",
        "q_rows": config.n_heads * config.d_head,
        "k_rows": config.n_kv_heads * config.d_head,
        "v_rows": config.n_kv_heads * config.d_value,
        "rows": config.n_heads * config.d_value,
        "head": head,
        "kv_head": head // config.group,
        "first": head * config.d_head,
        "last": (head + 1) * config.d_head - 1,
        "hidden": int((~keep).sum()),
        "squares": keep.size,
    }


def symbols(
    names: Iterable[str], trace: AttentionTrace, scene: Scene, head: int, words: Words
) -> str:
    """Chips as HTML, each with its sentence folded behind it.

    Args:
        names: of `SYMBOLS`, in the order they are shown.
        trace: the layer.
        scene: how shapes are written, and the mask.
        head: the chosen head.
        words: the reader's words.
    """
    values = numbers(trace.keep, trace.config, trace.n_tokens, head)
    made = [
        f'<details class="symbol"><summary><code class="chip {ROLE_OF.get(name, "plain")}" '
        f'data-step="{name}">{_face(name, trace, scene.axes, values)}</code></summary>'
        f"<p>{low(escape(words(f'glossary.{name}', **values)))}</p></details>"
        for name in names
    ]
    return f'<div class="chips">{"".join(made)}</div>'


def _face(name: str, trace: AttentionTrace, axes: str, values: Mapping[str, object]) -> str:
    """What a chip shows: `d = 96`, or `Q_3 [16, 12]` in the article's order or as PyTorch's."""
    if name in SIZES:
        return f"{low(name)} = {values[name]}"
    if name in MATRICES:
        rows, columns = getattr(trace.weights, name).shape
        return f"W<sub>{name[-1]}</sub> [{rows}, {columns}]"
    if name == "mask":
        return f"M [{trace.n_tokens}, {trace.n_tokens}]"
    step = trace[name]
    symbol = escape(step.symbol)
    if axes == "torch":
        return f"{low(symbol.removesuffix('_k'))} {[1, *step.shape]}"
    number = {"head": values["head"], "kv_head": values["kv_head"]}.get(step.axes[0])
    if number is not None and symbol.endswith("_k"):
        symbol = f"{symbol.removesuffix('_k')}_{number}"
    return f"{low(symbol)} {list(step.article_shape)}"


def glossary(scene: Scene, words: Words) -> str:
    """Every symbol's sentence, as HTML, for pages that show no layer."""
    scene = compute.resolve(scene)
    if not compute.is_ready(scene):
        return ""
    config = compute.config_of(scene)
    n_tokens = len(compute.reading_of(scene))
    values = numbers(
        compute.keep_of(scene, n_tokens), config, n_tokens, min(scene.head, config.n_heads - 1)
    )
    lines = (low(escape(words(f"glossary.{name}", **values))) for name in SYMBOLS)
    return f'<ul class="glossary">{"".join(f"<li>{line}</li>" for line in lines)}</ul>'
