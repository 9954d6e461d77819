"""Every public name says what it takes, what it refuses, and where it comes from."""

from __future__ import annotations

import importlib
import inspect

import pytest

MODULES = (
    "layer", "cache", "checks", "config", "derivation", "device", "fused", "grouped", "masks",
    "norms", "options", "reference", "rope", "scores", "steps", "trace", "values", "walk",
    "weights", "whatif",
)  # fmt: skip
STABLE = {
    "layer": ("scaled_dot_product", "attention", "fused_attention"),
    "config": ("AttentionConfig",),
    "masks": ("keep_mask", "named_mask"),
    "rope": ("Rope", "rotate", "rotate_with"),
    "walk": ("walk_layer",),
    "weights": ("from_torch",),
}
NAMES = [(module, name) for module, names in STABLE.items() for name in names]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_first_line(module: str):
    found = importlib.import_module(f"mha_core.{module}")
    for name, value in vars(found).items():
        own = getattr(value, "__module__", None) == found.__name__
        if own and not name.startswith("_") and callable(value):
            first = (inspect.getdoc(value) or "").splitlines()[0]
            assert first.endswith((".", "?", ":")), f"{module}.{name}: {first!r}"


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_stable_name_says_it_all(module: str, name: str):
    text = inspect.getdoc(getattr(importlib.import_module(f"mha_core.{module}"), name)) or ""
    for part in ("Args:", "Raises:", "Source:", ">>>"):
        assert part in text, f"{module}.{name} lacks {part}"


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_argument_is_explained(module: str, name: str):
    value = getattr(importlib.import_module(f"mha_core.{module}"), name)
    text = inspect.getdoc(value) or ""
    if name == "fused_attention":  # which takes attention's arguments, and says so
        text += inspect.getdoc(importlib.import_module("mha_core.layer").attention) or ""
    for argument in inspect.signature(value).parameters:
        assert f"{argument}: " in text, f"{module}.{name} does not explain {argument}"
