"""The `onnx` package's own test nodes for one operator.

The package ships no data files: each case is Python that draws its inputs and computes the
expected outputs when its module is imported.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

MODULES = {"Attention": "attention", "RotaryEmbedding": "rotaryembedding"}


@dataclass(frozen=True)
class Case:
    """One node with its inputs, its expected outputs and the package's tolerances."""

    name: str
    attributes: dict[str, Any]
    inputs: dict[str, Tensor]
    expected: dict[str, Tensor]
    relative: float
    absolute: float

    def assert_close(self, output: str, value: Tensor) -> None:
        """Compare one output; short float types in float32, as the package itself does."""
        expected = self.expected[output]
        tolerance = {"rtol": self.relative, "atol": self.absolute}
        if expected.dtype in (torch.float16, torch.bfloat16):
            tolerance = {"rtol": 2e-2, "atol": 2e-2}
        torch.testing.assert_close(value.float(), expected.float(), **tolerance)


def load_cases(operator: str) -> list[Case]:
    """Import the module that makes one operator's cases, and read them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's own use of NumPy
        import onnx
        from onnx.backend.test.case import node as nodes

        nodes._TargetOpType = None
        importlib.import_module(f"onnx.backend.test.case.node.{MODULES[operator]}")
    cases = []
    for test in nodes._NodeTestCases:
        graph = test.model.graph
        if [node.op_type for node in graph.node] != [operator]:
            continue  # a case of another operator, or this one written out in smaller nodes
        node = graph.node[0]
        schema = onnx.defs.get_schema(operator, test.model.opset_import[0].version)
        inputs, outputs = test.data_sets[0]
        cases.append(
            Case(
                name=test.name,
                attributes={a.name: onnx.helper.get_attribute_value(a) for a in node.attribute},
                inputs=_by_formal_name(node.input, schema.inputs, inputs),
                expected=_by_formal_name(node.output, schema.outputs, outputs),
                relative=test.rtol,
                absolute=test.atol,
            )
        )
    return cases


def _by_formal_name(actual: Any, formal: Any, values: list[Any]) -> dict[str, Tensor]:
    """Pair the values, of which left-out arguments have none, with the operator's own names."""
    given = [slot.name for name, slot in zip(actual, formal, strict=False) if name]
    return {name: _tensor(value) for name, value in zip(given, values, strict=True)}


def _tensor(value: Any) -> Tensor:
    """Turn the package's arrays, bfloat16 ones included, into tensors."""
    array = np.asarray(value)
    if array.dtype.name == "bfloat16":
        return torch.tensor(array.astype(np.float32)).bfloat16()
    return torch.tensor(array)
