"""The lines a page of explore or relate offers, run as they are, give the page's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mha_core.grouped import share_again
from mha_core.heads.circuit_report import read_circuits
from mha_core.heads.claim import Claim, examine
from mha_core.heads.marks import read_marked
from mha_core.heads.ready_claims import READY
from mha_core.model.digits import load_digits, split_digits
from mha_core.model.vit import load_vit
from mha_core.sizes import from_numbers, measure, read_bundled, read_text
from mha_view import cite, compute, table_files
from mha_view.explore import checkpoints, evidence
from mha_view.explore.role_map import scores_of
from mha_view.menu import SECTIONS
from mha_view.page_python import PAGES, write_page
from mha_view.scene import Scene
from mha_view.texts import TEXTS
from mha_view.words import LANGS, Words
from tests.view.test_as_python import run
from tests.view.test_exports import exports, tables_without_save
from tests.view.test_pages import open_app

CONFIG = '{"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}'
DIGIT = 7


def patterns(scene: Scene) -> list[Any]:
    return [layer.pattern for layer in compute.walk_of(scene).layers]


def one(scene: Scene, layer: int, head: int) -> Any:
    return patterns(scene)[layer][head]


def masses(scene: Scene) -> list[float]:
    model = compute.load_weights()
    reading = read_marked(
        scene.marked, model.tokenizer, count=scene.claim_count, seed=scene.claim_seed
    )
    heads = tuple((layer, head) for layer in range(3) for head in range(6))
    claim = Claim(Words("en")("claim.ready.again"), reading.sentences, heads, scene.claim_seed)
    return [found.mass.mean for found in examine(model, claim).findings]


def next_chances(scene: Scene) -> Any:
    model = compute.load_weights()
    ids = torch.tensor([[*model.ids_of(scene.text), *scene.said]])
    with torch.no_grad():
        return model.run(ids).logits[0, -1].double().softmax(-1).numpy()


CASES: dict[str, tuple[str, Scene, Callable[[Scene], Any]]] = {
    "gallery": ("gallery", Scene(), patterns),
    "gallery, shifted": ("gallery", Scene(shift=9, mask="window", text=TEXTS["ming"]), patterns),
    "gallery, own sizes": ("gallery", Scene(weights="custom", n_heads=3, shift=2), patterns),
    "compare heads": (
        "compare", Scene(layer=1, head=2, other_layer=2, other_head=9),
        lambda s: (one(s, 1, 2), one(s, 2, 5)),
    ),
    "compare masks": (
        "compare", Scene(against="mask", other_mask="prefix", head=1),
        lambda s: (one(s, 0, 1), one(s.with_(mask="prefix"), 0, 1)),
    ),
    "compare RoPE": (
        "compare", Scene(against="rope"), lambda s: (one(s, 0, 0), one(s.with_(rope=False), 0, 0)),
    ),
    "compare texts": (
        "compare", Scene(against="text", layer=2, other_text=TEXTS["dog_zh"]),
        lambda s: (one(s, 2, 0), one(s.with_(text=TEXTS["dog_zh"]), 2, 0)),
    ),
    "compare weights": (
        "compare", Scene(against="weights", layer=2, head=5),
        lambda s: (one(s, 2, 5), one(s.with_(weights="article"), 0, 5)),
    ),
    "compare checkpoints": (
        "compare", Scene(against="checkpoint", layer=1, head=1, other_step=400),
        lambda s: (one(s, 1, 1), checkpoints.patterns_at(s, checkpoints.nearest_step(400))[1][1]),
    ),
    "specialisation": (
        "specialisation", Scene(role="induction"),
        lambda s: scores_of(evidence.shipped() or {}, s.role).reshape(3, 6),
    ),
    "circuits": (
        "circuits", Scene(circuit="copying"),
        lambda s: [
            one.mean for one in read_circuits(compute.load_weights())[s.circuit].edges.values()
        ],
    ),
    "hypothesis": ("hypothesis", Scene(marked=READY["again"]["zh"], claim_count=60), masses),
    "continue": ("continue", Scene(text="The cat", said=(300, 40)), next_chances),
    "continue, nothing said": ("continue", Scene(text=TEXTS["ming"]), next_chances),
    "training": (
        "training", Scene(step=1), lambda s: checkpoints.patterns_at(s, checkpoints.nearest_step(1))
    ),
    "training, the end": ("training", Scene(), patterns),
    "sizes": ("sizes", Scene(model="gpt2-medium"), lambda s: measure(read_bundled("gpt2-medium"))),
    "sizes, a file": (
        "sizes", Scene(model="file", config_text=CONFIG), lambda s: measure(read_text(CONFIG)[0])
    ),
    "sizes, by hand": (
        "sizes", Scene(model="hand", hand_d=96, hand_h=6, hand_kv=2, hand_layers=3),
        lambda s: from_numbers(d_model=96, n_heads=6, n_kv_heads=2, d_head=None, n_layers=3),
    ),
    "grouped": ("grouped", Scene(shared=2), lambda s: share_again(compute.layer_of(s), 2).pattern),
    "grouped, shifted": (
        "grouped", Scene(shift=4, layer=1, weights="custom"),
        lambda s: share_again(compute.layer_of(s), 2).pattern,
    ),
    "vit": (
        "vit", Scene(digit=DIGIT),
        lambda s: [
            layer.pattern
            for layer in load_vit().trace(split_digits(load_digits())[1].images[DIGIT]).layers
        ],
    ),
    "vit, nothing drawn": (
        "vit", Scene(drawn=True),
        lambda s: [layer.pattern for layer in load_vit().trace(np.zeros((8, 8), np.uint8)).layers],
    ),
}  # fmt: skip


def test_every_page_that_is_no_part_of_the_walk_has_its_lines() -> None:
    pages = {*SECTIONS["explore"], *SECTIONS["relate"]}
    assert pages <= PAGES.keys()
    assert pages <= {page for page, _, _ in CASES.values()}


@pytest.mark.parametrize("case", CASES)
def test_the_lines_give_what_the_page_shows(case: str) -> None:
    page, scene, expected = CASES[case]
    code = write_page(page, scene)
    assert code is not None
    assert "mha_view" not in code
    value, shown = run(code)["value"], expected(scene)
    if page == "sizes":
        assert value.to_dict() == shown.to_dict() if hasattr(value, "to_dict") else value == shown
        return
    assert len(value) == len(shown)
    for mine, theirs in zip(value, shown, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


# What is on the pages: each is opened, and its lines are run.
PAGES_OF_THE_WALK = [name for name in SECTIONS["learn"] if name != "class"]
AGAIN = Scene(marked=READY["again"]["en"], claim_count=60)
SHOWN: dict[str, tuple[str, Scene]] = {
    "gallery, sorted, words whole": (
        "gallery", Scene(text="the zebra sat", sort="entropy", hide_special=True, whole_words=True)
    ),
    "gallery, own sizes": ("gallery", Scene(weights="custom", n_heads=3, mask="prefix", layer=1)),
    "compare heads": ("compare", Scene(layer=1, head=2, other_layer=2, other_head=3)),
    "compare weights": ("compare", Scene(against="weights", other_weights="article")),
    "roles": ("specialisation", Scene(role="pronoun", layer=2)),
    "roles, copying": ("specialisation", Scene(role="induction", own=True)),
    "map": ("specialisation", Scene(tab="map", role="subject", by_score=True)),
    "damage": ("specialisation", Scene(tab="damage", task="reference")),
    "bench": ("specialisation", Scene(tab="bench", off=((1, 2), (0, 4)), ablation="mean")),
    "graph": ("circuits", Scene(circuit="reference")),
    "own pair": ("circuits", Scene(circuit="own")),
    "story": ("circuits", Scene(circuit_part="story", cuts=(2, 3))),
    "weights": ("circuits", Scene(circuit_part="weights")),
    "lens": ("circuits", Scene(circuit_part="lens", text="The cat sat.")),
    "ready": ("hypothesis", Scene(lang="zh")),
    "stated": ("hypothesis", AGAIN),
    "frozen": ("hypothesis", AGAIN.with_(frozen=True)),
    "continue": ("continue", Scene(text="The cat", said=(300, 40), look=1, off=((1, 1),))),
    "training": ("training", Scene(step=400)),
    "sizes": ("sizes", Scene(model="gemma2-9b", sizes_part="layer")),
    "sizes, kept": (
        "sizes", Scene(model="gemma2-9b", others=("gpt2-medium",), sizes_part="cache")
    ),
    "sizes, waves": ("sizes", Scene(sizes_part="waves")),
    "sizes, stages": ("sizes", Scene(model="swin", sizes_part="layer")),
    "sizes, by hand": ("sizes", Scene(model="hand", hand_kv=2, hand_h=4, sizes_part="flops")),
    "grouped": ("grouped", Scene(shared=2, mask="two_way", head=2)),
    "vit": ("vit", Scene(digit=DIGIT, layer=1, head=1, patch=5)),
    "vit, nothing drawn": ("vit", Scene(drawn=True)),
    **{page: (page, Scene(layer=1, head=2)) for page in PAGES_OF_THE_WALK},
    "in Chinese, shifted": ("rope", Scene(text=TEXTS["ming"], shift=7, focus=3)),
    "own sizes, interleaved": (
        "rope", Scene(weights="custom", n_heads=4, n_kv_heads=2, d_head=8, pairing="interleaved")
    ),
    "without RoPE": ("rope", Scene(rope=False, layer=2)),
    "masked, words whole": (
        "attention", Scene(text="the zebra sat", mask="window", window=3, whole_words=True)
    ),
    "shared keys": ("attention", Scene(weights="custom", n_heads=4, n_kv_heads=2, head=3)),
    "own output": ("output", Scene(weights="custom", n_heads=3, d_model=24, focus=2)),
}  # fmt: skip
# Who reads whose keys is drawn without a number.
WITHOUT_NUMBERS = {"sharing"}


@pytest.mark.parametrize("case", SHOWN)
def test_every_picture_and_table_has_its_lines(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page, scene = SHOWN[case]
    app = check_lines(page, scene, monkeypatch)
    assert bool(app.error) == (case == "frozen"), "that hypothesis is false, and said to be"


def check_lines(page: str, scene: Scene, patch: pytest.MonkeyPatch, *pressed: str) -> AppTest:
    """Open a page, press buttons, and hold what its lines of Python leave against what it shows."""
    tables: dict[str, Any] = {}

    def keep(write: Any, columns: Any, settings: Any) -> bytes:
        tables[settings["table"]] = columns
        return b""

    patch.setattr(table_files, "partial", lambda write, *rest: keep(write, *rest))
    app = open_app(page, scene)
    for key in pressed:
        app.button(key=key).click().run()
    assert not app.exception
    assert tables_without_save(app.main) == []
    code = next(each.value for each in app.code if "from mha_core" in each.value)
    assert "mha_view" not in code
    left = run(code)
    drawn = {each["name"]: each.get("arrays", {}) for each in exports(app)}
    assert drawn.keys() - WITHOUT_NUMBERS <= left.keys()
    assert tables.keys() - WORDS_ONLY <= left.keys()
    for name in drawn.keys() - WITHOUT_NUMBERS - {name for name in drawn if not drawn[name]}:
        same_numbers(left[name], list(drawn[name].values()), name)
    for name in tables.keys() - WORDS_ONLY:
        assert left[name], name
        for column, cells in left[name].items():
            same_numbers(cells, [tables[name][column]], f"{name}: {column}")
    return app


# Tables that say what something is, in words.
WORDS_ONLY = {"properties", "claims_tested", "dimensions"}


def same_numbers(value: Any, shown: list[Any], name: str) -> None:
    """A variable holds what is drawn: one array, or several in order."""
    if isinstance(value, dict):
        value = list(value.values())
    mine = [value] if len(shown) == 1 and np.shape(value) == np.shape(shown[0]) else list(value)
    assert len(mine) == len(shown), name
    for one, other in zip(mine, shown, strict=True):
        one, other = (np.asarray(each, dtype=float) for each in (one, other))
        assert one.shape == other.shape, name
        # What may not be looked at is drawn as nothing.
        np.testing.assert_allclose(
            np.nan_to_num(one), np.nan_to_num(other), rtol=1e-5, atol=1e-5, err_msg=name
        )


def test_nothing_stated_has_no_lines() -> None:
    assert write_page("hypothesis", Scene(marked="The cat sat.")) is None
    assert write_page("sizes", Scene(model="file")) is None


@pytest.mark.parametrize("page", ["gallery", "sizes", "vit"])
@pytest.mark.parametrize("lang", LANGS)
def test_the_lines_and_the_citation_stand_on_the_page(page: str, lang: str) -> None:
    app = open_app(page, Scene(lang=lang))
    assert not app.exception
    scene = app.session_state["scene"]
    assert write_page(page, scene) in [code.value for code in app.code]
    [entry] = [code.value for code in app.code if code.value.startswith("@software")]
    assert f"version = {{{cite.version()}}}" in entry
    assert compute.load_weights().metadata["sha256"] in entry
    assert f"lang={lang}" in entry


def test_the_citation_names_the_version_of_the_project() -> None:
    from pathlib import Path

    cited = Path("CITATION.cff").read_text("utf-8")
    assert f"version: {cite.version()}" in cited
    assert cite.TITLE in cited
    assert "seed 7" in cite.describe_model(Scene(weights="article", seed=7), Words("en"))
