"""The calls of a back end. Each method bears the operationId of api/openapi.yaml, in snake_case; what it takes and
gives stands there. Times are milliseconds since the Unix epoch by the server's clock."""

import http.client
import json

from .transport import PresenceError, Transport, encoded, query


def _user(user_id, rest=""):
    return f"/v1/users/{encoded(user_id)}{rest}"


class PresenceServer:
    """For back ends: sees everything, and with `viewer` what that user would.

    url      "https://presence.example.com"
    api_key  one of `auth.api_keys`
    timeout  seconds for one answer
    retries  how often what failed for the moment is tried again
    silence  seconds after which a stream of which nothing is heard is dead; the server speaks every 15 s
    context  an ssl.SSLContext, where the default does not do
    """

    def __init__(self, url, api_key, *, timeout=10.0, retries=2, silence=45.0, context=None):
        self._transport = Transport(url, timeout, retries, context, silence)
        self._api_key = api_key

    def close(self):
        """Closes the connection of this thread."""
        self._transport.close()

    def as_user(self, token):
        """The calls of a user, by their token: for bots, and for what has no WebSocket."""
        return UserCalls(self._transport, token)

    # -- What a viewer may see --------------------------------------------------------------------

    def get_presence(self, user_id, *, viewer=None):
        return self._get(_user(user_id, "/presence" + query(viewer=viewer)))

    def query_presence(self, users, *, viewer=None):
        return self._send("POST", "/v1/presence/query" + query(viewer=viewer), {"users": list(users)})

    def get_room(self, room, *, viewer=None, limit=None, cursor=None):
        return self._get(f"/v1/rooms/{encoded(room)}" + query(viewer=viewer, limit=limit, cursor=cursor))

    def list_rooms(self, *, prefix=None, limit=None, cursor=None):
        return self._get("/v1/rooms" + query(prefix=prefix, limit=limit, cursor=cursor))

    # -- What a user says, and who may see it -----------------------------------------------------

    def get_status(self, user_id):
        return self._get(_user(user_id, "/status"))

    def put_status(self, user_id, change):
        return self._send("PUT", _user(user_id, "/status"), change)

    def delete_status(self, user_id):
        return self._send("DELETE", _user(user_id, "/status"))

    def get_privacy(self, user_id):
        return self._get(_user(user_id, "/privacy"))

    def put_privacy(self, user_id, rules):
        return self._send("PUT", _user(user_id, "/privacy"), rules)

    def get_contacts(self, user_id):
        return self._get(_user(user_id, "/contacts"))

    def put_contacts(self, user_id, users):
        return self._send("PUT", _user(user_id, "/contacts"), {"users": list(users)})

    def change_contacts(self, user_id, *, add=None, remove=None):
        return self._send("POST", _user(user_id, "/contacts"), _change(add, remove))

    def get_blocks(self, user_id):
        return self._get(_user(user_id, "/blocks"))

    def put_blocks(self, user_id, users):
        return self._send("PUT", _user(user_id, "/blocks"), {"users": list(users)})

    def change_blocks(self, user_id, *, add=None, remove=None):
        return self._send("POST", _user(user_id, "/blocks"), _change(add, remove))

    # -- Administration ---------------------------------------------------------------------------

    def list_sessions(self, user_id):
        return self._get(_user(user_id, "/sessions"))

    def end_session(self, user_id, session_id):
        return self._send("DELETE", _user(user_id, f"/sessions/{encoded(session_id)}"))

    def revoke_tokens(self, user_id, before):
        """Tokens issued before that moment are refused, and the sessions that live by one end."""
        return self._send("POST", _user(user_id, "/revoke"), {"before": int(before)})

    def erase_user(self, user_id):
        """Ends all sessions and erases all that is stored."""
        return self._send("DELETE", _user(user_id))

    def explain_view(self, user_id, viewer, *, at=None):
        """With `at`, a moment of the last hour in ms, also what was seen then, and why."""
        return self._get(_user(user_id, "/explain" + query(viewer=viewer, at=at)))

    def get_stats(self):
        return self._get("/v1/stats")

    def get_webhooks(self):
        return self._get("/v1/webhooks")

    def list_dead_letters(self, *, cursor=None):
        return self._get("/v1/webhooks/dead-letters" + query(cursor=cursor))

    def test_webhooks(self):
        """Sends something each time, so it is not tried again."""
        return self._transport.json("POST", "/v1/webhooks/test", self._api_key, repeatable=False)

    # -- About the server -------------------------------------------------------------------------

    def get_protocol(self):
        return self._get("/v1/protocol.json")

    def get_openapi(self):
        return self._transport.text("GET", "/v1/openapi.yaml", self._api_key)

    def get_metrics(self):
        return self._transport.text("GET", "/metrics", self._api_key)

    def get_version(self):
        return self._get("/version")

    def get_health(self):
        return self._get("/healthz")

    def get_readiness(self):
        """Raises `unavailable` where new clients are not welcome."""
        return self._transport.json("GET", "/readyz", repeatable=False)

    def _get(self, path):
        return self._transport.json("GET", path, self._api_key)

    def _send(self, method, path, body=None):
        return self._transport.json(method, path, self._api_key, body)


