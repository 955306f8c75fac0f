"""A bot as an engine that speaks the Go Text Protocol, version 2, with the commands that GUIs ask for beside it."""

from __future__ import annotations

from jubango.bots.gtp_server.analyze import STREAMING, Streaming
from jubango.bots.gtp_server.core import COMMANDS, NETWORK, POINTS, RULES_COMMANDS, SET_UP, Act, has_network
from jubango.bots.gtp_server.gogui import RULER, SHOW_COMMANDS, ruled
from jubango.bots.gtp_server.host import Host
from jubango.bots.gtp_server.wire import Command, GtpError, complain, parse
from jubango.bots.players.engines.analysts.kata_rules import has_named_rules
from jubango.sgf_games.base.errors import CannotGoOn, UserError


class Server:
    """Answers one line after another until ``quit`` or the end of them."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def serve(self) -> None:
        """Raises BrokenPipeError where nobody reads the answers."""
        host = self.host
        try:
            while True:
                if host.pondering and not host.lines.waiting:
                    self._ponder()
                line = host.lines.get()
                if line is None:
                    return
                host.pondering = False
                command = parse(line)
                if command is None:
                    continue
                self._answer(command)
                if command.name == "quit":
                    return
        finally:
            host.close()

    def _ponder(self) -> None:
        try:
            self.host.ponder()
        except Exception as error:
            self.host.close()  # whatever state it is in
            complain(f"pondering: internal error: {type(error).__name__}: {error}")

    def _answer(self, command: Command) -> None:
        output = self.host.output
        try:
            text = self._run(command)
        except (GtpError, UserError, CannotGoOn) as error:
            output.refuse(command, str(error))
        except BrokenPipeError:
            raise
        except Exception as error:
            self.host.close()  # whatever state it is in
            output.refuse(command, f"internal error: {type(error).__name__}: {error}")
        else:
            if text is not None:
                output.answer(command, text)

    def _run(self, command: Command) -> str | None:
        """The answer's text; None if it has been given."""
        if command.name == "quit":
            return ""
        if command.name == "list_commands":
            return "\n".join(sorted(self.commands))
        if command.name == "known_command":
            return "true" if command.words[:1] and command.words[0] in self.commands else "false"
        act = self._acts().get(command.name)
        if act is not None:
            return act(self.host, command.words)
        stream = self._streams().get(command.name)
        if stream is None:
            raise GtpError("unknown command")
        stream(self.host, command)
        return None

    @property
    def commands(self) -> set[str]:
        """Of the game and the bot at hand."""
        return {"quit", "list_commands", "known_command", *self._acts(), *self._streams()}

    def _acts(self) -> dict[str, Act]:
        game = self.host.session.game
        return {
            **COMMANDS,
            **(SET_UP if game.has("set_up") else {}),
            **(POINTS if game.counts_points else {}),
            **(RULES_COMMANDS if has_named_rules(game) else {}),
            **(NETWORK if has_network(self.host) else {}),
            **(SHOW_COMMANDS if self.host.searches else {}),
            **(RULER if ruled(game) else {}),
        }

    def _streams(self) -> dict[str, Streaming]:
        return STREAMING if self.host.searches else {}
