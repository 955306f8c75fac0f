"""Everything that a GPU is to be asked, in one sitting of ten minutes, and one table of it.

    python benchmarks/gpu.py [--small] [--only equality,puct] [--ahead 3] [--minutes 10] [--out gpu.md]

First whether the same games come out as on the machine's CPU, then speeds. Every section is a process of its own with
a time of its own; one that fails, or takes too long, is a line of the table, and the rest goes on. --small asks for
little of everything, to see on any machine that the script works; its figures say nothing.

On the machine with the GPU only Python need be there. Elsewhere, with the network, for its Python and CUDA:

    pip wheel --no-deps -w wheels .
    pip download --only-binary :all: -d wheels --python-version 3.12 \
        --platform manylinux2014_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_28_x86_64 \
        wheels/jubango-*.whl 'jax[cuda13]' optax mctx pgx

then, with the folders `wheels`, `benchmarks` and `examples` there:

    python3 -m venv own && own/bin/pip install --no-index --find-links wheels jubango 'jax[cuda13]' optax mctx pgx
    own/bin/python benchmarks/gpu.py --out gpu.md

Where JAX with its CUDA is part of the image, leave out 'jax[cuda13]' and make the environment with
--system-site-packages. Without mctx and pgx their lines alone are missing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
Row = tuple[str, str, str]  # what, how much, more about it
SHARED = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}  # for processes that share a card
SMALL = "tic_tac_toe"  # the board of --small
CUDA_GRAPHS = "--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL,CONDITIONAL,WHILE"


# -- sections: each is run in a process of its own --------------------------------------------


def device(small: bool) -> Iterator[Row]:
    import jax

    from jubango.sgf_games.compute import kernels, machine

    found = machine.devices()
    memory = f"{machine.device_memory_bytes() / 2**30:.0f} GiB for trees"
    yield "device", f"{len(found)} x {found[0].device_kind}", f"JAX {jax.__version__}, {memory}"
    began = time.perf_counter()
    answer = "one of Pallas" if kernels.in_pallas() else "the compiler's" if not machine.on_cpu() else "a CPU's"
    yield "kernel of a rules step", answer, f"found out in {time.perf_counter() - began:.1f} s"


BOARDS = "go:9", "connect_four", "gomoku:9", "go:19"
SEARCHES = "uct with rollouts", "uct, 8 leaves at once", "puct", "a network"


def equality(small: bool) -> Iterator[Row]:
    """The same by both kinds of devices, each part in a process of its own, as many at once as there are cores for."""
    import numpy as np

    from jubango.sgf_games.compute.machine import cores

    parts = [SMALL, *SEARCHES[2:]] if small else [*BOARDS, *SEARCHES]

    def found(task: tuple[str, str]) -> dict[str, Any] | str:
        part, kind = task
        path = Path(folder) / f"{parts.index(part)}-{kind or 'other'}.npz"
        variables = {**os.environ, "JUBANGO_DEVICE": kind, "JUBANGO_CORES": "1", **SHARED}
        command = [sys.executable, __file__, "--play", str(path), "--part", part, *(["--small"] if small else [])]
        ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        return dict(np.load(path)) if not ended.returncode else ended.stderr.strip()[-200:] or str(ended.returncode)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max(1, cores() - 1)) as pool:
        begun = {pool.submit(found, task): task for task in itertools.product(parts, ("cpu", ""))}
        ended: dict[str, dict[str, Any]] = {part: {} for part in parts}
        for task in as_completed(begun):  # what has come is told, however long the others take
            part, kind = begun[task]
            ended[part][kind] = task.result()
            if isinstance(ended[part][kind], str):
                yield f"{part}, {kind or 'the card'}", "failed", ended[part][kind]
            elif all(isinstance(ended[part].get(kind), dict) for kind in ("cpu", "")):
                yield from compared(ended[part]["cpu"], ended[part][""])


def compared(cpu: dict[str, Any], other: dict[str, Any]) -> Iterator[Row]:
    import numpy as np

    for name in cpu:
        one, two = cpu[name], other[name]
        if one.shape != two.shape:
            yield name, "different", f"{one.shape} and {two.shape}"
        elif one.dtype.kind == "f":
            apart = float(np.max(np.abs(one - two), initial=0))
            yield name, f"{np.mean(one == two):.2%} of the bits are equal", f"at most {apart:.1e} apart"
        else:
            same = np.all(one == two, axis=tuple(range(1, one.ndim)))
            yield name, "equal" if same.all() else "DIFFERENT", f"{int((~same).sum())} of {len(same)} differ"


def play_for_equality(path: Path, small: bool, part: str) -> None:
    """What both kinds of devices are to find."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import jubango as jb
    from jubango.bots.evaluators.network import NetworkEvaluator
    from jubango.bots.networks.model import new_weights
    from jubango.bots.networks.shape import Shape
    from jubango.sgf_games.compute.machine import claim
    from jubango.sgf_games.compute.programs import jit
    from jubango.sgf_games.rules.catalogue import make_game
    from jubango.sgf_games.rules.compiled import initial_state, initial_states

    claim()
    if part not in SEARCHES:
        game = make_game(part)
        lanes = 64 if small else 1024
        seeds = jnp.arange(lanes, dtype=jnp.uint32)
        ends = jit(game.random_playout_with_amaf)(initial_states(game, lanes), seeds)
        results, first = map(np.asarray, ends)
        named = {f"{part}, random games, results": results[:, None], f"{part}, random games, who was first": first.T}
        np.savez(path, **named)
        return
    found: dict[str, np.ndarray] = {}
    game = make_game(SMALL if small else "go:9")
    simulations, games = (16, 4) if small else (128, 64)
    rule, evaluator, leaves = {
        "uct with rollouts": (jb.Ucb1(), jb.Rollout(), 1),
        "uct, 8 leaves at once": (jb.Ucb1(), jb.Rollout(), 8),
    }.get(part, (jb.Puct(), jb.Uniform(), 1))
    weights: Any = ()
    if part == "a network":
        shape = Shape.of(game, 8, 1) if small else Shape.of(game, 32, 4)
        rng = np.random.default_rng(0)
        weights = {
            name: np.asarray(x) + rng.normal(0, 0.1, x.shape).astype(np.float32)
            for name, x in new_weights(shape).items()
        }
        evaluator = NetworkEvaluator(shape)
    search = jb.Search(game, rule, evaluator, capacity=simulations, leaves=leaves)
    results = jb.run_many(search, [initial_state(game)] * games, seed=1, params=weights)
    if part == "a network":
        found[f"{game.spec}, network search, moves"] = np.array([[result.action] for result in results])
        found[f"{game.spec}, network search, values"] = np.array([result.value for result in results], np.float32)
    else:
        found[f"{game.spec}, {part}, visits"] = np.stack([result.visits for result in results])
    np.savez(path, **jax.device_get(found))


