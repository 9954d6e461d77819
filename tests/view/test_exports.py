"""What is saved names its words: every axis of every picture, and every byte its character."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mha_view import compute
from mha_view.components.packet import unpack
from mha_view.menu import ORDER
from mha_view.scene import Scene
from tests.view.test_pages import html, open_app

# Seven words and the two bytes of a letter: eleven tokens with `<bos>`, as no head or width has.
TEXT = "the cat sat on the mat ž"


def exports(app: AppTest) -> list[dict[str, Any]]:
    """What each picture of a page offers to be saved, its arrays as they are or not at all."""
    found = []
    for item in app.get("bidi_component"):
        if item.proto.bytes:
            header = unpack(item.proto.bytes)
            if header.get("export"):
                found.append(header["export"])
    return found


# Sums that explain one number are read, not taken away; the exercises' sheet is saved whole.
NOT_SAVED = ('class="derivation"', 'class="given"')


def tables_without_save(block: Any) -> list[str]:
    """The tables of a part of a page that no buttons follow which save them."""
    found, children = [], list(block.children.values())
    for child, after in pairwise([*children, None]):
        if hasattr(child, "children"):
            found += tables_without_save(child)
            continue
        body = child.proto.body if child.type == "html" else ""
        is_table = "<table" in body and not any(kind in body for kind in NOT_SAVED)
        if is_table or child.type in ("table", "arrow_table", "arrow_data_frame", "dataframe"):
            buttons = getattr(after, "children", {}).values()
            ids = [each.proto.id for each in buttons if each.type == "download_button"]
            if [each.rpartition("_")[2] for each in ids] != ["csv", "parquet"]:
                found.append(body[:200] or child.type)
    return found


@pytest.mark.parametrize("page", ORDER)
def test_every_axis_has_a_word_and_every_token_its_name(page: str) -> None:
    scene = Scene(text=TEXT, weights="custom", against="mask")
    app = open_app(page, scene)
    assert not app.exception
    assert tables_without_save(app.main) == []
    labels = list(compute.reading_of(scene).labels)
    toy = list(compute.reading_of(scene.with_(weights="toy")).labels)
    known = (labels, toy)
    named = 0
    for export in exports(app):
        for name, array in export.get("arrays", {}).items():
            words = export["axes"][name]
            assert len(words) == np.ndim(array), f"{export['name']}: {name}"
            for word, length in zip(words, np.shape(array), strict=True):
                if word in ("token", "query", "key") and page != "vit":
                    assert export["labels"][word] in known, f"{export['name']}: {word}"
                    assert len(export["labels"][word]) == length
                    named += 1
                elif export["name"] in ("decode", "chain", "q", "heads"):
                    assert length not in map(len, known), f"{export['name']}: {word}"
    silent = (
        "sizes", "specialisation", "vit", "tokens", "overview", "why_heads", "circuits", "class",
        "hypothesis",
    )  # fmt: skip
    assert named or page in silent


@pytest.mark.parametrize("page", ["attention", "tokens", "projection", "gallery", "overview"])
def test_wherever_a_byte_is_named_its_character_can_be_seen(page: str) -> None:
    app = open_app(page, Scene(text="ḍ 🜁 a\u200f e\u0302", weights="custom"))
    assert not app.exception
    shown = html(app) + "".join(item.proto.bytes.decode("utf-8", "replace")
                                for item in app.get("bidi_component"))  # fmt: skip
    shown += "".join(str(option) for box in app.selectbox for option in box.options)
    assert "ḍ¹" in shown
    assert "🜁⁴" in shown
    assert "U+200F²" in shown
    assert "◌\u0302¹" in shown
    assert "0x" not in shown
