"""The formula of each page in LaTeX, with the reader's own sizes and the roles' colours in it."""

from __future__ import annotations

from collections.abc import Callable

from mha_core.config import AttentionConfig
from mha_view.theme import ink


def coloured(role: str, symbol: str) -> str:
    """A symbol in its role's colour."""
    return rf"\textcolor{{{ink(role)}}}{{{symbol}}}"


def shaped(symbol: str, rows: int | str, columns: int | str) -> str:
    r"""A symbol over its shape.

    >>> shaped("X", 768, 1024)
    '\\underset{768\\times 1024}{X}'
    """
    return rf"\underset{{{rows}\times {columns}}}{{{symbol}}}"


def head_symbol(head: int) -> str:
    """A head's output."""
    return coloured("pattern", rf"\mathrm{{head}}_{{{head}}}")


def root(config: AttentionConfig) -> str:
    r"""The divisor: √d_head with the reader's d_head."""
    return rf"\sqrt{{{config.d_head}}}"


def formula(page: str, config: AttentionConfig, n_tokens: int, head: int, rope: bool) -> str:
    """The formula of a page.

    Args:
        page: a page of the walk.
        config: the layer's sizes.
        n_tokens: S.
        head: the chosen head.
        rope: whether queries and keys are turned.
    """
    return FORMULAS[page](config, n_tokens, head, rope)


def _tokens(c: AttentionConfig, s: int, head: int, rope: bool) -> str:
    stream = shaped(r"X_\text{in}", c.d_model, s)
    return rf"{stream} = [\,x_0\;\ldots\;x_{{{s - 1}}}\,]"


def _projection(c: AttentionConfig, s: int, head: int, rope: bool) -> str:
    sizes = {
        "query": ("Q", "q", c.n_heads * c.d_head),
        "key": ("K", "k", c.n_kv_heads * c.d_head),
        "value": ("V", "v", c.n_kv_heads * c.d_value),
    }
    return r",\qquad\allowbreak ".join(
        rf"{{{coloured(role, shaped(name, rows, s))} = {shaped(f'W_{low}', rows, c.d_model)}\,"
        rf"{shaped('X', c.d_model, s)}}}"
        for role, (name, low, rows) in sizes.items()
    )


def _heads(c: AttentionConfig, s: int, head: int, rope: bool) -> str:
    first, last = coloured("query", "Q_0"), coloured("query", f"Q_{{{c.n_heads - 1}}}")
    blocks = rf"{first}\\ \vdots\\ {last}"
    return (
        rf"{coloured('query', shaped('Q', c.n_heads * c.d_head, s))} = "
        rf"\begin{{bmatrix}}{blocks}\end{{bmatrix}},\qquad\allowbreak "
        rf"{coloured('query', 'Q_k')}\in\mathbb{{R}}^{{{c.d_head}\times {s}}}"
    )


def _rope(c: AttentionConfig, s: int, head: int, rope: bool) -> str:
    turn = (
        r"\begin{bmatrix}\cos m\theta_p & -\sin m\theta_p\\"
        r" \sin m\theta_p & \cos m\theta_p\end{bmatrix}"
    )
    turned = coloured("query", r"\tilde q")
    base = f"{c.rope.base:g}" if c.rope else "10000"
    return (
        rf"{turned} = {turn}\,{coloured('query', 'q')},\qquad\allowbreak "
        rf"\theta_p = {base}^{{-2p/{c.d_head}}},\quad p = 0,\ldots,{c.d_head // 2 - 1}"
    )


def _attention(c: AttentionConfig, s: int, head: int, rope: bool) -> str:
    tilde = r"\tilde " if rope else ""
    kv_head = head // c.group
    query = coloured("query", rf"{tilde}Q_{{{head}}}^{{\top}}")
    key = coloured("key", rf"{tilde}K_{{{kv_head}}}")
    return (
        rf"\mathrm{{head}}_{{{head}}} = {coloured('value', f'V_{{{kv_head}}}')}\;"
        rf"{coloured('pattern', 'A')}^{{\top}},\qquad\allowbreak "
        rf"{{{coloured('pattern', shaped('A', s, s))} = \mathrm{{softmax}}"
        rf"\!\left(\frac{{{query}\,{key}}}{{{root(c)}}} + M\right)}}"
    )


def _concat(c: AttentionConfig, s: int, head: int, rope: bool) -> str:
    concat = shaped(r"\mathrm{Concat}", c.n_heads * c.d_value, s)
    return (
        rf"{concat} = \begin{{bmatrix}}"
        rf"\mathrm{{head}}_0\\ \vdots\\ \mathrm{{head}}_{{{c.n_heads - 1}}}\end{{bmatrix}},"
        r"\qquad\allowbreak "
        rf"{c.n_heads}\times {c.d_value} = {c.n_heads * c.d_value}"
    )


def _output(c: AttentionConfig, s: int, head: int, rope: bool) -> str:
    concat = shaped(r"\mathrm{Concat}", c.n_heads * c.d_value, s)
    return (
        rf"{coloured('output', shaped('O', c.d_model, s))} = "
        rf"{shaped('W_o', c.d_model, c.n_heads * c.d_value)}\,{concat},\qquad\allowbreak "
        rf"X_\text{{in}} + {coloured('output', 'O')}"
    )


def _why_heads(c: AttentionConfig, s: int, head: int, rope: bool) -> str:
    width = c.n_heads * c.d_head
    return (
        rf"1 \times \mathrm{{head}}\,[{width}, {s}]\quad\longleftrightarrow\quad\allowbreak "
        rf"{{{c.n_heads} \times \mathrm{{head}}\,[{c.d_head}, {s}]}}"
    )


FORMULAS: dict[str, Callable[[AttentionConfig, int, int, bool], str]] = {
    "tokens": _tokens,
    "projection": _projection,
    "heads": _heads,
    "rope": _rope,
    "attention": _attention,
    "concat": _concat,
    "output": _output,
    "why_heads": _why_heads,
}
