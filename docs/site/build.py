"""The documentation as static pages, in both languages: `make docs`.

The pages are made from what is there: the lessons, the glossary, the model card, where to put it,
and the how-tos beside this file. MkDocs builds them and stops at a link that leads nowhere.
Formulas become MathML here, so that no page needs a script for them.
"""

from __future__ import annotations

import re
import shutil
import sys
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from latex2mathml.converter import convert
from mkdocs.commands.build import build as build_pages
from mkdocs.config import load_config

from mha_view import compute
from mha_view.menu import SECTIONS
from mha_view.page import Page
from mha_view.scene import Scene
from mha_view.symbols import glossary
from mha_view.theme import ROLES
from mha_view.words import LANGS, Words, lesson

HERE = Path(__file__).parent
DOCS = HERE.parent
GUIDES = ("teachers", "explorers", "notebooks", "hosts")
# A lesson's parts in their order, and what stands over each; those that ask about one sentence are
# for the app alone.
PARTS = {
    "says": "", "article": "site.formula", "torch": "site.code", "picture": "site.picture",
    "counted": "sizes.counted_card", "limits": "card.limits", "trip": "card.trip",
    "more": "card.more",
}  # fmt: skip
COLOURS = {colour: role for role, colour in ROLES.items()}
DOOR = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Twelve Heads · 十二个头</title>
{links}
</html>
"""
OURS = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)\s]+)\)")


def build(target: Path) -> None:
    """Build both languages and the page that leads to them.

    Args:
        target: the folder of the site, made anew.

    Raises:
        mkdocs.exceptions.Abort: a link, an anchor or a picture is not there.
    """
    target = target.resolve()  # MkDocs takes a folder from its own file on
    shutil.rmtree(target, ignore_errors=True)
    for lang in LANGS:
        with TemporaryDirectory() as folder:
            pages = Path(folder)
            nav = write_pages(pages, lang)
            build_language(pages, target / lang, lang, nav)
    links = "\n".join(
        f'<p><a href="{lang}/index.html" lang="{lang}">{escape(Words(lang)("site.title"))}</a></p>'
        for lang in LANGS
    )
    (target / "index.html").write_text(DOOR.format(links=links), encoding="utf-8")


def build_language(pages: Path, target: Path, lang: str, nav: list[Any]) -> None:
    """Run MkDocs over a folder of pages."""
    other = next(one for one in LANGS if one != lang)
    words = Words(lang)
    config = load_config(
        str(HERE / "mkdocs.yml"), docs_dir=str(pages), site_dir=str(target), nav=nav,
        site_name=words("site.title"),
    )  # fmt: skip
    config.theme["language"] = lang
    config.extra["alternate"] = [
        {"name": words("site.language"), "link": "./", "lang": lang},
        {"name": Words(other)("site.language"), "link": f"../{other}/", "lang": other},
    ]
    build_pages(config)


def write_pages(folder: Path, lang: str) -> list[Any]:
    """Write every page of a language as Markdown, and give the menu."""
    words, scene = Words(lang), Scene(lang=lang)
    shutil.copy(HERE / "site.css", folder)
    nav: list[Any] = [{words("site.home"): "index.md"}]
    titles: dict[str, str] = {}
    for section, names in SECTIONS.items():
        taught = [name for name in names if has_lesson(name, lang)]
        for name in taught:
            titles[name] = words(f"nav.{name}")
            save(folder, name, write_lesson(name, words, scene))
        nav.append({words(f"nav.{section}"): [{titles[name]: f"{name}.md"} for name in taught]})
    for name in GUIDES:
        titles[name] = words(f"site.{name}")
        save(folder, name, read_guide(name, lang))
    nav.append({words("site.guides"): [{titles[name]: f"{name}.md"} for name in GUIDES]})
    told = glossary(scene, words)
    says = words("site.glossary.says")
    save(folder, "glossary", f"# {words('symbols.all')}\n\n{says}\n\n{told}\n")
    save(folder, "model-card", read_own("model-card", lang))
    save(folder, "seeds", read_plain(DOCS / "decisions" / "seeds.md"))
    nav.append({words("site.reference"): [
        {words("symbols.all"): "glossary.md"}, {words("site.card"): "model-card.md"},
        {words("site.seeds"): "seeds.md"},
    ]})  # fmt: skip
    picture = DOCS / ("layer.webp" if lang == "en" else f"layer.{lang}.webp")
    shutil.copy(picture, folder / "layer.webp")
    save(folder, "index", write_home(words, titles))
    return nav


def has_lesson(name: str, lang: str) -> bool:
    """Whether a page of the menu has a lesson."""
    try:
        return "says" in lesson(name, lang)
    except FileNotFoundError:
        return False


def write_lesson(name: str, words: Words, scene: Scene) -> str:
    """A lesson with the sizes of the app's first sentence in it."""
    page = Page(name, words, scene, compute.config_of(scene), compute.reading_of(scene))
    parts = lesson(name, words.lang)
    made = [f"# {page.text('title')}"]
    for part, heading in PARTS.items():
        if part not in parts:
            continue
        text = page.text(part)
        if part == "article":
            text = formula(text, "block")
        elif part == "torch":
            text = f"```python\n{text}\n```"
        made += [
            f"## {words(heading)}" if heading else "",
            to_markdown(text) if part != "torch" else text,
        ]
    return "\n\n".join(filter(None, made)) + "\n"


