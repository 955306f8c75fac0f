"""How bots name a file of weights: ``FILE``, one of jubango's own, or ``katago:FILE``."""

from __future__ import annotations

KATAGO = "katago:"


def is_katago(network: str) -> bool:
    """Whether the file is one of KataGo's."""
    return network.startswith(KATAGO)


def weights_path(network: str) -> str:
    """The file's path."""
    return network.removeprefix(KATAGO)


def moved(network: str, path: str) -> str:
    """The name of the same file, which lies at ``path`` now."""
    return f"{KATAGO}{path}" if is_katago(network) else path
