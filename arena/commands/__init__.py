"""The ``jubango`` command: one file per sub-command, and one place where errors become messages.

Sub-commands import what they need when they run, so that ``--help`` answers without JAX.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import Any

import typer

from jubango.arena.commands import analyze, bench, bots, games, match, play, rate, tournament

# What typer raises for a misused command line; its module differs between versions of typer.
ClickException: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

app = typer.Typer(
    name="jubango",
    help="Plays board games by the thousand and says which bot is stronger, by how much, how surely.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (games, bots, tournament, match, play, analyze, rate, bench):
    module.register(app)


def main() -> None:
    """Run the command. Exit status: 0 done, 2 bad input, 130 interrupted, 1 anything else."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    from jubango.arena.commands.output import Stopped
    from jubango.sgf_games.errors import UserError

    try:
        _load_plugins()
        result = app(arguments, standalone_mode=False)
        sys.stdout.flush()
        status = result if isinstance(result, int) else 0
        return _interrupted() if status == 130 else status  # typer may have caught Ctrl-C itself
    except ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message(), file=sys.stderr)
            return 2
        hint = f"; see {error.ctx.command_path} --help" if getattr(error, "ctx", None) else ""
        return _complain(" ".join(error.format_message().split()).rstrip(".") + hint)
    except UserError as error:
        return _complain(str(error))
    except Stopped as stopped:
        return _interrupted(str(stopped))
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except typer.Exit as stop:
        return _interrupted() if stop.exit_code == 130 else stop.exit_code
    except BrokenPipeError:  # the reader of our output has gone: nobody is left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get("JUBANGO_TRACEBACK"):
            traceback.print_exc()
        what = " ".join(str(error).split())[:300]
        message = f"{type(error).__name__}: {what} (an error of this program; JUBANGO_TRACEBACK=1 shows where)"
        print(f"jubango: {message}", file=sys.stderr)
        return 1


def _load_plugins() -> None:
    """Import the modules that JUBANGO_PLUGINS names; they register games and evaluators. Raises UserError."""
    from jubango.sgf_games.errors import UserError

    for name in filter(None, (part.strip() for part in os.environ.get("JUBANGO_PLUGINS", "").split(","))):
        if "" not in sys.path:
            sys.path.append("")  # the current directory
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            raise UserError(f'JUBANGO_PLUGINS: there is no module "{name}" here') from None


def _interrupted(said: str = "") -> int:
    print(f"jubango: interrupted{'; ' * bool(said)}{said}", file=sys.stderr)
    return 130


def _complain(message: str) -> int:
    print(f"jubango: {message}", file=sys.stderr)
    return 2