def playouts(small: bool) -> Iterator[Row]:
    from jubango.arena.benchmark import playout_speed
    from jubango.sgf_games.rules.catalogue import make_game

    for lanes in (64, 512) if small else (64, 1024, 4096, 16_384, 65_536):
        moves, games = playout_speed(make_game(SMALL if small else "go:9"), lanes, 0.3 if small else 1.5)
        yield f"random games, {lanes:,} lanes a device", f"{games:,.0f} games/s", f"{moves:,.0f} moves/s"


def plain_playouts(small: bool) -> Iterator[Row]:
    os.environ["JUBANGO_KERNELS"] = "plain"
    for what, much, more in playouts(small):
        yield f"{what}, left to the compiler", much, more


def timed(spec: str, trees: int, simulations: int, **more: Any) -> str:
    import statistics

    from jubango.arena.benchmark import SearchCase, search_speed

    return f"{statistics.median(search_speed(SearchCase(spec, trees, simulations, **more), 3)):,.0f}"


def puct(small: bool) -> Iterator[Row]:
    for trees, simulations in ((8, 16), (64, 16)) if small else ((64, 128), (4096, 128), (16_384, 128)):
        much = timed(SMALL if small else "go:9", trees, simulations)
        yield f"PUCT, uniform prior, {trees:,} x {simulations}", f"{much} simulations/s", ""


def puct_as_graphs(small: bool) -> Iterator[Row]:
    """Loops and branches as CUDA graphs, so that the host waits for none."""
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {CUDA_GRAPHS}"
    for what, much, more in puct(small):
        yield f"{what}, loops in CUDA graphs", much, more


