"""What the components send to the browser and make of what comes back."""

from __future__ import annotations

import gzip
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from mha_view import assets
from mha_view.components.links import links
from mha_view.components.packet import pack, unpack
from mha_view.components.plot import Cell, _cell, escape_label
from mha_view.words import catalogue

DTYPES = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8", ">f4", ">i4"]
any_array = st.sampled_from(DTYPES).flatmap(
    lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0))
)


@given(st.lists(any_array, max_size=4))
def test_arrays_arrive_as_they_were(values: list[np.ndarray]) -> None:
    back = unpack(pack({"values": values}))["values"]
    for sent, received in zip(values, back, strict=True):
        assert received.shape == sent.shape
        np.testing.assert_array_equal(received, sent)


def test_a_packet_is_the_raw_bytes_after_a_small_header() -> None:
    values = np.arange(12 * 64 * 64, dtype=np.float32).reshape(12, 64, 64)
    packet = pack({"z": values, "alt": "猫"})
    assert packet.endswith(values.tobytes())
    assert len(packet) - values.nbytes < 120
    assert (len(packet) - values.nbytes) % 8 == 0


def test_an_array_that_occurs_twice_travels_once() -> None:
    values = np.zeros((64, 64), np.float32)
    once, twice = pack({"z": values}), pack({"z": values, "export": {"pattern": values}})
    assert len(twice) - len(once) < 64
    # A view from the same place, of another shape, is another array.
    flat = unpack(pack({"z": values, "flat": values.ravel()}))["flat"]
    assert flat.shape == (4096,)


@pytest.mark.parametrize(
    ("sent", "received"),
    [(np.float16, np.float32), (np.bool_, np.uint8), (np.int64, np.int32), (np.uint64, np.int32)],
)
def test_types_a_browser_lacks_are_widened(sent: type, received: type) -> None:
    assert unpack(pack({"z": np.ones(3, sent)}))["z"].dtype == received


def test_large_integers_stay_exact() -> None:
    assert unpack(pack({"z": np.array([2**40])}))["z"][0] == 2**40


def test_plain_values_keep_their_place_and_what_json_lacks_becomes_null() -> None:
    header = {"a": [1, 2.5, None, True, "x"], "b": (np.float32(0.5), np.int64(3)), "c": np.nan}
    assert unpack(pack(header)) == {"a": [1, 2.5, None, True, "x"], "b": [0.5, 3], "c": None}


def test_text_arrays_become_lists() -> None:
    assert unpack(pack({"labels": np.array(["猫", "<b>"])}))["labels"] == ["猫", "<b>"]


def test_what_cannot_travel_is_refused() -> None:
    with pytest.raises(TypeError, match="a set cannot travel to the browser"):
        pack({"a": {1, 2}})


@pytest.mark.parametrize(
    ("text", "label"),
    [("<b>", "&lt;b&gt;"), ("&lt;", "&amp;lt;"), ("a\nb", "a↵b"), ('"it"', '"it"'), ("猫", "猫")],
)
def test_labels_print_as_they_are(text: str, label: str) -> None:
    assert escape_label(text) == label


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "x",
        {},
        {"figure": 3, "head": 0, "row": 0, "column": 0},
        {"figure": "p", "head": 0, "row": -1, "column": 0},
        {"figure": "p", "head": 0, "row": 1.5, "column": 0},
        {"figure": "p", "head": 0, "row": True, "column": 0},
        {"figure": "p", "head": 0, "row": 0},
    ],
)
def test_a_pick_that_is_no_cell_is_none(bad: object) -> None:
    assert _cell(bad) is None


def test_a_pick_is_a_cell() -> None:
    picked = {"figure": "pattern", "head": 5, "row": 8, "column": 2}
    assert _cell(picked) == Cell("pattern", 5, 8, 2)


