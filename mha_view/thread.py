"""The one head and the one token that run through every page."""

from __future__ import annotations

from mha_view import compute, state
from mha_view.scene import Scene
from mha_view.store import STORE
from mha_view.walk.choose import clearest_look


def head_of(scene: Scene) -> int:
    """The chosen head, the last one where the layer has fewer."""
    return min(scene.head, compute.config_of(scene).n_heads - 1)


def focus_of(scene: Scene) -> int:
    """The place of the focus token among the sentence's tokens, `<bos>` counted.

    One that the sentence does not have gives its last; while none is chosen, the chosen head's
    clearest look says which.
    """
    if scene.focus is None:
        return _clearest_query(compute.resolve(scene))
    place = scene.focus + compute.tokens_before(scene)
    return max(0, min(place, len(compute.reading_of(scene)) - 1))


def place_focus(place: int) -> None:
    """Make the token at a place among the sentence's tokens the focus token."""
    state.change(focus=place - compute.tokens_before(state.scene()))


def _clearest_query(scene: Scene) -> int:
    """The query of the chosen head's clearest look."""
    key = ("clearest query", compute.walk_key(scene), scene.layer, head_of(scene))
    return STORE.get(key, lambda: _look(scene)[0])


def _look(scene: Scene) -> tuple[int, int]:
    """The query and the key of the chosen head's clearest look, parts of words left out."""
    pattern = compute.pattern_of(scene)[head_of(scene)]
    return clearest_look(pattern, compute.fragments_of(scene))