def mctx_and_pgx(small: bool) -> Iterator[Row]:
    import jax
    import jax.numpy as jnp
    import mctx
    import pgx

    env, simulations = pgx.make("tic_tac_toe" if small else "go_9x9"), 16 if small else 128

    def recurrent(params: Any, key: jax.Array, action: jax.Array, state: Any) -> tuple:
        mover = state.current_player
        state = jax.vmap(env.step)(state, action)
        reward = state.rewards[jnp.arange(mover.shape[0]), mover]
        logits = jnp.where(state.legal_action_mask, 0.0, -1e9)
        discount = jnp.where(state.terminated, 0.0, -1.0)
        said = mctx.RecurrentFnOutput(
            reward=reward, discount=discount, prior_logits=logits, value=jnp.zeros(mover.shape[0])
        )
        return said, state

    def search(state: Any) -> Any:
        legal = state.legal_action_mask
        root = mctx.RootFnOutput(
            prior_logits=jnp.where(legal, 0.0, -1e9), value=jnp.zeros(legal.shape[0]), embedding=state
        )
        out = mctx.muzero_policy(
            (), jax.random.PRNGKey(0), root, recurrent, simulations, invalid_actions=~legal, dirichlet_fraction=0.0
        )
        return out.action, out.action_weights

    for trees in (8, 64) if small else (64, 512, 2048, 4096):
        state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), trees))
        made = jax.jit(search)
        jax.block_until_ready(made(state))
        speeds = []
        for _ in range(3):
            began = time.perf_counter()
            jax.device_get(made(state))
            speeds.append(trees * simulations / (time.perf_counter() - began))
        yield f"mctx + pgx, {trees:,} x {simulations}", f"{sorted(speeds)[1]:,.0f} simulations/s", ""


def small_network(small: bool) -> Iterator[Row]:
    yield from network(small, 32, 4)


def large_network(small: bool) -> Iterator[Row]:
    yield from network(small, 128, 8)


def network(small: bool, channels: int, blocks: int) -> Iterator[Row]:
    from jubango.bots.evaluators.network import NetworkEvaluator
    from jubango.bots.networks.model import new_weights
    from jubango.bots.networks.shape import Shape
    from jubango.sgf_games.rules.catalogue import make_game

    spec = SMALL if small else "go:9"
    shape = Shape.of(make_game(spec), *((8, 1) if small else (channels, blocks)))
    for trees, precision in ((16, "bfloat16"),) if small else ((4096, "float32"), (4096, "bfloat16")):
        judge = NetworkEvaluator(shape, precision)
        much = timed(spec, trees, 8 if small else 64, evaluator=judge, params=new_weights(shape))
        what = f"search with a network of {shape.channels} x {shape.blocks}, {trees:,} trees of 64"
        yield what, f"{much} evaluations/s", precision


def self_play(small: bool) -> Iterator[Row]:
    import jax
    import jax.numpy as jnp

    from jubango.bots.learning.self_player import SelfPlayer
    from jubango.bots.learning.training_config import TrainingConfig
    from jubango.bots.networks.model import new_weights

    keys: dict[str, Any] = {"channels": 8, "blocks": 1, "lanes": 64, "simulations": 8} if small else {"simulations": 64}
    settings = TrainingConfig.model_validate({"games": (SMALL if small else "go:9",), **keys}).chosen()
    player = SelfPlayer(settings)
    weights = new_weights(player.shape)
    turns = 2 if small else 4
    player.play(0, False, weights, jax.random.key(0), jax.random.key(1), -2.0)
    began = time.perf_counter()
    for i in range(turns):
        player.play(0, False, weights, jax.random.key(0), jax.random.key(i), -2.0)
    jax.block_until_ready(jnp.zeros(1))
    speed = turns * 8 * player.lanes / (time.perf_counter() - began)
    shown = f"{settings.channels} x {settings.blocks}, {player.lanes:,} games, {settings.simulations} simulations"
    yield "self-play, a network of " + shown, f"{speed:,.0f} positions/s", "quick moves included"


