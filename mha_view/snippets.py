"""Lines of Python put together: what they import once and on top, then what they do."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mha_view.grouping import Grouping
from mha_view.words import Words

WIDTH = 100


def join(*snippets: str) -> str:
    """Snippets one after another as a single piece of code.

    Args:
        snippets: each runs after those before it; its imports stand on top of it.

    >>> print(join("import numpy as np\\n\\na = np.ones(2)", "from math import pi\\nb = a * pi"))
    from math import pi
    <BLANKLINE>
    import numpy as np
    <BLANKLINE>
    a = np.ones(2)
    b = a * pi
    """
    modules: set[str] = set()
    names: dict[str, set[str]] = {}
    bodies = []
    for snippet in snippets:
        tops = set[int]()
        for node in ast.parse(snippet).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                tops |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            if isinstance(node, ast.Import):
                modules |= {ast.unparse(alias) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                own = names.setdefault(node.module, set())
                own |= {ast.unparse(alias) for alias in node.names}
        bodies.append(_without(snippet, tops))
    told = [_from(module, sorted(listed, key=_order)) for module, listed in sorted(names.items())]
    blocks = [
        [line for line in told if not line.startswith("from mha_core")],
        [f"import {module}" for module in sorted(modules)],
        [line for line in told if line.startswith("from mha_core")],
    ]
    head = "\n\n".join("\n".join(block) for block in blocks if block)
    return "\n\n".join(part for part in (head, "\n".join(filter(None, bodies))) if part)


def _without(snippet: str, tops: set[int]) -> str:
    """A snippet without the lines that import; a blank line that followed them goes, too."""
    kept: list[str] = []
    for number, line in enumerate(snippet.splitlines(), 1):
        if number not in tops and (line.strip() or (kept and kept[-1].strip())):
            kept.append(line)
    return "\n".join(kept).strip("\n")


def _order(name: str) -> tuple[bool, bool, str]:
    """Sorts what is imported as ruff does: constants, classes, functions."""
    return not name.isupper(), not name[0].isupper(), name


def _from(module: str, names: list[str]) -> str:
    """One import, over several lines where it is long."""
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


def titled(parts: Mapping[str, str], words: Words) -> Iterator[str]:
    """Each snippet under a remark that names its picture as a file of its own does, or its table by
    the file's name; one without a name as it is.

    Args:
        parts: snippets by the name of the picture or table.
        words: the reader's language.
    """
    for name, code in parts.items():
        key = f"picture.{name}"
        title = words(key) if words.has(key) else words("python.table", file=f"{name}.csv")
        yield f"# {title}\n{code}" if name else code


def regrouped(expression: str, grouping: Grouping) -> str:
    """Patterns with some tokens as one and others left out; see `imports_for`.

    Args:
        expression: what gives the patterns, [..., query, key].
        grouping: which tokens a picture takes as one.
    """
    if grouping.is_plain:
        return expression
    every = sorted([*grouping.groups, *((token,) for token in grouping.hidden)])
    hidden = [every.index((token,)) for token in grouping.hidden]
    merged = f"merge_tokens({expression}, {[list(group) for group in every]})"
    return f"hide_tokens({merged}, {hidden})" if hidden else merged


def imports_for(grouping: Grouping) -> str:
    """What `regrouped` needs imported."""
    if grouping.is_plain:
        return ""
    names = "hide_tokens, merge_tokens" if grouping.hidden else "merge_tokens"
    return f"from mha_core.heads.regroup import {names}\n"
