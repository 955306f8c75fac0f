"""What can be said about a bot: the keys of a spec string and of a ``[[bots]]`` table, checked."""

from __future__ import annotations

import functools
import itertools
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Unpack

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from jubango.bots.bot_keys import BotKeys, key_of
from jubango.bots.search.rules.registry import RULES, SHIPPED, shipped_params
from jubango.bots.search.rules.rule import Rule
from jubango.sgf_games.base import shell
from jubango.sgf_games.base.errors import UserError, nearest
from jubango.sgf_games.base.models import checked, said
from jubango.sgf_games.base.own_parts import nearest_part
from jubango.sgf_games.base.specs import parse_spec, value_text

LONGEST_NAME = 80
NO_NETWORK = "none"  # in the place of a file of weights
HUMAN = "human"  # a player of jubango play, and no bot
CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"  # characters that are in no name; in a bot's no ~ either


def _key(default: Any, about: str) -> Any:
    """A key of a bot with its default and what it is."""
    return Field(default, description=about)


class BotConfig(BaseModel):
    """A named, frozen configuration. ``use`` says what kind of bot the other keys configure."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=rf"^[^{CONTROL}~]+$")]
    use: str

    @field_validator("*", mode="before")
    @classmethod
    def _no_number_is_true(cls, value: object, info: ValidationInfo) -> object:
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation in (int, float):
            raise ValueError("should be a number")
        return value

    @property
    def usual_name(self) -> str:
        """The name where none is given: the spec string, as far as that fits."""
        return _short(self.spec)

    @property
    def spec(self) -> str:
        """``use:key=value,...`` with the keys that differ from their defaults."""
        changed = [f"{key}={value_text(value)}" for key, value in self.changed.items()]
        return self.use + (":" + ",".join(changed) if changed else "")

    @property
    def changed(self) -> dict[str, object]:
        """The keys that differ from those of the preset ``use``."""
        fields = type(self).model_fields
        _, preset = model_of(self.use, getattr(self, "selection", None))
        values = {key: getattr(self, key) for key in fields if key not in ("name", "use")}
        return {key: value for key, value in values.items() if value != preset.get(key, fields[key].default)}


class RandomConfig(BotConfig):
    """Any legal move, uniformly."""

    use: Literal["random"] = "random"


class LevelConfig(BotConfig):
    """An opponent of a stated strength. The game says of what it is made: ``jubango.bots.players.levels``."""

    use: Literal["level"] = "level"
    level: Annotated[float, Field(ge=0, le=1_000_000, description="Elo, of those that jubango bots --levels lists")]

    @property
    def spec(self) -> str:
        return f"level={value_text(self.level)}"


UNSCORED = ("rollout", "uniform", "heuristic")  # evaluators that tell no lead


class _Budget(BotConfig):
    """The first keys of a search."""

    use: str = "uct"
    simulations: Annotated[int, Field(ge=0, le=1_000_000)] = _key(400, "a move; 0 only with move=prior or value")
    seconds: Annotated[float, Field(ge=0, le=86_400)] = _key(0.0, "a move at most; 0: no limit")
    selection: str = _key("ucb1", "which child a simulation goes down to")

    @field_validator("selection")
    @classmethod
    def _is_a_rule(cls, value: str) -> str:
        if value not in RULES:
            raise ValueError(f"should be a selection rule{nearest_part(value, RULES)}")
        return value


if TYPE_CHECKING:
    _RuleKeys = _Budget
else:  # the keys of jubango's own rules
    _RuleKeys = create_model(
        "_RuleKeys", __base__=_Budget, **{name: key_of(*own) for name, own in shipped_params().items()}
    )


class SearchConfig(_RuleKeys):
    """A tree search put together from parts; the defaults are UCT (Kocsis & Szepesvari 2006). Bots with a rule of
    somebody's own are of a class derived from this, :func:`search_model`."""

    evaluator: str = _key("rollout", "of leaves: rollout, network, mixed, uniform, heuristic, or your own")
    rollouts: Annotated[int, Field(ge=1, le=1024)] = _key(1, "games a leaf")
    rollout_moves: Literal["game", "tactical", "uniform", "policy"] = _key(
        "game", "random as the game has it (Go: own eyes stay), its tactics first, any legal move, or by the network"
    )
    prior: Literal["even", "patterns"] = _key("even", "of evaluator=rollout: even, or by small patterns (Go)")
    network: str = _key("", "a file of weights, or katago:FILE; none: rollouts stand in; by default the package's own")
    precision: Literal["float32", "bfloat16", "int8"] = _key(
        "float32", "of jubango's networks; bfloat16: for GPUs, int8: for CPUs with VNNI, faster; other moves"
    )
    symmetry: Literal["none", "random", "mean"] = _key(
        "none", "in which a network sees the board: none, one at random for every leaf, or the mean of all"
    )
    weight: Annotated[float, Field(ge=0, le=1)] = _key(0.5, "of the rollouts in evaluator=mixed")
    score_utility: Annotated[float, Field(ge=0, le=1)] = _key(
        0.0, "share of the lead in points in what the search compares (Go)"
    )
    width: Annotated[int, Field(ge=0, le=10_000)] = _key(0, "actions considered at a node, by prior; 0: all")
    depth: Annotated[int, Field(ge=0, le=100_000)] = _key(0, "plies the tree may be deep; 0: no limit")
    cutoff: Literal["value", "draw"] = _key("value", "what a leaf at that depth counts")
    opponent: Literal["searched", "sampled"] = _key("searched", "replies: best, or drawn from the prior")
    draws: Literal["half", "random"] = _key("half", "count half, or go to a random side")
    solver: bool = _key(False, "prove bounds of values and search no further what they decide")
    move: Literal["visits", "value", "prior", "gumbel", "lcb"] = _key("visits", "what the move is chosen by in the end")
    temperature: Annotated[float, Field(ge=0, le=1000)] = _key(0.0, "the move is drawn from visits^(1/t); 0: the most")
    temperature_moves: Annotated[int, Field(ge=0, le=100_000)] = _key(0, "of a game that have it; 0: all")
    noise: Annotated[float, Field(ge=0, le=1)] = _key(0.0, "share of Dirichlet noise in the root's prior")
    alpha: Annotated[float, Field(ge=0, le=1000)] = _key(0.0, "of that noise; 0: 10 / legal actions")
    reuse: bool = _key(False, "keep the tree for the next move; its visits count as simulations")
    ensemble: Annotated[int, Field(ge=1, le=64)] = _key(1, "independent trees that share the simulations")
    transpositions: bool = _key(False, "positions reached by different orders share a node")
    leaves: Annotated[int, Field(ge=1, le=256)] = _key(1, "evaluated at once in one tree (virtual losses)")
    devices: Annotated[int, Field(ge=1, le=64)] = _key(1, "that search a tree together, each evaluates some leaves")
    ties: Literal["first", "random"] = _key("random", "which of equal actions")
    patience: Annotated[float, Field(ge=1, le=10)] = _key(
        2.0, "how many times its share of the clock a move may take while it is open what to play"
    )

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        """What cannot be combined."""
        rule, selected = self.rule, f"selection={self.selection}"
        clashes = {
            "simulations=0 needs move=prior or value": not self.simulations and self.move not in ("prior", "value"),
            "solver=true needs opponent=searched": self.solver and self.opponent == "sampled",
            "solver=true needs draws=half": self.solver and self.draws == "random",
            "reuse=true needs depth=0": self.reuse and self.depth > 0,
            "move=gumbel needs selection=gumbel": self.move == "gumbel" and (rule.final is Rule.final or rule.variance),
            "move=lcb needs selection=dynamic-puct": self.move == "lcb" and not rule.variance,
            "move=lcb needs ensemble=1": self.move == "lcb" and self.ensemble > 1,
            f"{selected} needs a number of simulations, not seconds": rule.scheduled and self.seconds > 0,
            f"{selected} needs leaves=1": rule.scheduled and self.leaves > 1,
            f"{selected} needs reuse=false": rule.scheduled and self.reuse,
            f"{selected} needs rollout_moves=game, tactical or uniform": rule.amaf and self.rollout_moves == "policy",
            f"{selected} needs rollout_moves=game or tactical": rule.owners
            and self.rollout_moves not in ("game", "tactical"),
            f"{selected} needs evaluator=rollout": rule.owners and self.evaluator in ("network", "mixed"),
            f"{selected} needs cutoff=value": rule.owners and self.cutoff == "draw",
            f"{selected} needs draws=half": rule.owners and self.draws == "random",
            f"{selected} needs transpositions=false": rule.owners and self.transpositions,
            f"{selected} needs solver=false": rule.owners and self.solver,
            f"leaves={self.leaves} needs to be a multiple of devices={self.devices}": self.leaves % self.devices > 0,
            f"prior={self.prior} needs evaluator=rollout": self.prior != "even" and self.evaluator != "rollout",
            "network=FILE needs evaluator=network or mixed": bool(self.network) and not self.wants_network,
            f"symmetry={self.symmetry} needs evaluator=network or mixed": self.symmetry != "none"
            and self.evaluator not in ("network", "mixed"),
        }
        if self.score_utility:
            clashes["score_utility needs evaluator=network or mixed, or your own"] = self.evaluator in UNSCORED
            clashes["score_utility needs cutoff=value"] = self.cutoff == "draw"
            clashes["score_utility needs another move than prior"] = self.move == "prior"
            clashes[f"score_utility needs another selection than {self.selection}"] = rule.amaf or rule.owners
        for own in rule.params:
            without = any(getattr(self, key) != value for key, value in own.needs.items())
            if own.clash and without and own.name in self.model_fields_set:
                clashes[own.clash] = True
        for text, clash in clashes.items():
            if clash:
                raise ValueError(text)
        return self

    @property
    def rule(self) -> type[Rule]:
        """The class of its selection rule."""
        return RULES[self.selection]

    @property
    def wants_network(self) -> bool:
        return self.evaluator in ("network", "mixed") or self.rollout_moves == "policy"


