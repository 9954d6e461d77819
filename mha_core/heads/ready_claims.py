"""Hypotheses to begin with, as patterns in both languages. What comes out is for the model to say.

antecedent: a pronoun looks at the person it stands for. follower: a word said again looks at what
followed it the last time (induction, Olsson et al. 2022). again: a word said again looks at its own
earlier place (the duplicate token heads of Wang et al. 2022).
"""

from __future__ import annotations

from typing import Literal

ReadyName = Literal["antecedent", "follower", "again"]

READY: dict[ReadyName, dict[str, str]] = {
    "antecedent": {
        "en": (
            "The {<she>} <verb> the <he> because [she] was <adjective>.\n"
            "The <she> <verb> the {<he>} because [he] was <adjective>."
        ),
        "zh": "{<她>}<动词><他>，因为[她]很<形容词>。\n<她><动词>{<他>}，因为[他]很<形容词>。",
    },
    "follower": {
        "en": (
            "<1=animal> {<thing>} <thing> <animal> <thing> [<1>]\n"
            "<thing> <1=animal> {<animal>} <thing> <thing> [<1>]\n"
            "<thing> <animal> <1=thing> {<animal>} <thing> <animal> <thing> [<1>]\n"
            "<thing> <animal> <animal> <thing> <1=thing> {<animal>} <thing> [<1>]"
        ),
        "zh": (
            "<1=动物>{<东西>}<东西><动物><东西>[<1>]\n"
            "<东西><1=动物>{<动物>}<东西><东西>[<1>]\n"
            "<东西><动物><1=东西>{<动物>}<东西><动物><东西>[<1>]\n"
            "<东西><动物><动物><东西><1=东西>{<动物>}<东西>[<1>]"
        ),
    },
    "again": {
        "en": (
            "{<1=animal>} <thing> <thing> <animal> <thing> [<1>]\n"
            "<thing> {<1=animal>} <animal> <thing> <thing> [<1>]\n"
            "<thing> <animal> {<1=thing>} <animal> <thing> <animal> <thing> [<1>]\n"
            "<thing> <animal> <animal> <thing> {<1=thing>} <animal> <thing> [<1>]"
        ),
        "zh": (
            "{<1=动物>}<东西><东西><动物><东西>[<1>]\n"
            "<东西>{<1=动物>}<动物><东西><东西>[<1>]\n"
            "<东西><动物>{<1=东西>}<动物><东西><动物><东西>[<1>]\n"
            "<东西><动物><动物><东西>{<1=东西>}<动物><东西>[<1>]"
        ),
    },
}
