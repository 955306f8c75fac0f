"""The ``jubango`` command: one file per sub-command, and one place where errors become messages.

What takes time is imported when it is needed: here all of it, so that Ctrl-C ends the command quietly from its first
moment, and in the sub-commands what their work needs, so that ``--help`` answers without JAX.
"""

from __future__ import annotations

import errno
import os
import sys

from jubango.arena.commands.terminal import interrupts
from jubango.arena.commands.terminal.plain import speak_plainly


def main() -> None:
    """Run the command. Exit status: 0 done, 2 bad input, 128 and the signal's number if one ended it (130: Ctrl-C), 1
    anything else."""
    try:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # XLA's own alarms: what compiles is said on our lines
        interrupts.listen()
        speak_plainly()
        status = run(sys.argv[1:])
    except KeyboardInterrupt:  # where nothing has begun, or all has ended
        status = interrupts.status()
    interrupts.ignore()
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """The exit status of the command with these arguments."""
    import typer

    from jubango.arena.commands.app import ClickException, app
    from jubango.arena.commands.terminal.completion import COMPLETING, complete_at_the_first_tab, words_of_bash
    from jubango.arena.commands.terminal.output import Halted
    from jubango.arena.commands.terminal.unnamed import marked, unmarked
    from jubango.sgf_games.base import shell
    from jubango.sgf_games.base.errors import CannotGoOn, UserError

    try:
        if COMPLETING not in os.environ:
            load_plugins()
        complete_at_the_first_tab()
        with words_of_bash():
            result = app(marked(arguments), prog_name="jubango", standalone_mode=False)
        sys.stdout.flush()
        status = result if isinstance(result, int) else 0
        return _interrupted() if status == interrupts.INTERRUPTED else status  # typer may have caught Ctrl-C itself
    except ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message(), file=sys.stderr)
            return 2
        path = error.ctx.command_path.split()[1:] if getattr(error, "ctx", None) else None
        hint = "" if path is None else f" (see {shell.command(*path, '--help')})"
        said = unmarked(error.format_message()).replace(": Value error, ", ": ")  # as newer versions of typer say it
        return _complain(" ".join(said.split()).rstrip(".") + hint)
    except UserError as error:
        return _complain(str(error))
    except CannotGoOn as error:
        return _complain(str(error), status=1)
    except Halted as halted:
        return _interrupted(str(halted))
    except typer.Abort as abort:  # so typer says of Ctrl-C, and of data that ended too early
        return _surprised(abort.__cause__) if isinstance(abort.__cause__, EOFError) else _interrupted()
    except KeyboardInterrupt:
        return _interrupted()
    except typer.Exit as stop:
        return _interrupted() if stop.exit_code == interrupts.INTERRUPTED else stop.exit_code
    except BrokenPipeError:  # the reader of our output has gone: nobody is left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return _complain(f"there is no room for what is written: {error.strerror}", status=1)
        return _surprised(error)


def _surprised(error: Exception) -> int:
    _show_traceback()
    what = " ".join(str(error).split())[:300]
    place = _place_in_a_plugin(error)
    if place:
        return _complain(f"{place}: {type(error).__name__}: {what} (JUBANGO_TRACEBACK=1 shows all of it)")
    said = f"{type(error).__name__}: {what} (an error of this program; JUBANGO_TRACEBACK=1 shows where)"
    return _complain(said, status=1)


def _place_in_a_plugin(error: Exception) -> str:
    """The line of a plug-in in which it was raised, ``my_game.py:12``, or nothing."""
    import traceback

    from jubango.sgf_games.base.own_parts import LOADED

    modules = [sys.modules.get(name) for name in LOADED]
    files = {file for file in (getattr(module, "__file__", None) for module in modules) if file}
    folders = tuple(os.path.dirname(file) + os.sep for file in files if os.path.basename(file) == "__init__.py")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename in files or frame.filename.startswith(folders)]
    return f"{os.path.basename(own[-1].filename)}:{own[-1].lineno}" if own else ""


def load_plugins() -> None:
    """Import the modules that JUBANGO_PLUGINS names; they register games, evaluators and players. Raises UserError."""
    import importlib

    from jubango.sgf_games.base.errors import UserError
    from jubango.sgf_games.base.own_parts import LOADED

    LOADED.clear()
    names = [part.strip() for part in os.environ.get("JUBANGO_PLUGINS", "").split(",") if part.strip()]
    if names:
        from jubango.sgf_games.compute.machine import claim

        claim()  # before a plug-in makes arrays
    for name in names:
        if "" not in sys.path:
            sys.path.append("")  # the current directory
        if not all(name.split(".")):
            raise UserError(f'JUBANGO_PLUGINS: "{name}" is no name of a module; write it as "import" has it')
        try:
            importlib.import_module(name)
            LOADED.append(name)
        except (Exception, SystemExit) as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            if missing and f"{name}.".startswith(f"{missing}."):
                raise UserError(f'JUBANGO_PLUGINS: there is no module "{name}" here') from None
            _show_traceback()
            what = f"{type(error).__name__}: {error}"
            raise UserError(
                f'JUBANGO_PLUGINS: module "{name}" cannot be imported: {what} (JUBANGO_TRACEBACK=1 shows where)'
            ) from None


def _show_traceback() -> None:
    """For who mends a program; everybody else reads one line."""
    if os.environ.get("JUBANGO_TRACEBACK"):
        import traceback

        traceback.print_exc()


def _interrupted(said: str = "") -> int:
    return _complain(f"interrupted{'; ' * bool(said)}{said}", interrupts.status())


def _complain(message: str, status: int = 2) -> int:
    from jubango.arena.commands.terminal.output import print_line

    print_line(message)
    return status
