"""What a review found, as KaTrain keeps its own analyses in an SGF file, and shows them without a search of its own.

KT are three values in a node, each base64 of gzip: ownership (16-bit floats; of an engine that says so), policy (empty
here), then JSON in KataGo's terms, all of it in Black's view. KTV in the root is the version of this form."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zlib
from collections.abc import Sequence

from jubango.analysis.reviews.review_moves import Candidate, ReviewedMove, ReviewedPosition

KATRAIN_VERSION = "1.0"
BY = "jubango"
LARGEST_ANALYSIS = 1 << 20  # bytes of somebody's analysis that are looked at


def katrain(here: ReviewedPosition, move: ReviewedMove | None) -> list[bytes]:
    """The values of KT for a position, and of the move that was made in it, if there is one. KaTrain tells moves by
    their points, so that nothing is said where these are not known, and of no other moves than the best and the one
    played."""
    if here.lead is None or not here.candidates:
        return []
    best, leads = here.candidates[0].move, {here.candidates[0].move: here.lead}
    if move is not None and move.lead_after is not None:
        sign = -1 if move.player else 1
        if move.lead_loss is not None:
            leads[best] = sign * (move.lead_after + move.lead_loss)
        leads[move.move] = sign * move.lead_after
    known = {one.move: one for one in here.candidates}
    moves = {
        name: {
            "move": name, "order": order, "visits": known[name].visits, "winrate": known[name].win_rate,
            "scoreLead": lead, **_prior(known[name]), "pv": list(known[name].variation or (name,)),
        }
        for order, (name, lead) in enumerate(leads.items()) if name in known
    }  # fmt: skip
    root = {"winrate": here.win_rate, "scoreLead": here.lead, "visits": here.simulations}
    said = {"moves": moves, "root": root, "completed": True, "by": BY, "searched": here.simulations}
    owners = b"" if here.ownership is None else struct.pack(f"{len(here.ownership)}e", *here.ownership)
    return [_packed(data) for data in (owners, b"", json.dumps(said).encode())]


def _prior(one: Candidate) -> dict[str, float]:
    return {} if one.prior is None else {"prior": one.prior}


def is_ours(values: Sequence[bytes]) -> bool:
    """Was this KT written here? KaTrain keeps our name in it when it writes the file again, and also when KataGo has
    searched on: then the visits are others."""
    try:
        packed = base64.b64decode(values[2], validate=True)
        said = json.loads(zlib.decompressobj(wbits=31).decompress(packed, LARGEST_ANALYSIS))
        return said["by"] == BY and said["root"]["visits"] == said["searched"]
    except (LookupError, TypeError, ValueError, zlib.error, RecursionError):
        return False


def _packed(data: bytes) -> bytes:
    return base64.standard_b64encode(gzip.compress(data, mtime=0))
