"""Train the digits ViT: `python -m mha_core.train_vit`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from mha_core.model.digits import load_digits, split_digits
from mha_core.model.vit import FILE, save_vit
from mha_core.training.train_vit import accuracy, train_vit


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, print the held-out accuracy, write the weights."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.train_vit", description=__doc__)
    parser.add_argument("--out", type=Path, default=FILE, help="where to write the weights")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    learn, held_out = split_digits(load_digits())
    start = time.perf_counter()
    model = train_vit(learn, options.seed)
    seconds = time.perf_counter() - start
    right = accuracy(model, held_out)
    n_parameters = sum(p.numel() for p in model.parameters())
    print(f"{n_parameters:,} parameters, {seconds:.0f} s, held-out accuracy {right:.4f}")
    save_vit(model, options.out, {"seed": str(options.seed), "held_out_accuracy": f"{right:.4f}"})


if __name__ == "__main__":
    main()