class MinimaxConfig(BotConfig):
    """Depth-limited alpha-beta (Knuth & Moore 1975), exact where the game ends within the depth."""

    use: str = "minimax"
    depth: Annotated[int, Field(ge=0, le=64)] = _key(0, "plies looked ahead; 0: 4, and to the end in games of up to 9")
    evaluator: str = _key("heuristic", "of leaves: heuristic, uniform (a draw), rollout, or your own")
    rollouts: Annotated[int, Field(ge=1, le=1024)] = _key(8, "games a leaf with evaluator=rollout")


class EngineConfig(BotConfig):
    """An external program, one process per game under way."""

    command: Annotated[str, Field(min_length=1, description="how to start it, in quotation marks if keys follow")]
    move_seconds: Annotated[float, Field(gt=0, le=86_400)] = _key(60.0, "a move at most, or the game is lost")
    start_seconds: Annotated[float, Field(gt=0, le=3_600)] = _key(30.0, "to start at most")
    processes: Annotated[int, Field(ge=1, le=256)] = _key(4, "at once, a game each")

    @property
    def usual_name(self) -> str:
        """The program's name: ``gnugo``; of a script the script's."""
        try:
            words = shlex.split(self.command)
            script = next((word for word in words[1:] if not word.startswith("-")), "") if words else ""
            program = script if INTERPRETERS.fullmatch(Path(words[0]).name) and Path(script).suffix else words[0]
        except (ValueError, IndexError):  # a command that cannot be started
            program = self.command
        return _short(Path(program).name or self.use)


