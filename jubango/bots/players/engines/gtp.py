"""The Go Text Protocol as spoken to an engine: one command at a time."""

from __future__ import annotations

from jubango.bots.players.engines.engine import Answer, Engine, ErrorAnswer, brief, plain


class GtpEngine(Engine):
    """A running GTP program."""

    def ask(self, command: str, seconds: float) -> str:
        """The answer's text, without its ``=``. Raises ErrorAnswer for ``?``, and EngineFailure, after which the engine
        is dead."""
        answer = GtpAnswer()
        self.exchange(command, answer, command, seconds)
        if answer.is_error:
            raise ErrorAnswer("error", f"answered {command!r} with: {brief(answer.text) or 'an error'}")
        return answer.text


class GtpAnswer(Answer):
    """An answer as it comes in: what is said before it does not count, and an empty line ends it."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rest = b""  # the beginning of a line

    def add(self, heard: bytes) -> None:
        *lines, self._rest = (self._rest + heard).split(b"\n")
        for line in lines:
            text = plain(line).rstrip()
            self.whole = bool(self._lines) and not text
            if self.whole:
                return
            if self._lines or text.startswith(("=", "?")):
                self._lines.append(text)
                self.size += len(line)
        self.size = max(self.size, len(self._rest))

    @property
    def is_error(self) -> bool:
        return self._lines[0].startswith("?")

    @property
    def text(self) -> str:
        first, *others = self._lines
        return "\n".join([first[1:].lstrip("0123456789").strip(), *others]).strip()
