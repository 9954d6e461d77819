"""What the class a config names really is: built and run by transformers, without our reader.

The class is built on the meta device and its parameters counted; then it reads three tokens, and
what its cache holds is looked at. Nothing here shares a line with `mha_core.sizes`.
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

ASIDE = ("auto_map", "quantization_config", "torch_dtype", "dtype", "transformers_version")
N_TOKENS = 3


@dataclass(frozen=True)
class Truth:
    """The built class.

    Args:
        total: learned numbers, a tied tensor once.
        kept: numbers that its layers keep for one token; None where it would not run.
        windows: how many layers keep at most so many tokens; None is all.
    """

    total: int
    kept: int | None = None
    windows: Counter[int | None] | None = None


def named_class(config: dict[str, Any]) -> Any:
    """The class in `architectures`, None where transformers has none of that name."""
    import transformers

    names = config.get("architectures") or [None]
    return getattr(transformers, names[0], None) if isinstance(names[0], str) else None


def truth_of(config: dict[str, Any]) -> Truth | None:
    """Build and run the class a config names; None where that cannot be done.

    Args:
        config: the file's object.
    """
    import torch

    kind = named_class(config)
    if kind is None:
        return None
    own = {key: value for key, value in copy.deepcopy(config).items() if key not in ASIDE}
    # As from_pretrained does for the class of one part of a composite.
    wanted = kind.config_class.model_type
    for part in config.values():
        is_part = isinstance(part, dict) and part.get("model_type") == wanted
        if is_part and config.get("model_type", wanted) != wanted:
            own = part
    level = logging.getLogger("transformers").level
    logging.getLogger("transformers").setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.device("meta"):
                model = _build(kind, kind.config_class.from_dict(own))
            total = sum(parameter.numel() for parameter in model.parameters())
            return Truth(total, *_kept(model))
    except Exception:
        # Whatever a class raises for a file, it is not the file's model then.
        return None
    finally:
        logging.getLogger("transformers").setLevel(level)


def _build(kind: Any, config: Any) -> Any:
    try:
        plain = {"attn_implementation": "eager", "experts_implementation": "batched_mm"}
        return kind._from_config(copy.deepcopy(config), **plain).eval()
    except Exception:
        return kind._from_config(copy.deepcopy(config)).eval()


def _kept(model: Any) -> tuple[int | None, Counter[int | None] | None]:
    """Numbers a token and windows by layer, from a cache that the model itself filled."""
    import torch

    try:
        with torch.no_grad(), torch.device("meta"):
            tokens = torch.zeros(1, N_TOKENS, dtype=torch.long, device="meta")
            out = model(input_ids=tokens, use_cache=True)
        cache = getattr(out, "cache", None) or out.past_key_values
        filled = [layer for layer in cache.layers if getattr(layer, "keys", None) is not None]
    except Exception:
        return None, None
    numbers = sum(
        tensor.shape[1] * tensor.shape[3]
        for layer in filled
        for tensor in (layer.keys, layer.values)
    )
    windows = Counter(getattr(layer, "sliding_window", None) for layer in filled)
    return (numbers, windows) if filled else (None, None)