class GtpConfig(EngineConfig):
    """An engine that speaks the Go Text Protocol."""

    use: Literal["gtp"] = "gtp"


class ProcessConfig(EngineConfig):
    """Any program at any game, by lines of JSON."""

    use: Literal["process"] = "process"


@functools.cache
def search_model(rule: type[Rule]) -> type[SearchConfig]:
    """The configuration of bots with a rule: that of all of jubango's own, or one with the keys of a user's."""
    if rule in SHIPPED.values():
        return SearchConfig
    keys: dict[str, Any] = {own.name: key_of(rule, own) for own in rule.params}
    return create_model("SearchConfig", __base__=SearchConfig, __module__=__name__, **keys)


def model_of(use: str, selection: object = None) -> tuple[type[BotConfig], Mapping[str, object]]:
    """The configuration of the bot ``use``, and the keys that it has of its own. selection: if another than its own.

    A user's rule brings the defaults of its keys with it: what the bot says of another rule's is left out then."""
    kind, keys, _ = PRESETS[use]
    rule = RULES.get(str(keys.get("selection", "ucb1") if selection is None else selection))
    if KINDS[kind] is not SearchConfig or rule is None:
        return KINDS[kind], keys
    if rule is not RULES.get(str(keys.get("selection"))) and rule not in SHIPPED.values():
        keys = {key: value for key, value in keys.items() if key not in shipped_params()}
    return search_model(rule), keys


