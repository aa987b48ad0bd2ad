"""Signs in, sends requests, repeats what may be repeated, and reads lists page by page. The operations are generated."""

from __future__ import annotations

import json
import random
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse
from typing import Any

FIRST_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 30.0
MAX_WAIT_SECONDS = 60.0


class OdographError(Exception):
    """A call that was refused or got no answer.

    `code` is the code of the interface, or UNREACHABLE without an answer, or UNEXPECTED for an answer that is not the
    platform's. `status` is None without an answer.
    """

    def __init__(self, code: str, message: str, status: int | None = None, details: Mapping[str, Any] = {}) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.status = status
        self.field: str | None = details.get("field")
        self.reason: str | None = details.get("reason")
        self.oldest: str | None = details.get("oldest")


class Answer:
    """An answer that was read to its end."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.content = content

    def body(self) -> Any:
        """The JSON value; text or bytes of other formats."""
        media_type = self.headers.get("content-type", "").split(";")[0]
        if media_type.endswith("json"):
            return json.loads(self.content) if self.content else None
        return self.content.decode() if media_type.startswith("text/") else self.content

    def failure(self) -> OdographError:
        try:
            body = json.loads(self.content)
            return OdographError(body["error"], body["message"], self.status, body)
        except (ValueError, KeyError, TypeError):
            return OdographError("UNEXPECTED", f"status {self.status}", self.status)


class Client:
    """Sends the requests of the generated operations; use `Odograph`, which has them."""

    def __init__(
        self,
        url: str,
        *,
        app_id: str | None = None,
        app_key: str | None = None,
        username: str | None = None,
        password: str | None = None,
        tokens: Mapping[str, str] | None = None,
        save_tokens: Callable[[dict[str, str]], None] | None = None,
        headers: Mapping[str, str] | None = None,
        max_attempts: int = 5,
        timeout_seconds: float = 60,
    ) -> None:
        """`tokens` continues a session that `save_tokens` was given. Without `app_id`, requests carry no token."""
        self._url = url.rstrip("/")
        self._application = {"appId": app_id, "appKey": app_key} if app_id is not None else None
        self._user = {name: value for name, value in (("username", username), ("password", password)) if value}
        self._tokens = dict(tokens) if tokens is not None else None
        self._save_tokens = save_tokens
        self._headers = dict(headers or {})
        self._max_attempts = max_attempts
        self._timeout_seconds = timeout_seconds
        self._renewal = threading.Lock()

    def _call(self, method: str, path: str, **parts: Any) -> Any:
        return self._send(method, path, **parts).body()

    def _pages(self, path: str, **parts: Any) -> Iterator[Any]:
        """Follows `Link`, so items that share a timestamp at the border of a page are neither lost nor repeated."""
        headers = parts.get("headers") or {}
        answer = self._send("GET", path, **parts)
        while True:
            yield answer.body()
            link = re.search(r'<(/[^>]*)>\s*;\s*rel="next"', answer.headers.get("link", ""))
            if link is None:
                return
            answer = self._send("GET", link[1], headers=headers)

    def _items(self, path: str, **parts: Any) -> Iterator[Any]:
        for page in self._pages(path, **parts):
            if isinstance(page, list):
                yield from page
            else:
                for member in page.values():
                    if isinstance(member, list):
                        yield from member

    def _events(self, path: str, **parts: Any) -> Iterator[dict[str, Any]]:
        """Yields the events of one connection. It ends with the connection; continue with the id of the last event."""
        try:
            with self._open_authenticated("GET", path, **parts) as response:
                event: dict[str, Any] = {}
                for line in (raw.decode().rstrip("\r\n") for raw in response):
                    name, _, value = line.partition(":")
                    if name in ("id", "event", "data"):
                        event[name] = event[name] + "\n" + value[1:] if name == "data" and name in event else value[1:]
                    elif line == "" and "data" in event:
                        yield {**event, "data": json.loads(event["data"])}
                        event = {}
        except (OSError, HTTPException) as error:
            raise OdographError("UNREACHABLE", f"no answer: {error}") from error

    def _send(self, method: str, path: str, **parts: Any) -> Answer:
        token = self._access_token()
        answer = self._send_as(token, self._request(method, path, **parts))
        if answer.status == 401 and token is not None:
            answer = self._send_as(self._access_token(refused=token), self._request(method, path, **parts))
        if answer.status >= 400:
            raise answer.failure()
        return answer

    def _send_as(self, token: str | None, request: urllib.request.Request) -> Answer:
        if token is not None:
            request.add_header("x-service-token", token)
        return self._send_with_retries(request)

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, Any] | None = None,
    ) -> urllib.request.Request:
        given = {name: _as_text(value) for name, value in (query or {}).items() if value is not None}
        url = self._url + path + (f"?{urllib.parse.urlencode(given)}" if given else "")
        content = None if body is None else json.dumps({name: value for name, value in body.items() if value is not None})
        request = urllib.request.Request(url, method=method, data=None if content is None else content.encode())
        for name, value in {**self._headers, **(headers or {})}.items():
            if value is not None:
                request.add_header(name, str(value))
        if content is not None:
            request.add_header("content-type", "application/json")
        return request

    def _open_authenticated(self, method: str, path: str, **parts: Any) -> HTTPResponse:
        token = self._access_token()
        try:
            return self._open(token, self._request(method, path, **parts))
        except OdographError as refusal:
            if refusal.status != 401 or token is None:
                raise
        return self._open(self._access_token(refused=token), self._request(method, path, **parts))

    def _open(self, token: str | None, request: urllib.request.Request) -> HTTPResponse:
        if token is not None:
            request.add_header("x-service-token", token)
        try:
            response: HTTPResponse = urllib.request.urlopen(request, timeout=self._timeout_seconds)
            return response
        except urllib.error.HTTPError as error:
            with error:
                raise Answer(error.code, dict(error.headers.items()), error.read()).failure() from None

    def _read(self, request: urllib.request.Request) -> Answer:
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_seconds) as response:
                return Answer(response.status, dict(response.headers.items()), response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers.items()), error.read())

    def _send_with_retries(self, request: urllib.request.Request, is_repeatable: bool | None = None) -> Answer:
        """Sends again after 429, which executed nothing; after 503 and without an answer only what may be repeated."""
        if is_repeatable is None:
            is_repeatable = request.get_method() != "POST" or request.has_header("Idempotency-key")
        attempt = 1
        while True:
            answer: Answer | None = None
            try:
                answer = self._read(request)
            except (OSError, HTTPException) as error:
                if not is_repeatable or attempt >= self._max_attempts:
                    raise OdographError("UNREACHABLE", f"no answer: {error}") from error
            if answer is not None and answer.status != 429 and not (answer.status == 503 and is_repeatable):
                return answer
            pause = min(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1), MAX_PAUSE_SECONDS) * (0.5 + random.random() / 2)
            wait = max(pause, 0 if answer is None else _retry_after(answer.headers.get("retry-after", "")))
            if answer is not None and (attempt >= self._max_attempts or wait > MAX_WAIT_SECONDS):
                return answer
            time.sleep(wait)
            attempt += 1

    def _access_token(self, refused: str | None = None) -> str | None:
        """The token of the session; another one than `refused`, unless another thread has renewed it already."""
        if self._application is None:
            return None
        with self._renewal:
            if self._tokens is None or self._tokens["token"] == refused:
                self._tokens = self._renew()
                if self._save_tokens is not None:
                    self._save_tokens(dict(self._tokens))
            return self._tokens["token"]

    def _renew(self) -> dict[str, str]:
        refreshed = None
        if self._tokens is not None:
            refresh = {**(self._application or {}), "refresh_token": self._tokens["refresh_token"]}
            refreshed = self._post("/v1/refreshToken", refresh)
        # Without its password a user cannot sign in; without the name it would be the application that does.
        can_sign_in = "username" not in self._user or "password" in self._user
        if refreshed is None or (refreshed.status == 401 and can_sign_in):
            refreshed = self._post("/v1/login", {**(self._application or {}), **self._user})
        if refreshed.status >= 400:
            raise refreshed.failure()
        tokens: dict[str, str] = refreshed.body()
        return tokens

    def _post(self, path: str, body: Mapping[str, Any]) -> Answer:
        return self._send_with_retries(self._request("POST", path, body=body), is_repeatable=True)


def new_key() -> str:
    """An `Idempotency-Key`: with it, a request that is sent again is executed once."""
    return uuid.uuid4().hex


def in_path(value: object) -> str:
    """Escapes a value for one segment of a path."""
    return urllib.parse.quote(str(value), safe="")


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _retry_after(text: str) -> float:
    """Seconds of the header, which gives seconds or a date (RFC 9110, 10.2.3)."""
    if text.isdigit():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return 0.0