@pytest.mark.parametrize(
    ("shape", "heads", "colours"), [((2, 3, 3), [0], ["red"]), ((1, 3, 2), [0], ["red"]),
                                    ((1, 3, 3), [0], [])],
)  # fmt: skip
def test_links_refuse_sizes_that_do_not_fit(
    shape: tuple[int, ...], heads: list[int], colours: list[str]
) -> None:
    with pytest.raises(ValueError, match=r"heads and 3 tokens need"):
        links(
            ["a", "b", "c"],
            np.zeros(shape),
            heads=heads,
            colours=colours,
            key="k",
            alt="",
            words={},
        )


def test_a_page_gets_what_it_selects_until_the_reader_picks() -> None:
    def page() -> None:
        import numpy as np
        import streamlit as st

        from mha_view.components.plot import Cell, plot

        figure = {"data": [{"type": "heatmap", "z": np.zeros((3, 3))}], "layout": {}}
        none = plot(figure, key="a", alt="", words={}, selected=None)
        chosen = plot(figure, key="b", alt="", words={}, selected=Cell("f", 1, 2, 0))
        own = plot(figure, key="c", alt="", words={})
        st.write(str([none, chosen, own]))

    app = AppTest.from_function(page).run()
    assert not app.exception
    chosen = "Cell(figure='f', head=1, row=2, column=0)"
    assert app.markdown[0].value == f"[None, {chosen}, None]"


# --- Files ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=assets.routes()))


@pytest.mark.parametrize("base", ["", "/some/path"])
def test_plotly_is_the_installed_one_and_compressed(client: TestClient, base: str) -> None:
    answer = client.get(base + assets.plotly_address())
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < len(answer.content) / 2
    assert answer.content == assets.plotly_script().read_bytes()
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert assets.plotly_version() in assets.plotly_address()


def test_a_browser_without_gzip_gets_it_plain(client: TestClient) -> None:
    answer = client.get(
        f"{assets.components_address()}/plot.js", headers={"accept-encoding": "identity"}
    )
    assert answer.headers["content-encoding"] == "identity"
    assert b"Plotly.react" in answer.content


def test_an_unchanged_file_is_not_sent_again(client: TestClient) -> None:
    address = f"{assets.components_address()}/plot.css"
    tag = client.get(address).headers["etag"]
    answer = client.get(address, headers={"if-none-match": tag})
    assert (answer.status_code, answer.content) == (304, b"")


@pytest.mark.parametrize("name", ["../plot.py", "..%2Fplot.py", "nothing.js", "%2e%2e/mount.py"])
def test_only_component_files_are_served(client: TestClient, name: str) -> None:
    assert client.get(f"{assets.components_address()}/{name}").status_code == 404


def test_the_version_follows_the_files(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "plot.js").write_text("1")
    monkeypatch.setattr(assets, "BROWSER_DIR", tmp_path)
    first = assets.components_version.__wrapped__()
    (tmp_path / "plot.js").write_text("2")
    assert assets.components_version.__wrapped__() != first


def test_finding_plotly_does_not_import_it() -> None:
    code = (
        "import sys; from mha_view import assets; assets.routes(); assets.plotly_script();"
        "assets.plotly_version(); sys.exit('plotly' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_gzip_is_of_the_file() -> None:
    path = assets.BROWSER_DIR / "cells.js"
    plain, packed, _ = assets._load(path, path.stat().st_mtime_ns)
    assert gzip.decompress(packed) == plain == path.read_bytes()


def test_every_word_a_component_asks_for_exists() -> None:
    import re

    names = ("plot", "links", "save_page", "canvas", "stage", "writing", "present", "share", "wall")
    groups = tuple(f"{name}." for name in names)
    asked = set()
    for path in assets.BROWSER_DIR.glob("*.js"):
        asked |= set(re.findall(r"\bwords\.(\w+)", path.read_text(encoding="utf-8")))
    for lang in ("en", "zh"):
        known = {key.split(".", 1)[1] for key in catalogue(lang) if key.startswith(groups)}
        assert asked <= known, lang
