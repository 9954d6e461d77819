"""Train the sentence model: `python -m mha_core.train --out runs/1`."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from mha_core.training.train import Recipe, run


def main(arguments: list[str] | None = None) -> None:
    """Train from the command line. Ctrl-C leaves the last report's weights and state."""
    parser = argparse.ArgumentParser(prog="python -m mha_core.train", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("trained"), help="folder to write to")
    parser.add_argument("--seed", type=int, default=3, help="3 is the shipped model's")
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        final = run(Recipe(seed=options.seed, steps=options.steps), options.out)
    except KeyboardInterrupt:
        print(f"stopped; {options.out} holds the weights so far, the same command resumes")
    else:
        print(f"wrote {final}")


if __name__ == "__main__":
    main()
