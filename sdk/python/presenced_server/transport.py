"""One HTTP call, with what may be repeated repeated."""

import http.client
import json
import random
import threading
import time
import urllib.parse

LONGEST_WAIT_SECONDS = 5.0
KEPT_SECONDS = 30.0  # Below the 60 s after which a server closes an idle connection.


class PresenceError(Exception):
    """A call that was refused, or that found no server.

    code            of api/openapi.yaml ("badRequest", "unavailable", ...), or "network"
    status          of HTTP, 0 where there was no answer
    temporary       whether the same call may succeed later
    retry_after_ms  when, where the server says so
    limit           the bound that was exceeded
    """

    def __init__(self, code, message, status=0, temporary=False, retry_after_ms=None, limit=None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.temporary = temporary
        self.retry_after_ms = retry_after_ms
        self.limit = limit

    @classmethod
    def of_answer(cls, status, text):
        """What is no error of the server (of a proxy, say) is judged by its status."""
        try:
            error = json.loads(text)["error"]
            return cls(error["code"], error["message"], status, error["temporary"],
                       error.get("retryAfterMs"), error.get("limit"))
        except (ValueError, KeyError, TypeError):
            temporary = status == 429 or status >= 500
            return cls("unavailable" if temporary else "internal", f"HTTP {status}", status, temporary)


def encoded(identifier):
    """An id in a path or query: never normalised on the way, also where it is `.` or `..`."""
    return urllib.parse.quote(identifier, safe="").replace(".", "%2E")


def query(**values):
    pairs = [f"{name}={encoded(str(value))}" for name, value in values.items() if value is not None]
    return "?" + "&".join(pairs) if pairs else ""


class Transport:
    """Connections to one server, one a thread. May be used by several threads."""

    def __init__(self, url, timeout, retries, context=None, silence=45.0):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url begins with http:// or https://: {url}")
        self._parts = parts
        self._timeout = timeout
        self._retries = retries
        self._context = context
        self.silence = silence
        self._mine = threading.local()

    def connect(self, timeout):
        """A new connection, which nobody else has. `timeout`: seconds of silence."""
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(self._parts.hostname, self._parts.port, timeout=timeout,
                                               context=self._context)
        return http.client.HTTPConnection(self._parts.hostname, self._parts.port, timeout=timeout)

    def begin(self, connection, method, path, bearer, body=None, headers=None):
        sent = dict(headers or {})
        if bearer is not None:
            sent["Authorization"] = f"Bearer {bearer}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        connection.request(method, self._parts.path.rstrip("/") + path, body=data, headers=sent)
        return connection.getresponse()

    def text(self, method, path, bearer=None, body=None, repeatable=True):
        """The body of the answer. Raises PresenceError."""
        tried = 0
        while True:
            try:
                return self._once(method, path, bearer, body)
            except PresenceError as error:
                wait = 0.1 * 2**tried if error.retry_after_ms is None else error.retry_after_ms / 1000
                may_repeat = repeatable and error.temporary
                if not may_repeat or tried >= self._retries or wait > LONGEST_WAIT_SECONDS:
                    raise
            tried += 1
            time.sleep(wait * (1 + random.random()))

    def json(self, *arguments, **named):
        text = self.text(*arguments, **named)
        return json.loads(text) if text else None

    def _once(self, method, path, bearer, body):
        try:
            response = self.begin(self._connection(), method, path, bearer, body)
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise PresenceError("network", str(error) or type(error).__name__, 0, True) from error
        self._mine.used = time.monotonic()
        if not 200 <= response.status < 300:
            raise PresenceError.of_answer(response.status, text)
        return text

    def _connection(self):
        if time.monotonic() - getattr(self._mine, "used", 0) > KEPT_SECONDS:
            self.close()
        if getattr(self._mine, "connection", None) is None:
            self._mine.connection = self.connect(self._timeout)
        return self._mine.connection

    def close(self):
        """Closes the connection of this thread."""
        connection = getattr(self._mine, "connection", None)
        if connection is not None:
            connection.close()
            self._mine.connection = None
