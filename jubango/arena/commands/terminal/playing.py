"""A plan played on the terminal: the dashboard, the page for browsers, and what is said when it is interrupted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jubango.arena.commands.terminal.opening import open_page
from jubango.arena.commands.terminal.output import Format, Halted, loading, messages, show_notes
from jubango.arena.commands.terminal.ratings import print_run
from jubango.sgf_games.base import shell
from jubango.sgf_games.records.record import Failure

if TYPE_CHECKING:
    from jubango.arena.runs.run import Run
    from jubango.arena.schedule.plan import Plan
    from jubango.arena.screens.dashboard import Dashboard


AgainOption = Annotated[
    list[Failure] | None, typer.Option(help="Play games again that ended by this; may be given more than once.")
]


ClusterOption = Annotated[
    str, typer.Option(metavar="HOSTS", help="Who plays: local:3, three processes here; or Ray: auto, HOST:PORT.")
]


def play_shown(
    plan: Plan, folder: Path | None, form: Format, again: list[Failure] | None, port: int | None = None,
    cluster: str = "", opened: bool = False,
) -> Run:  # fmt: skip
    """Play on the terminal: the bots' notes, then the dashboard, and with a ``port`` a page for browsers, which may be
    ``opened`` at once. ``cluster`` names hosts that play. Interrupted, it prints the ratings so far; raises Halted,
    which says how to go on."""
    with loading():
        from jubango.arena.hosts.cluster import cluster_of
        from jubango.arena.runs.play import Interrupted, play_plan
        from jubango.arena.screens.dashboard import Dashboard

    hosts = cluster_of(cluster)
    show_notes(plan.game, plan.bots)
    dashboard = Dashboard(messages())
    try:
        with dashboard.running():
            if folder is None or port is None:
                return play_plan(plan, folder, dashboard.show, dashboard.preparing, again or (), hosts)
            with _served(plan, folder, port, dashboard, opened) as show:
                return play_plan(plan, folder, show, dashboard.preparing, again or (), hosts)
    except Interrupted as interrupted:
        run = interrupted.run
        if run.results:
            print_run(run, form)
            sys.stdout.flush()
        raise Halted(_how_to_go_on(run, cluster)) from None


@contextmanager
def _served(
    plan: Plan, folder: Path, port: int, dashboard: Dashboard, opened: bool
) -> Iterator[Callable[[Run], None]]:  # fmt: skip
    """The run's page at a port of this machine; what is shown goes there too."""
    from jubango.arena.serve.live import Live

    live = Live(plan, folder, port)
    messages().print(f"the run's page is at {live.url}", soft_wrap=True)
    dashboard.where = live.url
    if opened:
        open_page(live.url)
    said = "The run has stopped; this page stays as it is."

    def show(run: Run) -> None:
        nonlocal said
        dashboard.show(run)
        live.note(run, lambda run: dashboard.line(run, doubtful=False).plain)
        if not run.missing:
            said = "The run is complete; this page stays as it is."

    try:
        yield show
    finally:
        live.close(said)


def _how_to_go_on(run: Run, cluster: str) -> str:
    from jubango.arena.runs.run_folder import PLAN_FILE

    done = f"{len(run.results)} of {run.total} games are finished"
    if run.folder is None:
        return f"{done} and not kept (--out DIR keeps them)" if run.results else "no game is finished"
    if not (run.folder / PLAN_FILE).exists():
        return done
    hosts = ["--cluster", cluster] if cluster else []
    go_on = shell.command("tournament", run.folder / PLAN_FILE, "--out", run.folder, *hosts)
    return f"{done} and kept in {run.folder}; go on with: {go_on}"
