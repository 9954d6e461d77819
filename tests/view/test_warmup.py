"""What the server does before its first reader, so that no answer waits for it."""

from __future__ import annotations

import gc
import tomllib
from pathlib import Path

from mha_view import warmup

SETTINGS = Path(__file__).parents[2] / ".streamlit" / "config.toml"


def test_no_answer_is_followed_by_a_full_collection() -> None:
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    assert settings["runner"]["postScriptGC"] is False
    gc.unfreeze()
    warmup.tell_first_words()
    warmup.warm_up()
    try:
        assert gc.get_freeze_count() > 10_000, "torch and the weights are left alone"
    finally:
        gc.unfreeze()


def test_no_host_elsewhere_is_asked_where_this_one_is() -> None:
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    assert settings["browser"] == {"gatherUsageStats": False, "serverAddress": "localhost"}
