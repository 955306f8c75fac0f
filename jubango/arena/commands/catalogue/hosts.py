"""``jubango hosts``: who would play."""

from __future__ import annotations

from typing import Annotated

import typer

from jubango.arena.commands.terminal.output import Format, FormatOption, loading, print_frame


def register(app: typer.Typer) -> None:
    @app.command()
    def hosts(
        cluster: Annotated[str, typer.Option(metavar="HOSTS", help="As of `tournament --cluster`.")] = "local:1",
        form: FormatOption = Format.table,
    ) -> None:
        """Who would play: hosts, their machines, cores and devices, and why one could not."""
        with loading():
            import pandas as pd

            from jubango.arena.hosts.cluster import Cluster, called

        rows = called(Cluster.parse(cluster).fleet())
        print_frame(pd.DataFrame(rows, columns=["host", "node", "machine", "devices", "memory", "problem"]), form)
