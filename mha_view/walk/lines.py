"""The pictures and tables of the walk's pages as lines of Python, from `mha_core` alone.

Each function gives lines by name, as those of the explore pages do: they stand on the page's
record, `trace`, and leave a picture's or a table's numbers as a variable of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, get_args

from mha_core.errors import TwelveHeadsError
from mha_core.rope import Rope
from mha_core.whatif import as_one_head
from mha_view import compute
from mha_view.as_python import STEP_OF, mask_call, write_python
from mha_view.figures.rope import MOST_PAIRS, shown_pairs
from mha_view.grouping import Grouping
from mha_view.scene import MaskName
from mha_view.snippets import imports_for, join, regrouped, titled
from mha_view.walk.choose import clearest_key
from mha_view.walk.layer import PLACES

if TYPE_CHECKING:
    from mha_view.page import Page

Lines = dict[str, str]
LOOK = "from mha_core.whatif import look_again\n"
NUMPY = "import numpy as np\n"


def write_walk(page: Page) -> str:
    """Write the lines of a page of the walk: its record, its main step as `value`, its pictures."""
    parts = PAGES[page.name](page)
    return join(write_python(page.scene, STEP_OF[page.name]), *titled(parts, page.words))


def _steps(names: Iterable[str]) -> Lines:
    """Steps as the article writes them."""
    return {name: f"{name} = trace[{name!r}].article_value" for name in names}


def _patterns(name: str, expression: str, grouping: Grouping) -> Lines:
    """Patterns as a picture shows them."""
    return {name: imports_for(grouping) + f"{name} = {regrouped(expression, grouping)}"}


def _overview(page: Page) -> Lines:
    """The layer as one picture, and every head's pattern."""
    names = list(dict.fromkeys(field for field, *_ in PLACES.values()))
    return {
        "stage": f"stage = [trace[name].value for name in {names}]",
        **_patterns("pattern", "trace.pattern", page.grouping),
    }


def _tokens(page: Page) -> Lines:
    """The stream that comes in, and the ids of its tokens."""
    ids = "ids"
    if page.scene.weights == "real":
        ids = "model.encode(text).ids"
    elif compute.is_trained(page.scene):
        ids = "model.ids_of(text)"
    return {**_steps(["stream"]), "tokens": f'tokens = {{"id": {ids}}}'}


def _projection(page: Page) -> Lines:
    """The three projections, what they are made of, and their matrices."""
    return {
        **_steps(["x", "q_full", "k_full", "v_full"]),
        "matrices": "matrices = [trace.weights.w_q, trace.weights.w_k, trace.weights.w_v]",
    }


def _heads(page: Page) -> Lines:
    """Q, whole and cut, and the chosen head cut out the right and the wrong way."""
    head, n_heads = page.head, page.config.n_heads
    return {
        **_steps(["q_full", "q"]),
        "split": "from mha_core.whatif import split_wrongly\n"
        f"wrong = split_wrongly(trace.q_full, {n_heads})\n"
        f"split = [trace['q'].article_value[{head}], wrong[{head}].T]",
    }


