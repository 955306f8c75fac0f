"""A sequential test as a page draws it: the log-likelihood ratio between its two bounds, and what was accepted."""

from __future__ import annotations

from jubango.analysis.ratings.sprt import SprtState

BEYOND = 0.18  # of the width between the bounds that is shown on either side of them
NEAR_END = 9.0  # percent of the width, from an end, in which a text does not fit around its place


def gauge(test: SprtState) -> dict[str, object]:
    """Where the bounds, zero and the ratio lie, in percent of the width; the texts beside them; and all in a sentence,
    for who does not see it."""
    lower, upper = test.sprt.bounds
    room = BEYOND * (upper - lower)

    def at(llr: float) -> float:
        return round(100 * min(1.0, max(0.0, (llr - lower + room) / (upper - lower + 2 * room))), 2)

    llr = test.llr + 0.0
    place, zero = at(llr), at(0.0)
    verdict = f"{test.accepted} accepted" if test.accepted else "undecided"
    return {
        "lower": at(lower), "upper": at(upper), "zero": zero, "at": place, "from": min(place, zero),
        "width": round(abs(place - zero), 2), "side": "h1" if llr >= 0 else "h0",
        "anchor": "start" if place < NEAR_END else "end" if place > 100 - NEAR_END else "middle",
        "text": f"LLR {llr:.2f}", "low": f"H0 {lower:.2f}", "high": f"H1 {upper:.2f}", "verdict": verdict,
        "accepted": test.accepted,
        "label": f"The test: {verdict}. Its log-likelihood ratio is {llr:.2f}; "
        f"H0 is accepted at {lower:.2f}, H1 at {upper:.2f}.",
    }  # fmt: skip
