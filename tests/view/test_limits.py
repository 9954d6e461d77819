"""The bounds of a server: read from the environment, refused where they mean nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_core.errors import ConfigError
from mha_view.limits import PUBLIC, TABLE, is_public, list_limits, read
from mha_view.words import Words

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