def _change(add, remove):
    named = {"add": add, "remove": remove}
    return {name: list(users) for name, users in named.items() if users is not None}


class UserCalls:
    """What a user may do without a WebSocket; the server's eyes are those of the user."""

    def __init__(self, transport, token):
        self._transport = transport
        self._token = token

    def beat(self, device_id, *, device=None, activity=None):
        """Is present; again about every `intervalMs` of the answer."""
        body = {"deviceId": device_id, "device": device, "activity": activity}
        return self._send("POST", "/v1/heartbeat", _without_none(body))

    def sign_out(self, device_id):
        return self._send("DELETE", "/v1/heartbeat" + query(deviceId=device_id))

    def poll(self, users, *, cursor=None, wait_ms=None):
        """Up to 100 users; `wait_ms` well below the time-out."""
        rest = query(cursor=cursor, waitMs=wait_ms).replace("?", "&")
        return self._send("GET", f"/v1/poll?users={','.join(map(encoded, users))}{rest}")

    def post_poll(self, users, *, cursor=None, wait_ms=None):
        """The same for up to `limits.watch` users."""
        body = {"users": list(users), "cursor": cursor, "waitMs": wait_ms}
        return self._send("POST", "/v1/poll", _without_none(body))

    def open_stream(self, users, *, last_event_id=None):
        """Yields snapshot and updates as they come, until the server ends it or the generator is closed.

        Raises PresenceError `network` where the connection breaks or falls silent: open it again, with the "id" of
        the last event as `last_event_id`.
        """
        headers = {"Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        connection = self._transport.connect(self._transport.silence)  # Its own: it has no end by itself.
        try:
            path = f"/v1/stream?users={','.join(map(encoded, users))}"
            response = self._transport.begin(connection, "GET", path, self._token, headers=headers)
            if response.status != 200:
                raise PresenceError.of_answer(response.status, response.read().decode())
            yield from _events(response)
        except (OSError, http.client.HTTPException) as error:
            raise PresenceError("network", str(error) or type(error).__name__, 0, True) from error
        finally:
            connection.close()

    def _send(self, method, path, body=None):
        return self._transport.json(method, path, self._token, body)


def _without_none(values):
    return {name: value for name, value in values.items() if value is not None}


def _events(lines):
    """The events of a text/event-stream that bear data; comments are for the proxies between."""
    event = {}
    for raw in lines:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("data:"):
            event.update(json.loads(line[5:]))
        elif line.startswith("id:"):
            event["id"] = line[3:].strip()
        elif not line:
            if "type" in event:
                yield event
            event = {}