def _rope(page: Page) -> Lines:
    """The pattern with and without, the query and the key that meet, one token's turning."""
    trace, head, token = page.trace, page.head, page.focus
    rope = page.config.rope
    key = page.picked_in("pattern", trace.pattern.shape[1:],
                         clearest_key(trace.pattern[head], token))[2]  # fmt: skip
    width = (rope or Rope()).width(page.config.d_head)
    pairs = shown_pairs(width // 2)
    is_half = (rope or Rope()).pairing == "half"
    points = "np.split(vector[:width], 2)" if is_half else "vector[:width].reshape(-1, 2).T"
    on = f"trace.pattern[{head}]" if rope else f"look_again(trace, {head}, rope=Rope())"
    both = f"np.stack([{on}, look_again(trace, {head}, rope=None)])"
    own = "rope = trace.config.rope" if rope else "rope = Rope()"
    shift = page.scene.shift
    turned = (
        f"from mha_core.rope import pair_frequencies{'' if rope else ', Rope'}\n"
        f"{own}\n"
        f"width = rope.width({page.config.d_head})\n"
        f"angles = pair_frequencies(rope, {page.config.d_head})\n"
        f"pairs = {pairs}\n\n\n"
        "def turn(vector, position):\n"
        f"    first, second = {points}\n"
        "    points = (first + 1j * second)[pairs] * np.exp(1j * angles[pairs] * position)\n"
        "    return np.stack([points.real, points.imag], axis=1)\n\n\n"
        f"query, key = trace.q[{head}], trace.k[{page.kv_head}]\n"
        f"one, other = turn(query[{token}], {token + shift}), turn(key[{key}], {key + shift})\n"
        "ends = [points[:, 0] + 1j * points[:, 1] for points in (one, other)]\n"
        "meeting = [one, other, np.angle(ends[0].conj() * ends[1]), (one * other).sum(axis=1)]"
    )
    lines = {
        "rope_patterns": NUMPY + LOOK
        + ("" if rope else "from mha_core.rope import Rope\n")
        + imports_for(page.grouping) + f"rope_patterns = {regrouped(both, page.grouping)}",
        "meeting": NUMPY + turned,
    }  # fmt: skip
    for role in ("query", "key"):
        lines[f"circles_{role}"] = (
            f"circles_{role} = [turn({role}[{token}], at) for at in (0, {token + shift})]"
        )
    lines["wavelengths"] = (
        "from mha_core.rope import base_frequencies\n"
        "speeds = [angles]\n"
        f"plain = base_frequencies(rope, {page.config.d_head})\n"
        "if not np.allclose(angles, plain, rtol=1e-3):\n"
        "    speeds.append(plain)\n"
        "wavelengths = [2 * np.pi / each for each in speeds]"
    )
    if rope is not None:
        shown = min(MOST_PAIRS, width // 2)
        lines["rotation_q"] = (
            "from mha_core.derivation import derive_rotation\n"
            f"steps = [derive_rotation(trace, 'q', {head}, n, {token}) for n in range({shown})]\n"
            "rotation_q = {\n"
            '    "first": [places[0] for _, _, places in steps],\n'
            '    "second": [places[1] for _, _, places in steps],\n'
            f'    "angle": {token + shift} * angles[:{shown}],\n'
            '    "first_before": [before[0] for before, _, _ in steps],\n'
            '    "second_before": [before[1] for before, _, _ in steps],\n'
            '    "first_after": [after[0] for _, after, _ in steps],\n'
            '    "second_after": [after[1] for _, after, _ in steps],\n'
            "}"
        )
    return lines


def _attention(page: Page) -> Lines:
    """The chosen head's pattern and all others, its scores on the way, other roots, other masks."""
    head, grouping, n_tokens = page.head, page.grouping, len(page.labels)
    roots = [f"trace.pattern[{head}]"]
    roots += [f"look_again(trace, {head}, scale={scale})"
              for scale in (page.config.d_model**-0.5, 1.0)]  # fmt: skip
    divided = ", ".join(roots)
    calls = [mask_call(page.scene.with_(mask=name), str(n_tokens)) for name in get_args(MaskName)]
    masks = ", ".join(f"look_again(trace, {head}, keep={call})" for call in calls)
    group = page.config.group
    return {
        **_patterns("links", "trace.pattern", grouping),
        **_patterns("head_pattern", f"trace.pattern[{head}]", grouping),
        **_patterns("pattern", "trace.pattern", grouping),
        "chain": NUMPY + "config = trace.config\n"
        f"raw = trace.q_rot[{head}] @ trace.k_rot[{head // group}].T\n"
        "scores = raw * config.scale\n"
        "if config.softcap is not None:\n"
        "    scores = config.softcap * np.tanh(scores / config.softcap)\n"
        f"keep_of_head = trace.keep if trace.keep.ndim == 2 else trace.keep[{head}]\n"
        "chain = [raw, scores, np.where(keep_of_head, scores, np.nan)]",
        "divisors": NUMPY + LOOK + imports_for(grouping)
        + f"divisors = {regrouped(f'np.stack([{divided}])', grouping)}",
        "masks": NUMPY + LOOK + "from mha_core import named_mask\n" + imports_for(grouping)
        + f"masks = {regrouped(f'np.stack([{masks}])', grouping)}",
    }  # fmt: skip


def _concat(page: Page) -> Lines:
    """The heads' outputs, and all of them one above another."""
    return _steps(["heads", "concat"])


def _output(page: Page) -> Lines:
    """What leaves the layer, who makes it at one token, and what each row of W_o reads."""
    token, n_heads = page.focus, page.config.n_heads
    return {
        **_steps(["out", "residual"]),
        "shares": "from mha_core.derivation import head_shares\n"
        f"shares = head_shares(trace)[None, :, {token}]",
        "contributions": NUMPY + "from mha_core.derivation import head_contributions\n"
        f"parts = head_contributions(trace)[:, {token}]\n"
        f"contributions = np.vstack([parts, trace.out[None, {token}]])",
        "w_o_heads": NUMPY + "squares = np.asarray(trace.weights.w_o, dtype=np.float64) ** 2\n"
        f"by_head = squares.reshape(len(squares), {n_heads}, -1).sum(axis=-1)\n"
        "by_head = (by_head / by_head.sum(axis=1, keepdims=True)).T\n"
        "order = np.lexsort((-by_head.max(axis=0), by_head.argmax(axis=0)))\n"
        "w_o_heads = [by_head[:, order], order]",
        "w_o": "w_o = trace.weights.w_o",
    }


def _why_heads(page: Page) -> Lines:
    """The patterns of one wide head and of many, and both in numbers."""
    lines = _patterns("pattern", "trace.pattern", page.grouping)
    try:
        as_one_head(page.trace)
    except TwelveHeadsError:
        return lines  # another people's layer that cannot be one head
    one = "from mha_core.whatif import as_one_head\nboth = [as_one_head(trace), trace]\n"
    return {
        "one": one + imports_for(page.grouping)
        + f"one = {regrouped('both[0].pattern', page.grouping)}",
        **lines,
        "one_and_many": "from mha_core.heads.measures import mean_entropy\n"
        "from mha_core.heads.regroup import heads_apart\n"
        "from mha_core.whatif import count_parameters, count_products, score_variance\n"
        "spreads = [score_variance(layer) for layer in both]\n"
        "one_and_many = {\n"
        '    "parameters": [count_parameters(layer.weights) for layer in both],\n'
        '    "products": [count_products(layer) for layer in both],\n'
        '    "matrices": [layer.config.n_heads for layer in both],\n'
        '    "variance_before": [before for before, _ in spreads],\n'
        '    "variance_after": [after for _, after in spreads],\n'
        '    "entropy": [mean_entropy(layer.pattern, layer.keep).mean() for layer in both],\n'
        "}",
    }  # fmt: skip


PAGES: dict[str, Callable[[Page], Lines]] = {
    "overview": _overview,
    "tokens": _tokens,
    "projection": _projection,
    "heads": _heads,
    "rope": _rope,
    "attention": _attention,
    "concat": _concat,
    "output": _output,
    "why_heads": _why_heads,
}
