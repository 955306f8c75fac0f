"""Programs compiled for an H100 on a machine that has none: whether the compiler takes them, and what it makes of them.

    python benchmarks/compile_for_gpu.py
    python benchmarks/compile_for_gpu.py 'playout go:9 4096' 'step go:9 4096' 'puct go:9 4096' 'network go:9 1024'

Needs no card and no driver, but CUDA's compilers: `pip install 'jax[cuda13]'`, JAX 0.10 or later. A crash of a compiler
is told as one line, as each program is made in a process of its own. Of a search the lines below a program say what
one turn of each of its loops costs: kernels, and questions (loops and branches) that the host waits for.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KINDS = "step", "playout", "puct", "network"
PROGRAMS = ("step go:9 4096", "playout go:9 4096", "puct go:9 4096", "network go:9 1024")
# What XLA has to know of the card, as it writes it down itself (--xla_dump_to, gpu_target_config).
H100 = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 shared_memory_per_core: 233472
  threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: 3352320000000 l2_cache_size: 52428800
  clock_rate_ghz: 1.98 device_memory_size: 84978434048 shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 minor: 0 } registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA" dnn_version_info { major: 9 minor: 10 } runtime_version { major: 13 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
KNOWN = "known_trip_count"  # of a loop whose end is no question
NO_KERNELS = "parameter", "get-tuple-element", "tuple", "bitcast", "constant", "fusion-done", "while", "conditional"


def compiled(kind: str, spec: str, lanes: int) -> str:
    """The program for an H100, as XLA writes it down."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import topologies
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from jubango.sgf_games.compute import kernels, machine
    from jubango.sgf_games.rules import hex as hex_rules
    from jubango.sgf_games.rules import othello
    from jubango.sgf_games.rules.catalogue import make_game
    from jubango.sgf_games.rules.go import playout
    from jubango.sgf_games.rules.lines import mnk

    jax.devices()
    card = topologies.get_topology_desc("h100", "cuda", target_config=H100, topology="1x1x1").devices[:1]
    mesh = Mesh(np.array(card), ("lanes",))
    whole, split = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("lanes"))
    with contextlib.suppress(ImportError):  # JAX before 0.11 asks for no card
        info: Any = importlib.import_module("jax._src.pallas.triton.gpu_info")
        info.get_gpu_info = lambda: info.get_gpu_info_from_version(info.GpuVersion.H100)
    # What is looked at on the card itself is taken for right.
    own: Any = kernels
    own.reduction_holds = lambda _: True
    for module in (playout, mnk, othello, hex_rules):
        module.agrees = lambda *_: True  # type: ignore[attr-defined]

    def made(function: Any, *args: Any, **options: Any) -> str:
        began = time.perf_counter()
        lowered = jax.jit(function, **options).trace(*args).lower(lowering_platforms=("cuda",))
        middle = time.perf_counter()
        text = str(lowered.compile().as_text())
        print(
            f"{kind} {spec} {lanes}: traced in {middle - began:.1f} s, compiled in {time.perf_counter() - middle:.1f}"
        )
        return text

    game = make_game(spec)
    states = jax.eval_shape(lambda: jax.vmap(lambda _: game.init(), out_axes=-1)(jnp.arange(lanes)))
    with machine.made_for("gpu"):
        if kind == "playout":
            seeds = jax.ShapeDtypeStruct((lanes,), jnp.uint32)
            return made(lambda s, x: game.random_playout(s, x), states, seeds, in_shardings=whole, out_shardings=whole)
        if kind == "step":
            step = jax.vmap(game.step, in_axes=(-1, 0), out_axes=-1)
            action = jax.ShapeDtypeStruct((lanes,), jnp.int32)
            return made(step, states, action, in_shardings=whole, out_shardings=whole)
        return made_search(kind, game, lanes, made, whole, split)


