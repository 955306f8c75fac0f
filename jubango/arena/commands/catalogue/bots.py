"""``jubango bots``: what can play."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jubango.arena.commands.terminal.completion import bot_argument
from jubango.arena.commands.terminal.output import Format, FormatOption, data, loading, messages, print_frame
from jubango.sgf_games.base import shell
from jubango.sgf_games.base.errors import UserError

STANDS_IN = "; takes network=FILE or the one that comes with jubango, else a uniform prior and rollouts stand in"


def register(app: typer.Typer) -> None:
    @app.command()
    def bots(
        name: Annotated[str, bot_argument(metavar="[BOT]", help="Show all keys of this bot.")] = "",
        levels: Annotated[
            bool, typer.Option("--levels", help="Show the levels of each game: bots of a known Elo.")
        ] = False,
        form: FormatOption = Format.table,
    ) -> None:
        """What can play and where it comes from; with a name, the keys of that bot, their values and meanings."""
        if levels:
            if name:
                raise UserError(f"bots {name} --levels: say one of them")
            _show_levels(form)
            return
        with loading(jax=False):
            import pandas as pd

            from jubango.bots.config import PRESETS
            from jubango.sgf_games.base.own_parts import nearest_part
            from jubango.sgf_games.base.specs import value_text

        if name:
            if name not in PRESETS:
                raise UserError(f'no bot is called "{name}"{nearest_part(name, PRESETS)}')
            print_frame(pd.DataFrame(_keys(name), columns=["key", "value", "choices", "about"]), form)
            return
        rows = []
        for preset, (kind, values, about) in PRESETS.items():
            settings = ", ".join(f"{key}={value_text(value)}" for key, value in values.items())
            network = values.get("evaluator") in ("network", "mixed")
            rows.append((preset, kind, settings, about + STANDS_IN * network))
        print_frame(pd.DataFrame(rows, columns=["bot", "kind", "settings", "about"]), form)
        if form is Format.table:
            data().print(
                "\nBOT:key=value,... changes a setting, e.g. uct:simulations=800,c=1; "
                f"{shell.command('bots', 'BOT')} shows them all",
                style="dim",
            )  # fmt: skip


def _show_levels(form: Format) -> None:
    """The bots that were measured; any level between two of a game works."""
    with loading():
        import pandas as pd

        from jubango.bots.players.levels import RANDOM_ELO, ladders

    rows = []
    for ladder in ladders():
        points = [(point, curve) for curve in ladder.curves for point in curve.points]
        for point, curve in sorted(points, key=lambda one: one[0].elo):
            bot = curve.spec(point.value)
            rows.append((ladder.game.spec, round(point.elo), round(point.error), point.games, bot))
    print_frame(pd.DataFrame(rows, columns=["game", "level", "error", "games", "bot"]), form)
    for ladder in ladders():
        if ladder.outdated:
            messages().print(
                f"{ladder.game.spec}: its levels were measured with another network than the one that comes with "
                "jubango now",
                style="yellow", soft_wrap=True,
            )  # fmt: skip
    if form is Format.table:
        data().print(
            f"\nlevel=ELO is a bot of any Elo within a game's ({shell.command('play', '--level', '800')}); "
            f"{RANDOM_ELO:.0f} is the random bot in every game, errors are of 95 %",
            style="dim",
        )  # fmt: skip


def _keys(preset: str) -> list[tuple[str, str, str, str]]:
    from jubango.bots.config import model_of
    from jubango.bots.search.rules.registry import RULES, SHIPPED, shipped_params
    from jubango.sgf_games.base.specs import value_text

    model, values = model_of(preset)
    left_out = {"name", "use"}
    if values.get("selection", "ucb1") not in SHIPPED:  # a user's rule has no use for the keys of ours
        left_out |= shipped_params().keys() - {own.name for own in RULES[str(values["selection"])].params}
    rows = []
    for key, field in model.model_fields.items():
        if key in left_out:
            continue
        value = values.get(key, "" if field.is_required() else field.default)
        rows.append((key, value_text(value), _choices(key, field), field.description or ""))
    return rows


def _choices(key: str, field: Any) -> str:
    from jubango.bots.search.rules.registry import RULES

    if key == "selection":
        return " | ".join(RULES)
    options = getattr(field.annotation, "__args__", ())
    if options:
        return " | ".join(options)
    return {int: "a whole number", float: "a number", bool: "true | false", str: "text"}[field.annotation]
