"""A training as its page shows it: read from its folder, where nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jubango.arena.found_runs import games_of_training
from jubango.arena.training.measuring import BEST, MATCHES
from jubango.arena.training.sitting import read_sitting
from jubango.arena.training.tables import Match, elo_of, read_matches, read_progress
from jubango.arena.training.training import PROGRESS
from jubango.bots.learning.trainer import NEWEST
from jubango.sgf_games.library.folder import Folder

LOSSES_SHOWN = 300  # of a curve


class TrainingFolder:
    """Of one training."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._rated: tuple[int, Sequence[tuple[float, float, float]]] = (0, [])  # by so many matches

    def game(self) -> Mapping[str, object]:
        """What a script has to know to draw its board. Raises UserError."""
        from jubango.analysis.report.page import board_facts
        from jubango.sgf_games.rules.catalogue import make_game

        return board_facts(make_game(games_of_training(self._folder)[0]))

    def look(self) -> Mapping[str, object]:
        """How it stands. Raises UserError."""
        sitting = read_sitting(self._folder)
        matches = read_matches(self._folder, MATCHES)
        if self._rated[0] != len(matches):
            self._rated = len(matches), elo_of(matches)
        rows = read_progress(self._folder, PROGRESS)
        rows = rows[:: max(1, -(-len(rows) // LOSSES_SHOWN))]
        return {
            "sitting": sitting.model_dump() if sitting else None,
            "elo": [[round(value, 1) for value in point] for point in self._rated[1]],
            "losses": [
                [round(row["seconds"]), round(row["policy"] - row["target"], 4), round(row["outcome"], 4)]
                for row in rows
            ],
            "matches": _last(matches),
            "networks": [name for name in (NEWEST, BEST) if self._folder.has(name)],
        }


def _last(matches: Sequence[Match]) -> list[dict[str, object]]:
    """Those of the network that was measured last."""
    own = [match for match in matches if match.network == matches[-1].network]
    return [
        {"network": one.network, "opponent": one.opponent, "wins": one.wins, "draws": one.draws, "losses": one.losses}
        for one in own
    ]