def command(*words: str) -> float:
    """Seconds that jubango takes."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "jubango.arena.commands", *words], check=True, stdout=sys.stderr)
    return time.perf_counter() - began


def train(small: bool) -> Iterator[Row]:
    minutes = "0.3" if small else "1.2"
    keys = ["--channels", "8", "--blocks", "1", "--lanes", "64", "--simulations", "8"] if small else []
    with tempfile.TemporaryDirectory() as folder:
        where = ["--out", folder, "--minutes", minutes, "--measure-games", "2"]
        spent = command("train", "--game", SMALL if small else "go:9", *where, *keys)
        table = (Path(folder) / "progress.csv").read_text().splitlines()
        last = dict(zip(table[0].split(","), table[-1].split(","), strict=True))
    kept = {key: last[key] for key in ("games", "positions", "steps") if key in last}
    yield (
        f"jubango train, {minutes} minutes",
        ", ".join(f"{value} {key}" for key, value in kept.items()),
        f"{spent:.0f} s",
    )


def demo(small: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        if small:
            spent = command("match", "uct:simulations=8", "random", "--game", SMALL, "--games", "4", "--out", folder)
        else:
            spent = command("tournament", str(ROOT / "examples" / "demo.toml"), "--out", folder)
    yield "the demo" if not small else "a match", f"{spent:.0f} s", "programs made, games kept"


# What, and the share of the time that it may take.
SECTIONS: dict[str, tuple[Callable[[bool], Iterator[Row]], float]] = {
    "device": (device, 0.05),
    "equality": (equality, 0.2),
    "playouts": (playouts, 0.1),
    "puct": (puct, 0.1),
    "puct_as_graphs": (puct_as_graphs, 0.08),
    "mctx_and_pgx": (mctx_and_pgx, 0.1),
    "plain_playouts": (plain_playouts, 0.08),
    "small_network": (small_network, 0.08),
    "large_network": (large_network, 0.12),
    "self_play": (self_play, 0.07),
    "train": (train, 0.2),
    "demo": (demo, 0.1),
}


# Whose programs are worth making beforehand; of the others the making is part of the time. Equality is no speed.
MADE_AHEAD = ("playouts", "puct", "mctx_and_pgx", "small_network", "large_network", "self_play", "plain_playouts")


def made_ahead(names: list[str], small: bool, seconds: float) -> list[Row]:
    """These sections side by side, for the programs that they leave in the cache. Returns what equality says."""
    with ThreadPoolExecutor(len(names)) as pool:
        begun = {name: pool.submit(run, name, small, seconds, **SHARED) for name in names}
    return begun["equality"].result() if "equality" in begun else []


def run(name: str, small: bool, seconds: float, **more: str) -> list[Row]:
    """The lines of a section, as far as it came."""
    began = time.perf_counter()
    words = [sys.executable, __file__, "--section", name, *(["--small"] if small else [])]
    variables = {**os.environ, **more, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        err = f"{err}\nstopped after {seconds:.0f} s"
    rows: list[Row] = [tuple(json.loads(line)) for line in out.splitlines() if line.startswith("[")]
    if process.returncode:
        said = [line for line in err.splitlines() if line.strip()] or ["no word"]
        rows.append((name, "failed", said[-1].strip()[:200]))
    print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="little of everything: does the script work?")
    parser.add_argument("--only", default="", help=f"some of {', '.join(SECTIONS)}")
    parser.add_argument("--minutes", type=float, default=10.0, help="that all of it may take, besides --ahead")
    parser.add_argument(
        "--ahead", type=float, default=0.0, metavar="MINUTES", help="make programs side by side before, for so long"
    )
    parser.add_argument("--out", default="", help="a file for the table, besides the terminal")
    parser.add_argument("--section", choices=SECTIONS, help=argparse.SUPPRESS)
    parser.add_argument("--play", help=argparse.SUPPRESS)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play:
        play_for_equality(Path(given.play), given.small, given.part)
    elif given.section:
        from jubango.sgf_games.compute.machine import claim

        claim()  # and with it the cache of programs
        for row in SECTIONS[given.section][0](given.small):
            print(json.dumps(row), flush=True)
    else:
        wanted = given.only.split(",") if given.only else list(SECTIONS)
        if unknown := sorted(set(wanted) - set(SECTIONS)):
            parser.error(f"--only: there is no {unknown[0]}; there are {', '.join(SECTIONS)}")
        known: dict[str, list[Row]] = {}
        together = [name for name in wanted if name in (*MADE_AHEAD, "equality")]
        if given.ahead and together:
            known["equality"] = made_ahead(together, given.small, 60 * given.ahead)
        ends, lines = time.perf_counter() + 60 * given.minutes, ["| what | how much | more |", "|---|---|---|"]
        print("\n".join(lines), flush=True)
        for name in wanted:
            left = ends - time.perf_counter()
            rows = [(name, "left out", "no time left")]
            if known.get(name):
                rows = known[name]
            elif left > 5:
                share = SECTIONS[name][1] / min(1.0, sum(SECTIONS[each][1] for each in wanted))
                rows = run(name, given.small, min(left, 60 * given.minutes * share))
            new = ["| " + " | ".join(word.replace("|", "/") for word in row) + " |" for row in rows]
            print("\n".join(new), flush=True)
            lines += new
            if given.out:
                Path(given.out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
