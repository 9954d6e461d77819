"""How to cite what is on screen: the version, the model by its digest, the link, as BibTeX."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.metadata import version as installed_version
from importlib.resources import files
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from mha_view import compute, live, real
from mha_view.home import HOME
from mha_view.link import link_of
from mha_view.scene import Scene
from mha_view.words import Words

NAME = "twelve-heads"
TITLE = "Twelve Heads: a sentence through multi-head attention, number by number"


@cache
def version() -> str:
    """The version that runs: the source's own, else the one that is installed."""
    project = HOME / "pyproject.toml"
    if project.is_file():
        found: str = tomllib.loads(project.read_text("utf-8"))["project"]["version"]
        return found
    return installed_version(NAME)


@cache
def weights_digest() -> str:
    """SHA-256 of the shipped weights, as their file says it; nothing else is read of it."""
    from safetensors import safe_open

    path = str(files("mha_core").joinpath("data", "weights", "toy.safetensors"))
    with safe_open(path, framework="np") as file:
        digest: str = file.metadata()["sha256"]
        return digest


def describe_model(scene: Scene, words: Words) -> str:
    """Whose numbers these are, so that another can have the same."""
    card = real.card_of(scene)
    if card is not None:
        digest = real.SHELF.digest_of(card.name) or scene.digest
        told = [card.source, card.licence, words("cite.files", digest=digest) if digest else ""]
        return ", ".join(part for part in (card.name, *told) if part)
    kept = live.find(scene)
    if kept is not None:
        return words("cite.live", model=live.describe(kept.settings, words))
    if compute.is_trained(compute.resolve(scene)):
        return words("cite.toy", digest=weights_digest())
    return words("cite.random", seed=scene.seed)


def write_bibtex(link: str, model: str) -> str:
    """An entry for BibTeX.

    Args:
        link: the address of what is on screen.
        model: whose numbers these are, in words.

    >>> print(write_bibtex("https://x.org/?v=1&lang=en", "trained {model}").splitlines()[-2])
      note = {trained (model)}
    """
    told = model.replace("{", "(").replace("}", ")").replace("\\", "/")
    return "\n".join([
        "@software{twelve_heads,",
        f"  title = {{{TITLE}}},",
        "  author = {{The Twelve Heads authors}},",
        f"  version = {{{version()}}},",
        f"  url = {{{link}}},",
        f"  note = {{{told}}}",
        "}",
    ])  # fmt: skip


def address_of(scene: Scene, page: str) -> str:
    """The link of a scene on a page of this server."""
    parts = urlsplit(st.context.url or "")
    path = parts.path if parts.path.rstrip("/").endswith(page) else f"{parts.path.rstrip('/')}/"
    return urlunsplit((parts.scheme, parts.netloc, path, urlencode(link_of(scene)), ""))


def draw_cite(words: Words, scene: Scene, page: str) -> None:
    """What to cite of the page that is open."""
    with st.popover(words("cite.this"), type="tertiary"):
        model = describe_model(scene, words)
        st.markdown(words("cite.about", version=version()))
        st.caption(model)
        st.code(write_bibtex(address_of(scene, page), model), language="bibtex", wrap_lines=True)