def made_search(kind: str, game: Any, trees: int, made: Any, whole: Any, split: Any) -> str:
    import jax
    import numpy as np

    import jubango as jb
    from jubango.bots.evaluators.network import NetworkEvaluator
    from jubango.bots.networks.model import new_weights
    from jubango.bots.networks.shape import Shape
    from jubango.bots.search import lifecycle
    from jubango.bots.search.host import search_program
    from jubango.bots.search.packing import pack

    shape = Shape.of(game, 32, 4)
    evaluator = NetworkEvaluator(shape) if kind == "network" else jb.Uniform()
    weights: Any = jax.eval_shape(lambda: new_weights(shape)) if kind == "network" else ()
    search = jb.Search(game, jb.Puct(), evaluator, capacity=128)
    own: Any = search_program
    own.shard = lambda _: (split, whole)
    put, jax.device_put = jax.device_put, lambda x, *_, **__: x  # nothing is on the card
    program = own._compile(search, 1, trees)
    jax.device_put = put
    state = jax.eval_shape(lambda: lifecycle.idle(search, trees))
    states = jax.tree.map(lambda x: jax.ShapeDtypeStruct((*x.shape, trees), x.dtype), jax.eval_shape(game.init))
    told = pack(search, [], np.zeros(0, int), trees, 1), program.no_script, program.nothing, program.none, np.int32(4)
    chunk: Any = program.run_chunk
    places = {key: value for key, value in chunk._options.items() if key.endswith(("_shardings", "argnums"))}
    return str(made(lambda *args: chunk.__wrapped__(*args), state, weights, states, *told, **places))


def told(text: str) -> None:
    """The kernels of the program and of a turn of each of its loops. Loops and branches ask, and the host waits."""
    parts: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if begun := re.match(r"^(ENTRY )?%?([\w.\-]+) \(.*\{\s*$", line):
            name = "main" if begun[1] else begun[2]
            parts[name] = []
        elif name and " = " in line:
            parts[name].append(line)

    def one(part: str, called: str, depth: int) -> None:
        kinds = [re.search(r"\s([a-z][\w\-]*)\(", line.split(" = ", 1)[1]) for line in parts[part]]
        names = [kind[1] for kind in kinds if kind]
        asked = sum(name in ("while", "conditional") for name in names)
        asked -= sum(KNOWN in line for line in parts[part])
        print(f"{'  ' * depth}{called}: {sum(name not in NO_KERNELS for name in names)} kernels, asks {asked} times")
        for line in parts[part]:
            if inner := re.search(r" while\(.*body=%?([\w.\-]+)", line):
                turns = re.search(KNOWN + r'":\{"n":"(\d+)"', line)
                one(inner[1], f"each of {turns[1]} turns" if turns else "a turn", depth + 1)
            for inner in re.finditer(r"(?:true_computation|false_computation)=%?([\w.\-]+)", line):
                one(inner[1], "a branch", depth + 1)
            if inner := re.search(r"branch_computations=\{([^}]*)\}", line):
                for branch in inner[1].split(","):
                    one(branch.strip().lstrip("%"), "a branch", depth + 1)

    one("main", "all", 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=PROGRAMS, help=f"'KIND GAME LANES'; kinds: {', '.join(KINDS)}")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    for words in given.programs:
        if not re.fullmatch(rf"({'|'.join(KINDS)}) \S+ [1-9]\d*", words):
            parser.error(f"{words!r}: should be 'KIND GAME LANES', a kind of {', '.join(KINDS)}")
    if given.one:
        sys.path.insert(0, str(ROOT))
        kind, spec, lanes = given.programs[0].split()
        return told(compiled(kind, spec, int(lanes)))
    variables = {"JAX_PLATFORMS": "cpu", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1", "PYTHONUNBUFFERED": "1"}
    variables["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_autotune_level=0"
    failed = 0
    for words in given.programs:
        command = [sys.executable, __file__, "--one", words]
        ended = subprocess.run(command, env=os.environ | variables, stderr=subprocess.PIPE, text=True, check=False)
        if ended.returncode:
            failed += 1
            said = [line for line in ended.stderr.splitlines() if line.strip()] or [""]
            print(f"{words}: failed with status {ended.returncode}: {said[-1].strip()[:300]}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
