"""The documentation's pages: whole in both languages, no dead link, and nothing fetched."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

from mha_view.menu import ORDER
from mha_view.words import LANGS, catalogue, lesson

SITE = Path(__file__).parents[1] / "docs" / "site"
# What a browser loads by itself when it reads a page.
LOADED = {
    "script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src",
    "embed": "src", "object": "data", "use": "href", "image": "href",
}  # fmt: skip
LOADING_LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "modulepreload"}


class Read(HTMLParser):
    """A page's links, anchors, what it loads, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and LOADING_LINKS & set(found.get("rel", "").split()):
            self.loads.append(found["href"])
        if (name := LOADED.get(tag)) and found.get(name):
            self.loads.append(found[name])
        self.loads += re.findall(r"url\(['\"]?([^'\")]+)", found.get("style", ""))

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    """docs/site/build.py, which is no part of a package."""
    spec = spec_from_file_location("build_site", SITE / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the generator's own packages
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(builder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once."""
    target = tmp_path_factory.mktemp("site")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder.build(target)
    return target


def pages_of(site: Path) -> Iterator[tuple[Path, Read]]:
    for path in sorted(site.rglob("*.html")):
        if path.name != "404.html":  # which may be shown under any address
            yield path, Read(path.read_text("utf-8"))


def test_no_link_anchor_or_picture_is_dead(site: Path) -> None:
    read = dict(pages_of(site))
    dead = []
    for path, page in read.items():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and anchor not in read[target].ids):
                dead.append(f"{path.relative_to(site)} → {link}")
    assert dead == []
    assert len(read) == 2 * (len(ORDER) + 8) + 1


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    outside = re.compile(r"^(https?:)?//", re.IGNORECASE)
    found = [
        f"{path.relative_to(site)}: {load}"
        for path, page in pages_of(site) for load in page.loads if outside.match(load)
    ]  # fmt: skip
    for path in site.rglob("*.css"):
        loads = re.findall(r"(?:url\(|@import )['\"]?([^'\")\s]+)", path.read_text("utf-8"))
        found += [f"{path.relative_to(site)}: {load}" for load in loads if outside.match(load)]
    assert found == []


@pytest.mark.parametrize("lang", LANGS)
def test_every_lesson_is_there_whole_and_every_formula_set(site: Path, lang: str) -> None:
    for name in ORDER:
        page = Read((site / lang / name / "index.html").read_text("utf-8"))
        parts = lesson(name, lang)
        words = re.sub(r"\s+", "", page.words)
        for part in ("title", "trip", "more"):
            plain = re.split(r"[`*$\[\]:<&]", parts[part].lstrip("- "))[0][:40]
            assert re.sub(r"\s+", "", plain) in words, f"{name}: {part}"
        assert "[[" not in page.words, name
        assert not re.search(r"\$[^$]*\\", page.words), f"{name}: a formula is left as it was"
        assert not re.search(r":(blue|orange|green|violet|red|gray)\[", page.words), name
        assert "\\" not in (re.search(r"<math.*?</math>", str(page.words)) or [""])[0]


@pytest.mark.parametrize("lang", LANGS)
def test_what_a_guide_names_is_called_so_in_the_app(lang: str) -> None:
    strings = {text.strip("# ⋯") for text in catalogue(lang).values()}
    strings |= {title for name in ORDER for title in [lesson(name, lang)["title"]]}
    marks = r"(?<!\*)\*([^*\n]+)\*(?!\*)" if lang == "en" else r"“([^”\n]+)”"
    for path in sorted((SITE / lang).glob("*.md")):
        for name in re.findall(marks, path.read_text("utf-8")):
            # A button may say more behind it: "…, 16 : 9 (PNG)".
            begins = tuple(f"{name}{mark}" for mark in ("（", "，", ","))
            known = any(text == name or text.startswith(begins) for text in strings)
            assert known, f"{path}: {name}"


@pytest.mark.filterwarnings("ignore")  # the generator's own
def test_a_dead_link_stops_the_build(builder: ModuleType, tmp_path: Path) -> None:
    from mkdocs.exceptions import Abort

    pages = tmp_path / "pages"
    pages.mkdir()
    shutil.copy(SITE / "site.css", pages)
    for wrong in ("[x](nowhere.md)", "[x](#nowhere)", "![x](nowhere.png)"):
        (pages / "index.md").write_text(f"# A\n\n{wrong}\n", "utf-8")
        with pytest.raises(Abort, match="warnings"):
            builder.build_language(pages, tmp_path / "out", "en", [{"A": "index.md"}])