INTERPRETERS = re.compile(r"(python|pypy|node|perl|ruby|java|mono|wine|bash|sh)[0-9.]*(\.exe)?")
MOST_SIMULATIONS = 50_000  # room for a search that is limited by seconds alone

KINDS: dict[str, type[BotConfig]] = {
    "random": RandomConfig,
    "search": SearchConfig,
    "minimax": MinimaxConfig,
    "level": LevelConfig,
    "gtp": GtpConfig,
    "process": ProcessConfig,
}

_ALPHAGO = {
    "selection": "alphago", "c": 5.0, "evaluator": "mixed", "opponent": "sampled", "simulations": 800,
}  # fmt: skip
_ALPHAZERO = {
    "selection": "puct", "c": 0.9, "base": 19652.0, "fpu": "parent", "evaluator": "network", "simulations": 1600,
    "reuse": True,
    "temperature": 0.3, "temperature_moves": 12,  # so that games differ; the paper's 1 and 30 are for self-play
}  # fmt: skip

# Ready-made bots: (kind, keys, what it is and where it comes from).
PRESETS: dict[str, tuple[str, dict[str, object], str]] = {
    "random": ("random", {}, "any legal move, uniformly"),
    "uct": ("search", {}, "UCT, one random rollout a leaf (Kocsis & Szepesvari 2006)"),
    "uct-solver": (
        "search",
        {"solver": True, "transpositions": True},
        "UCT that proves bounds of values (Cazenave & Saffidine 2010)",
    ),
    **{
        f"mcts-{n}": ("search", {"simulations": n}, f"the playout ladder: UCT with {n} rollouts a move")
        for n in (400, 800, 1600, 3200, 6400)
    },
    "rave": (
        "search",
        {"selection": "rave", "c": 0.0, "bias": 0.02},
        "UCT that learns from all moves as if first (Gelly & Silver 2011)",
    ),
    "patterns": (
        "search",
        {"selection": "critical-puct", "c": 4.0, "fpu": "parent", "prior": "patterns", "rollout_moves": "tactical"},
        "Go without a network: PUCT on small patterns and criticality (Coulom 2007, 2009)",
    ),
    "minimax": ("minimax", {}, "alpha-beta to a fixed depth, exact in tic-tac-toe (Knuth & Moore 1975)"),
    "alphago": ("search", _ALPHAGO, "Q + eta/(1+N) P, sampled replies, network and rollouts (Silver et al. 2016)"),
    "alphazero": ("search", _ALPHAZERO, "PUCT on a network, tree kept, temperature (Silver et al. 2017, 2018)"),
    "gumbel": (
        "search",
        {"selection": "gumbel", "evaluator": "network", "move": "gumbel", "simulations": 64},
        "sequential halving of sampled actions (Danihelka et al. 2022)",
    ),
    "policy": (
        "search",
        {"selection": "puct", "evaluator": "network", "move": "prior", "simulations": 0, "temperature": 1.0},
        "moves drawn from the policy network, no search (Silver et al. 2016)",
    ),
    "value": (
        "search",
        {"selection": "ucb1", "c": 0.0, "evaluator": "network", "move": "value", "simulations": 0, "depth": 1},
        "the move whose position the value network likes best (Silver et al. 2016)",
    ),
    "level": ("level", {}, "an opponent of a stated Elo, level=800; jubango bots --levels says which there are"),
    "gtp": ("gtp", {}, 'an external Go program, e.g. gtp:command="gnugo --mode gtp",move_seconds=10'),
    "process": ("process", {}, 'any program at any game, by JSON, e.g. process:command="node my_bot.js"'),
}


