"""``jubango serve``: one page on this machine to play, analyse, watch and train."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

import typer

from jubango.arena.commands.terminal.output import messages
from jubango.sgf_games.base.errors import UserError


def register(app: typer.Typer) -> None:
    @app.command()
    def serve(
        folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where games and runs are kept.")] = Path(),
        host: Annotated[
            str, typer.Option(help="The address to listen to; others than this machine's let others in.")
        ] = ("127.0.0.1"),
        port: Annotated[
            int | None, typer.Option(min=0, max=65535, help="0 for any.", show_default="the first free from 8361 on")
        ] = None,
        browse: Annotated[bool, typer.Option("--open/--no-open", help="Show the page in the browser.")] = True,
    ) -> None:
        """One page to play, analyse, watch and train, in the browser."""
        from jubango.arena.serve.app import make_app
        from jubango.arena.serve.site import Site
        from jubango.arena.serve.web.alone import alone_in
        from jubango.arena.serve.web.listening import Listening, bound, names_of, own_token
        from jubango.sgf_games.library.folder import Folder

        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{folder}: cannot be made: {error.strerror}") from None
        with alone_in(folder) as note:
            listener = bound(host, port)
            names, anywhere = names_of(listener, host)
            token = own_token()
            url = f"http://{names[0]}/?token={token}"
            server = Listening(make_app(Site(Folder(folder)), token, names, anywhere), listener)

            def ready() -> None:
                note(url)
                messages().print(f"serving {folder} at {url}", soft_wrap=True, highlight=False)
                if browse:
                    import webbrowser

                    threading.Thread(target=webbrowser.open, args=[url], daemon=True).start()

            server.run(ready)
