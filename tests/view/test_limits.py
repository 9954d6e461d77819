"""The bounds of a server: read from the environment, refused where they mean nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import ConfigError
from mha_view import heavy, limits
from mha_view.command import main
from mha_view.limits import PUBLIC, TABLE, is_public, list_limits, read
from mha_view.scene import Scene
from mha_view.words import LANGS, Words
from tests.view.test_pages import open_app

NAMES = [limit.name for limit in TABLE]


@pytest.mark.parametrize("limit", TABLE, ids=NAMES)
def test_the_open_internets_bound_is_no_wider(limit) -> None:
    assert limit.least <= limit.public <= limit.lab
    assert read(limit.name, {}) == limit.lab
    assert read(limit.name, {PUBLIC: "1"}) == limit.public


@given(st.sampled_from(TABLE), st.integers(0, 10**9), st.booleans())
def test_a_variable_sets_a_bound_on_any_server(limit, number: int, public: bool) -> None:
    environment = {limit.variable: str(number), PUBLIC: str(int(public))}
    if number < limit.least:
        with pytest.raises(ConfigError, match=limit.variable):
            read(limit.name, environment)
    else:
        assert read(limit.name, environment) == number


@pytest.mark.parametrize("text", ["-1", "1.5", "1e3", "many", "٣", "0x10", "1_000", "∞"])
def test_what_is_no_number_is_refused_in_both_languages(text: str) -> None:
    with pytest.raises(ConfigError, match="whole number") as refused:
        read("QUEUE", {"TWELVE_HEADS_QUEUE": text})
    assert text in str(refused.value)
    assert text in Words("zh").error(refused.value)


def test_the_list_names_every_variable_with_its_value() -> None:
    listed = list_limits({PUBLIC: "1", "TWELVE_HEADS_QUEUE": "7"})
    assert "TWELVE_HEADS_QUEUE = 7" in listed
    for limit in TABLE:
        assert limit.variable in listed


@pytest.mark.parametrize(("given", "public"), [("", 0), ("0", 0), ("No", 0), ("1", 1), ("yes", 1)])
def test_what_counts_as_public(given: str, public: int) -> None:
    assert is_public({PUBLIC: given}) is bool(public)


def test_the_command_shows_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWELVE_HEADS_QUEUE", "9")
    main(["--show-limits"])
    assert "TWELVE_HEADS_QUEUE = 9" in capsys.readouterr().out
    monkeypatch.setenv("TWELVE_HEADS_QUEUE", "many")
    with pytest.raises(SystemExit):
        main(["--show-limits", "--lang", "zh"])
    assert "TWELVE_HEADS_QUEUE = many" in capsys.readouterr().err


# --- Over a bound, the page says so and keeps what was typed --------------------------------


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with narrow bounds."""
    bounds = {"MOST_TEXT": 100, "MOST_FEATURES": 64, "MOST_LIVE_FEATURES": 32, "SESSIONS": 1}
    before = limits.value
    monkeypatch.setattr(limits, "value", lambda name: bounds.get(name) or before(name))


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("lang", LANGS)
def test_a_longer_text_is_kept_and_told(lang: str) -> None:
    text = "The cat sat. " * 20
    app = open_app("attention", Scene(lang=lang, text=text))
    assert not app.exception
    assert any("100" in item.value and str(len(text)) in item.value for item in app.warning)
    assert text in [field.value for field in (*app.text_area, *app.text_input)]


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("sizes", [{"d_model": 96}, {"d_model": 32, "n_heads": 8, "d_head": 16}])
def test_larger_sizes_are_told(lang: str, sizes: dict[str, int]) -> None:
    app = open_app("attention", Scene(lang=lang, weights="custom", **sizes))
    assert not app.exception
    [told] = [item.value for item in app.error]
    assert "64" in told
    assert Words(lang).lesson("attention", "title") not in [item.value for item in app.title]


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("lang", LANGS)
def test_a_larger_model_is_not_trained(lang: str) -> None:
    app = open_app("training", Scene(lang=lang, weights="live", live_d=64))
    app.button(key="live_train_same").click().run()
    run = app.session_state["live_run"]
    assert run.ended.wait(60)
    assert isinstance(run.failure, ConfigError)
    app.run()
    assert any("64" in item.value and "32" in item.value for item in app.error)


def test_beyond_the_last_place_a_reader_is_told_and_may_ask_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heavy, "_taken", set())
    monkeypatch.setattr(limits, "value", lambda name: 2)
    for name in ("first", "second", "first"):
        heavy.enter(name)
    with pytest.raises(ConfigError, match="2 readers are here already") as full:
        heavy.enter("third")
    assert "2 位读者" in Words("zh").error(full.value)
    heavy._taken.discard("first")
    heavy.enter("third")