def Bot(use: str, *, name: str | None = None, **keys: Unpack[BotKeys]) -> BotConfig:
    """A bot as a ``[[bots]]`` table describes it: ``Bot("uct", simulations=800, c=1.0)``.

    use: the kind of bot, a name of ``jubango bots``.
    name: what it is called; by default its spec string, an engine by its program.
    keys: of this kind of bot, one value each. For several bots write ``[Bot("uct", c=c) for c in (0.7, 1.4)]``.

    Raises UserError for an unknown bot or key, and for a value that is out of range or a list.
    """
    where = f'bot "{use if name is None else name}"'
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in keys.items()}
    for key, value in plain.items():
        if isinstance(value, list | tuple | set | np.ndarray):
            raise UserError(f"{where}: {key} is a list; make one Bot for each of its values")
    bot = bot_from_table({"name": "bot" if name is None else name, "use": use, **plain}, where)
    return bot if name is not None else bot.model_copy(update={"name": bot.usual_name})


def bot_from_spec(spec: str, name: str | None = None) -> BotConfig:
    """The bot a spec string ``PRESET[:key=value,...]`` names. It is called ``name``, or as its key ``name`` says, or as
    it is written, an engine by its program. ``level=800`` is short for level:level=800. Raises UserError."""
    where = f'bot "{said(spec, most=200)}"'
    whole = f"level:{spec.strip()}" if spec.strip().startswith("level=") else spec
    use, head, options = parse_spec(whole, "bot", open_key="command", keys=EngineConfig.model_fields)
    if head:
        raise UserError(f'{where}: "{head}" is not key=value')
    if "use" in options:
        raise UserError(f"{where}: use={options['use']}: the bot's name comes first, {options['use']}:key=value")
    named = {"name": name} if name else {}
    bot = bot_from_table({"name": _short(spec.strip()) or "bot", "use": use, **options, **named}, where)
    if isinstance(bot, EngineConfig) and not named and "name" not in options:
        return bot.model_copy(update={"name": bot.usual_name})
    return bot


def numbered(bot: BotConfig, number: int) -> BotConfig:
    """The same bot, called ``gnugo (2)``."""
    return bot.model_copy(update={"name": _short(f"{bot.name} ({number})")})


def told_apart(bots: Iterable[BotConfig]) -> list[BotConfig]:
    """The bots; different engines that are called by one program have numbers."""
    apart: list[BotConfig] = []
    for bot in bots:
        names = {other.name for other in apart}
        if isinstance(bot, EngineConfig) and bot.name == bot.usual_name and bot.name in names and bot not in apart:
            bot = next(other for i in itertools.count(2) if (other := numbered(bot, i)).name not in names)
        apart.append(bot)
    return apart


def bot_from_table(table: Mapping[str, object], where: str) -> BotConfig:
    """The bot a ``[[bots]]`` table describes. Raises UserError, which begins with ``where``."""
    use = table.get("use", "level" if "level" in table else "uct")
    if not isinstance(use, str) or use not in PRESETS:
        if use == HUMAN:
            raise UserError(f"{where}: people play with {shell.command('play')}")
        raise UserError(f'{where}: no bot is called "{use}"{nearest_part(str(use), PRESETS)}')
    model, defaults = model_of(use, table.get("selection"))
    unknown = [key for key in table if key not in model.model_fields]
    if unknown:
        known = [key for key in model.model_fields if key not in ("name", "use")]
        of = [name for name, rule in RULES.items() if any(own.name == unknown[0] for own in rule.params)]
        if of and issubclass(model, SearchConfig):
            raise UserError(f'{where}: {use} has no key "{unknown[0]}"; it is one of selection={of[0]}')
        raise UserError(f'{where}: {use} has no key "{unknown[0]}"{nearest(unknown[0], known)}')
    values = {**defaults, **table, "use": use}
    if _number(table.get("seconds")) > 0 and "simulations" not in table:
        values["simulations"] = MOST_SIMULATIONS
    return checked(model, values, where, words={"string_pattern_mismatch": "may not hold ~ or control characters"})


def _short(text: str) -> str:
    """Text that fits a name."""
    text = re.sub(f"[{CONTROL}~]", "_", text)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 21]}…{text[-20:]}"


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