def write_home(words: Words, titles: dict[str, str]) -> str:
    """The first page."""
    guides = "\n".join(f"- [{titles[name]}]({name}.md)" for name in GUIDES)
    lessons = "\n".join(
        f"- [{title}]({name}.md)" for name, title in titles.items() if name not in GUIDES
    )
    return "\n\n".join((
        f"# {words('site.title')}", words("site.says"), f"![{words('site.layer')}](layer.webp)",
        f"## {words('site.guides')}", guides, f"## {words('site.lessons')}", lessons,
    )) + "\n"  # fmt: skip


def read_guide(name: str, lang: str) -> str:
    """A how-to; where to put the app stands in docs/ itself."""
    if name == "hosts":
        return read_own("deploy", lang)
    return (HERE / lang / f"{name}.md").read_text("utf-8")


def read_own(name: str, lang: str) -> str:
    """A file of docs/ in a language."""
    return read_plain(DOCS / (f"{name}.md" if lang == "en" else f"{name}.{lang}.md"))


def read_plain(path: Path) -> str:
    """A file of docs/ with its links to files that are no pages here as plain words."""
    known = {"decisions/seeds.md": "seeds.md", "../model-card.md": "model-card.md"}

    def link(found: re.Match[str]) -> str:
        to = known.get(found[2])
        return f"[{found[1]}]({to})" if to else found[1]

    text = path.read_text("utf-8")
    # The link to the other language, which the menu has.
    text = re.sub(r"^\[(?:中文|English)\]\([^)]*\)\n", "", text, flags=re.MULTILINE)
    return to_markdown(OURS.sub(link, text))


def to_markdown(text: str) -> str:
    """The app's Markdown as MkDocs reads it: colours of roles, formulas."""
    text = re.sub(
        r":(blue|orange|green|violet|red|gray)\[([^\]]*)\]",
        lambda found: f'<span class="{COLOURS[found[1]]}">{found[2]}</span>', text,
    )  # fmt: skip
    pieces = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.DOTALL)  # code stays as it is
    return "".join(
        piece
        if place % 2
        else re.sub(r"\$([^$\n]+)\$", lambda found: formula(found[1], "inline"), piece)
        for place, piece in enumerate(pieces)
    )


def formula(source: str, display: str) -> str:
    """A formula as MathML."""
    plain = source.replace(r"\allowbreak", "").replace(r"\!", "")
    return convert(plain, display=display)


def save(folder: Path, name: str, text: str) -> None:
    """Write a page."""
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else "build/site"))
