"""A program of its own: rounds a model of ONNX to eight bits, as :mod:`jubango.bots.networks.int8.quantised` says.

python quantise.py FOLDER NODE ...: reads before.onnx and its input.npz in the folder, and writes after.onnx. The nodes
stay as they are. It prints and logs as it likes, and takes memory for all that is in between, which goes when it ends.
"""

import sys
from pathlib import Path

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

BATCH = 32  # positions that are looked at together; a histogram is added up over all
PERCENTILE = 99.99


class Batches(CalibrationDataReader):
    def __init__(self, name: str, planes: np.ndarray) -> None:
        self.name = name
        self.all = [planes[i : i + BATCH] for i in range(0, len(planes), BATCH)]
        self.left = iter(self.all)

    def get_next(self) -> dict[str, np.ndarray] | None:
        batch = next(self.left, None)
        return None if batch is None else {self.name: batch}

    def __len__(self) -> int:
        return len(self.all)

    def set_range(self, start_index: int, end_index: int) -> None:
        self.left = iter(self.all[start_index:end_index])


def main(folder: Path, stay: list[str]) -> None:
    ((name, planes),) = np.load(folder / "input.npz").items()
    quantize_static(
        folder / "before.onnx", folder / "after.onnx", Batches(name, planes),
        quant_format=QuantFormat.QDQ, op_types_to_quantize=["Conv"], per_channel=True, nodes_to_exclude=stay,
        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, calibrate_method=CalibrationMethod.Percentile,
        extra_options={"CalibPercentile": PERCENTILE, "CalibStridedMinMax": 1},
    )  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
