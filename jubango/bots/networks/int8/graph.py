"""The network of :mod:`jubango.bots.networks.model` as ONNX has it, for libraries that evaluate it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jubango.bots.networks.model import USUAL_SIDE
from jubango.bots.networks.shape import Shape

if TYPE_CHECKING:
    import onnx

INPUT, OUTPUTS = "planes", ("policy", "outcome", "ownership", "score")
OPSET, IR_VERSION = 17, 9  # of ONNX, as old as it may be: what libraries can read


def graph(
    shape: Shape, weights: Mapping[str, np.ndarray], height: int, width: int
) -> tuple[onnx.ModelProto, list[str]]:
    """(the model, the names of its convolutions outside of the blocks and the stem). Planes [N, H, W, C] become OUTPUTS
    as :func:`jubango.bots.networks.model.apply` returns them, the last two of networks with those heads alone."""
    return _Writer(shape, weights, height, width).model()


class _Writer:
    def __init__(self, shape: Shape, weights: Mapping[str, np.ndarray], height: int, width: int) -> None:
        from onnx import helper, numpy_helper

        self._make, self._array = helper, numpy_helper.from_array
        self.shape, self.weights, self.height, self.width = shape, weights, height, width
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.heads: list[str] = []

    def model(self) -> tuple[onnx.ModelProto, list[str]]:
        planes, actions = self.shape.planes, self._actions
        x = self._convolved("stem", self._node("Transpose", INPUT, perm=[0, 3, 1, 2]))
        for i in range(self.shape.blocks):
            inner = self._convolved(f"blocks.{i}.first", self._node("Relu", x))
            told = self._planes(self._linear(f"blocks.{i}.pooled", self._pool(inner)))
            inner = self._node("Relu", self._node("Add", inner, told))
            x = self._node("Add", x, self._convolved(f"blocks.{i}.second", inner))
        x = self._node("Relu", x)
        seen = self._convolved("value_planes", x)
        hidden = self._node("Relu", self._linear("value_hidden", self._pool(self._node("Relu", seen))))
        ends = {
            "policy": (self._policy(self._convolved("policy_planes", x)), [actions]),
            "outcome": (self._linear("outcome", hidden), [3]),
        }
        if self.shape.scores:
            owned = self._node("Squeeze", self._node("Tanh", self._convolved("ownership", seen)), self._numbers(1))
            ends["ownership"] = owned, [self.height, self.width]
            ends["score"] = self._node("Squeeze", self._linear("score", hidden), self._numbers(1)), []
        for name, (end, _) in ends.items():
            self.nodes.append(self._make.make_node("Identity", [end], [name]))
        described = self._make.make_tensor_value_info
        made = self._make.make_graph(
            self.nodes, "network", [described(INPUT, 1, ["N", self.height, self.width, planes])],
            [described(name, 1, ["N", *size]) for name, (_, size) in ends.items()], self.constants,
        )  # fmt: skip
        model = self._make.make_model(made, opset_imports=[self._make.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        return model, self.heads

    @property
    def _actions(self) -> int:
        if self.shape.head == "dense":
            return self.shape.actions
        return self.width if self.shape.head == "columns" else self.height * self.width + self.shape.passes

    def _policy(self, planes: str) -> str:
        seen = self._node("Relu", planes)
        if self.shape.head == "columns":
            both = [self._node(f"Reduce{kind}", seen, axes=[2], keepdims=0) for kind in ("Mean", "Max")]
            columns = self._node("Transpose", self._node("Concat", *both, axis=1), perm=[0, 2, 1])
            product = self._node("MatMul", columns, self._constant(self.weights["policy.kernel"]))
            return self._node(
                "Squeeze", self._node("Add", product, self._constant(self.weights["policy.bias"])), self._numbers(2)
            )
        if self.shape.head == "dense":
            return self._linear("policy", self._node("Flatten", self._node("Transpose", seen, perm=[0, 2, 3, 1])))
        pooled = self._pool(seen)
        told = self._node("Relu", self._node("Add", planes, self._planes(self._linear("policy_pooled", pooled))))
        points = self._node("Flatten", self._convolved("policy", told))
        return (
            self._node("Concat", points, self._linear("policy_pass", pooled), axis=1) if self.shape.passes else points
        )

    def _pool(self, x: str) -> str:
        mean, largest = (self._node("Flatten", self._node(f"Global{kind}Pool", x)) for kind in ("Average", "Max"))
        size = self._constant(np.float32(np.sqrt(self.height * self.width) / USUAL_SIDE - 1))
        return self._node("Concat", mean, self._node("Mul", mean, size), largest, axis=1)

    def _convolved(self, name: str, x: str) -> str:
        kernel = self.weights[f"{name}.kernel"].transpose(3, 2, 0, 1)
        side = kernel.shape[2]
        weights = self._constant(kernel), self._constant(self.weights[f"{name}.bias"])
        out = self._node("Conv", x, *weights, kernel_shape=[side, side], pads=[side // 2] * 4)
        if name != "stem" and not name.startswith("blocks."):
            self.heads.append(self.nodes[-1].name)
        return out

    def _linear(self, name: str, x: str) -> str:
        return self._node("Gemm", x, *(self._constant(self.weights[f"{name}.{part}"]) for part in ("kernel", "bias")))

    def _planes(self, x: str) -> str:
        """[N, C] beside [N, C, H, W]."""
        return self._node("Unsqueeze", x, self._numbers(2, 3))

    def _numbers(self, *numbers: int) -> str:
        return self._constant(np.array(numbers, np.int64))

    def _constant(self, value: np.ndarray | np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self._array(np.ascontiguousarray(value), name))
        return name

    def _node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(self._make.make_node(kind, inputs, [name], name=name, **attributes))
        return name
