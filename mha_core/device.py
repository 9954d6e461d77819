"""Where to compute: one rule for every part of the project."""

from __future__ import annotations

import os

import torch

from mha_core.errors import DeviceError

VARIABLE = "TWELVE_HEADS_DEVICE"


def devices() -> tuple[str, ...]:
    """List the devices of this machine, the best first, "cpu" last.

    >>> devices()[-1]
    'cpu'
    """
    found = []
    if torch.cuda.is_available():
        found += [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        found.append("mps")
    return (*found, "cpu")


def choose_device(
    device: torch.device | str | None = None, dtype: torch.dtype | None = None
) -> torch.device:
    """Choose where to compute: the argument, else TWELVE_HEADS_DEVICE, else the best there is.

    Args:
        device: such as "cpu", "cuda", "cuda:1" or "mps".
        dtype: the float type that the device must have.

    Raises:
        DeviceError: the device is not a device, is not there, or lacks the float type.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    asked = device or os.environ.get(VARIABLE) or devices()[0]
    try:
        chosen = torch.device(asked)
    except RuntimeError:
        raise DeviceError("device.unknown", device=asked, found=", ".join(devices())) from None
    if not any(_names(chosen, name) for name in devices()):
        raise DeviceError("device.absent", device=asked, found=", ".join(devices()))
    if chosen.type == "mps" and dtype == torch.float64:
        raise DeviceError("device.float64", device=asked)
    return chosen


def _names(device: torch.device, name: str) -> bool:
    """Whether "cuda" or "cuda:0" means this machine's device of that name."""
    found = torch.device(name)
    return device.type == found.type and device.index in (None, found.index or 0)
