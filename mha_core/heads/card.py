"""The model card's measured parts: each stands between two marks and is written from a report."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal

from mha_core.errors import DataError
from mha_core.heads.curves import Curves
from mha_core.heads.report import name_head

Lang = Literal["en", "zh"]
FILE = "card.toml"
PHASES = ("sink", "previous", "induction", "subject", "pronoun", "pronoun_zh")
MARKS = re.compile(r"(<!-- measured: (\w+) -->\n).*?(\n<!-- end -->)", re.DOTALL)


def fill_card(card: str, report: Mapping[str, Any], curves: Curves, lang: Lang = "en") -> str:
    """Write the measured parts of a model card anew.

    Args:
        card: the card's Markdown, each part between `<!-- measured: NAME -->` and
            `<!-- end -->`, each on a line of its own.
        report: what `evaluate` found.
        curves: the scores during training.
        lang: the card's language.

    Raises:
        DataError: a part has no place in the card or more than one, or a place is for an unknown
            part.
    """
    words = tomllib.loads(files("mha_core").joinpath("data", FILE).read_text("utf-8"))[lang]
    parts = {
        "roles": _roles(report, words),
        "phases": words["phases"].format(**_phases(curves)),
        "knockout": _knockout(report, words),
        "copying": words["copying"].format(**report["copying"]),
        "everyday": words["everyday"].format(**_everyday(report)),
        "reach": _reach(report, words),
        "typed": _typed(report, words),
        "thresholds": _thresholds(report, words),
    }
    known = [found.group(2) for found in MARKS.finditer(card)]
    if sorted(known) != sorted(parts):
        raise DataError("report.card", found=", ".join(known), expected=", ".join(parts))
    return MARKS.sub(lambda found: found[1] + parts[found[2]] + found[3], card)


def _table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "--|" * len(head), *lines[1:]])


def _roles(report: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    """Each role's best head."""
    rows = []
    for name, role in report["roles"].items():
        mass, argmax, baselines = role["mass"], role["argmax"], role["baselines"]
        over = max(baselines, key=baselines.get)
        rows.append(
            [
                words["role"][name],
                name_head(role["head"]),
                f"{mass['mean']:.2f} [{mass['low']:.2f}, {mass['high']:.2f}]",
                "–" if argmax is None else f"{argmax['mean']:.2f}",
                f"{baselines[over]:.2f} ({words['baseline'][over]})",
            ]
        )
    return _table(words["roles_head"], rows)


def _phases(curves: Curves) -> dict[str, int]:
    """How often training was measured, and when each role's best head was half way."""
    every = curves.steps[1] - curves.steps[0]
    return {"every": every} | {name: curves.half_way(name) for name in PHASES}


def _knockout(report: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    """Each task with single edges forbidden."""
    rows = []
    for task, cut in report["knockout"].items():
        cells = [_accuracy(cut.get(name)) for name in ("intact", "role", "others", "distractor")]
        heads = ", ".join(map(name_head, cut["heads"])) or "–"
        rows.append([words["task"][task], *cells, heads])
    return _table(words["knockout_head"], rows)


def _accuracy(found: Mapping[str, Any] | None) -> str:
    """Pair and exact accuracy."""
    if found is None:
        return "–"
    exact = "" if found["exact"] is None else f" / {found['exact']:.2f}"
    return f"{found['pair']:.2f}{exact}"


def _everyday(report: Mapping[str, Any]) -> dict[str, float]:
    """The figures on the sentences written by hand, by the names of their places."""
    english, chinese, agreement = (
        report["everyday"][name] for name in ("english", "chinese", "agreement")
    )
    figures = {"agreement_found": agreement["found"], "agreement_n": agreement["n"]}
    for lang, found in (("en", english), ("zh", chinese)):
        figures |= {
            f"{lang}_found": found["found"],
            f"{lang}_n": found["n"],
            f"{lang}_fitting": found["nearest candidate"],
            f"{lang}_recent": found["most recent noun"],
        }
    return figures


def _share(found: Mapping[str, Any] | None) -> str:
    """How often an antecedent was found, beside the nearest candidate, and of how many."""
    if found is None:
        return "–"
    return f"{found['found']:.2f} ({found['nearest']:.2f}; n = {found['n']})"


def _reach(report: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    """How often the named heads find antecedents, by how well the word is known."""
    rows = [
        [told, *(_share(report["reach"][lang]["tiers"][tier]) for lang in ("english", "chinese"))]
        for tier, told in words["tier"].items()
    ]
    following = {
        f"{lang[:2]}_{key}": value
        for lang, found in report["next"].items()
        for key, value in found.items()
    }
    return f"{_table(words['reach_head'], rows)}\n\n{words['next'].format(**following)}"


def _typed(report: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    """The sentences as people type them: their tokens, and antecedents found."""
    english, chinese = (report["typed"][lang] for lang in ("english", "chinese"))
    told: str = words["typed"].format(
        letters=english["tokens"]["letters"], a_word=english["tokens"]["tokens a word"],
        a_character=chinese["tokens"]["tokens a character"],
        en_bytes=english["tokens"]["bytes"], zh_bytes=chinese["tokens"]["bytes"],
    )  # fmt: skip
    rows = [
        [name, *(_share(each["antecedents"].get(known)) for each in (english, chinese))]
        for known, name in words["knowledge"].items()
    ]
    return f"{told}\n\n{_table(words['reach_head'], rows)}"


def _thresholds(report: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    """How many thresholds are met, and which are not."""
    n, missed = len(report["passed"]), [name for name, met in report["passed"].items() if not met]
    if not missed:
        told: str = words["all_met"].format(n=n)
        return told
    some: str = words["some_met"].format(n=n, met=n - len(missed), missed=", ".join(missed))
    return some
