"""How games scatter around what ratings expect of them, pair of games by pair: errors without the model's word for it.

The two games of a colour-swapped pair may hang together: an opening that one player knows, or that favours one colour.
"""

from __future__ import annotations

import numpy as np

from jubango.analysis.ratings.results import Result

GIVING = 1e-6  # a pair that alone says what is fitted to it is left with so much of its say


def pair_covariance(games: list[Result], index: dict[str, int], theta: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """The covariance of ``theta``, the log-odds of the players of ``index`` and what moving first is worth: the
    sandwich estimate (Liang & Zeger, Biometrika 73, 1986), a pair being a cluster, and so a game that is in none.

    What a pair is off by is taken as it were without the pair's own pull on the fit (Mancl & DeRouen, Biometrics 57,
    2001); else few pairs would seem to scatter less than they do.

    inverse: of the information, which gives no difference to players whose games have no finite fit.
    """
    from scipy.sparse import coo_array
    from scipy.special import expit

    numbers = len(theta)
    if not games:
        return np.zeros((numbers, numbers))
    black, white = (np.array([index[name] for name in names]) for names in list(zip(*games, strict=True))[:2])
    gap = theta[black] - theta[white] + theta[-1]
    chance = expit(gap)
    keys: dict[object, int] = {}
    pair = np.array([
        keys.setdefault((i,) if game.pair is None else (game.pair, *sorted(game[:2])), len(keys))
        for i, game in enumerate(games)
    ])  # fmt: skip
    pairs = len(keys)
    # Of a pair's games those in which the lower index is Black are summed up, and those in which it is White.
    low, high = np.zeros(pairs, int), np.zeros(pairs, int)
    low[pair], high[pair] = np.minimum(black, white), np.maximum(black, white)
    place = 2 * pair + (black > white)
    off, weight = (
        np.bincount(place, values, 2 * pairs).reshape(pairs, 2)
        for values in ([game.score for game in games] - chance, chance * (1 - chance))
    )
    between = inverse[low, low] + inverse[high, high] - 2 * inverse[low, high]
    aside = inverse[low, -1] - inverse[high, -1]
    side = inverse[-1, -1]
    gaps = np.array([[between + 2 * aside + side, side - between], [side - between, between - 2 * aside + side]])
    own = (1 + GIVING) * np.eye(2) - weight[:, :, None] * np.moveaxis(gaps, -1, 0)
    off = np.linalg.solve(own, off[:, :, None])[:, :, 0]
    apart, together = off[:, 0] - off[:, 1], off.sum(1)
    rows, columns = np.tile(np.arange(pairs), 3), np.concatenate([low, high, np.full(pairs, numbers - 1)])
    pull = coo_array((np.concatenate([apart, -apart, together]), (rows, columns)), (pairs, numbers)).tocsr()
    return inverse @ (pull.T @ pull).toarray() @ inverse.T
