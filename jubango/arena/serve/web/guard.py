"""Who may ask: nothing gets past this that a page of another site, or another user of this machine, has sent."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join([
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
])  # fmt: skip
HEADERS = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}  # fmt: skip
COOKIE_SECONDS = 30 * 24 * 3600
READING = ("GET", "HEAD")


class Guard:
    """Asks every request who it is from, and puts the headers on every answer.

    token: what the address has to say once, "" for a page that anybody on this machine may read.
    hosts: names of this server, with the port.
    any_address: its numbers are names of it too. It listens to every address of the machine then.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str], any_address: bool = False) -> None:
        self._app, self._token = app, token
        self._hosts, self._any_address = {host.lower() for host in hosts}, any_address
        port = next(iter(self._hosts)).rpartition(":")[2]
        if port == "80":  # which browsers leave out
            self._hosts |= {host.removesuffix(":80") for host in self._hosts}
        self._port = port
        self._cookie = f"jubango-{port}"  # cookies do not keep ports apart
        self._secret = hashlib.sha256(f"cookie of {token}".encode()).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return None

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(scope) or self._welcome(scope)
        return await (answer or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """What is said to a request that another site has a hand in; None to an honest one."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0].lower()):
            return PlainTextResponse("this is not the name of this server\n", 403)
        if origins and origins != [f"http://{hosts[0]}"]:
            return PlainTextResponse("another site may not ask this server\n", 403)
        if scope["method"] not in READING and not origins:
            return PlainTextResponse("who posts says from where (Origin)\n", 403)
        site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode", "navigate")
        if site not in ("none", "same-origin") and (mode != "navigate" or scope["method"] != "GET"):
            return PlainTextResponse("another site may not ask this server\n", 403)
        return None

    def _is_ours(self, host: str) -> bool:
        if host in self._hosts:
            return True
        if not self._any_address:
            return False
        name, _, port = host.rpartition(":")
        if port != self._port:
            return False
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True  # a number is no name, and so nobody can give it another meaning

    def _welcome(self, scope: Scope) -> Response | None:
        """What is said to who has no cookie; None to who has."""
        if not self._token:
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = query.pop("token", None)
        if given is not None and scope["method"] == "GET":
            if not hmac.compare_digest(given[-1].encode(), self._token.encode()):
                return PlainTextResponse(
                    "the token in the address is not this server's; it prints the right one\n", 403
                )
            rest = urlencode(query, doseq=True)
            return self._let_in(quote(scope["path"]) + (f"?{rest}" if rest else ""))
        if self._has_cookie(Headers(scope=scope)):
            return None
        return PlainTextResponse("open the address that jubango serve has printed: it ends with a token\n", 403)

    def _let_in(self, path: str) -> Response:
        """The cookie, and the way on: a page, as a browser that comes from another site keeps the cookie to itself
        where it is sent on at once."""
        path = "/" + path.lstrip("/\\")
        head = "<link rel='icon' href='data:,'><title>jubango</title>"
        page = f"<!doctype html><html lang='en'>{head}<p><a href='/'>Go on</a></p></html>"
        answer = HTMLResponse(page, headers={"Refresh": f"0; url={path}"})
        answer.set_cookie(self._cookie, self._secret, COOKIE_SECONDS, httponly=True, samesite="strict")
        return answer

    def _has_cookie(self, headers: Headers) -> bool:
        for line in headers.getlist("cookie"):
            try:
                found = SimpleCookie(line).get(self._cookie)
            except CookieError:
                continue
            if found is not None and hmac.compare_digest(found.value.encode(), self._secret.encode()):
                return True
        return False
