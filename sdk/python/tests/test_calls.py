"""Each operation of api/openapi.yaml is a method, and asks for what the contract has."""

import http.server
import inspect
import json
import pathlib
import re
import socket
import threading
import unittest
import urllib.parse

from presenced_server import PresenceError, PresenceServer

CONTRACT = pathlib.Path(__file__).parents[3] / "api/openapi.yaml"

# What each method is called with: everything that it takes.
PAGE = {"limit": 10, "cursor": "c"}
SAMPLES = {
    "getPresence": (["a"], {"viewer": "b"}),
    "queryPresence": ([["a"]], {"viewer": "b"}),
    "putStatus": (["a", {"status": "busy"}], {}),
    "putPrivacy": (["a", {"online": {"mode": "nobody"}}], {}),
    "putContacts": (["a", ["b"]], {}),
    "changeContacts": (["a"], {"add": ["b"]}),
    "putBlocks": (["a", ["b"]], {}),
    "changeBlocks": (["a"], {"add": ["b"]}),
    "endSession": (["a", "s"], {}),
    "revokeTokens": (["a", 1], {}),
    "explainView": (["a", "b"], {"at": 1}),
    "listDeadLetters": ([], {"cursor": "c"}),
    "listRooms": ([], {"prefix": "p", **PAGE}),
    "getRoom": (["r"], {"viewer": "b", **PAGE}),
    "poll": ([["a"]], {"cursor": "c", "wait_ms": 1}),
    "postPoll": ([["a"]], {"cursor": "c", "wait_ms": 1}),
    "beat": (["d"], {}),
    "signOut": (["d"], {}),
    "openStream": ([["a"]], {}),
}


def operations():
    """(operationId, method, path, by user?, by anybody?) of each, read by its indentation: the standard library knows no
    YAML."""
    path = method = operation = None
    found = {}
    for line in CONTRACT.read_text().split("\ncomponents:")[0].splitlines():
        if match := re.fullmatch(r"  (/\S+):", line):
            path = match[1]
        elif match := re.fullmatch(r"    (get|put|post|delete):", line):
            method = match[1].upper()
        elif match := re.fullmatch(r"      operationId: (\w+)", line):
            operation = match[1]
            found[operation] = [method, path, set()]
        elif operation and (match := re.fullmatch(r"        - (userToken|apiKey): \[\]", line)):
            found[operation][2].add(match[1])
    return found


class Fake(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, self.headers.get("Authorization"), body.decode()))
        status, text = self.server.answers.pop(0) if self.server.answers else (200, "{}")
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


def refusal(code, temporary, **more):
    return json.dumps({"error": {"code": code, "message": "why", "temporary": temporary, **more}})


class CallsTest(unittest.TestCase):
    def setUp(self):
        self.fake = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fake)
        self.fake.daemon_threads = True
        self.fake.seen, self.fake.answers = [], []
        threading.Thread(target=self.fake.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.fake.server_port}"
        self.server = PresenceServer(self.url, "key")

    def tearDown(self):
        self.server.close()
        self.fake.shutdown()
        self.fake.server_close()

    def test_each_operation_asks_for_what_the_contract_has(self):
        contract = operations()
        self.assertGreaterEqual(len(contract), 35)
        for operation, (method, path, security) in contract.items():
            with self.subTest(operation):
                by_user = "userToken" in security
                target = self.server.as_user("token") if by_user else self.server
                name = re.sub(r"([A-Z])", lambda match: "_" + match[1].lower(), operation)
                positional, named = SAMPLES.get(operation, (["a"], {}))
                call = getattr(target, name)
                if len(inspect.signature(call).parameters) == 0:
                    positional = []
                outcome = call(*positional, **named)
                if operation == "openStream":
                    self.assertEqual(list(outcome), [])  # The fake one has none.
                asked_method, asked, bearer, _ = self.fake.seen[-1]
                pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))
                self.assertRegex(asked.split("?")[0], f"^{pattern}$")
                self.assertEqual(asked_method, method)
                self.assertIn(bearer, ["Bearer token"] if by_user else ["Bearer key", None])

    def test_queries_hold_what_was_named(self):
        self.server.get_room("r", viewer="b", limit=10, cursor="c d")
        query = urllib.parse.urlsplit(self.fake.seen[-1][1]).query
        self.assertEqual(query, "viewer=b&limit=10&cursor=c%20d")
        self.server.change_contacts("a", remove=["b"])
        self.assertEqual(json.loads(self.fake.seen[-1][3]), {"remove": ["b"]})

    def test_ids_are_encoded_and_dots_are_no_way_up(self):
        ids = ["..", ".", "a/b", "a,b", "ü?#%", "a b+c"]
        for one in ids:
            self.server.get_presence(one)
        asked = [path[len("/v1/users/"):-len("/presence")] for _, path, _, _ in self.fake.seen]
        self.assertEqual(asked, ["%2E%2E", "%2E", "a%2Fb", "a%2Cb", "%C3%BC%3F%23%25", "a%20b%2Bc"])
        self.server.as_user("token").poll(["a,b", "c"])
        self.assertEqual(self.fake.seen[-1][1], "/v1/poll?users=a%2Cb,c")

    def test_what_failed_for_the_moment_is_tried_again(self):
        self.fake.answers = [(503, refusal("unavailable", True, retryAfterMs=1)), (502, "<html>"), (200, '{"users":["b"]}')]
        self.assertEqual(self.server.change_contacts("a", add=["b"]), {"users": ["b"]})
        self.assertEqual([body for *_, body in self.fake.seen], ['{"add": ["b"]}'] * 3)

    def test_what_is_wrong_is_not(self):
        self.fake.answers = [(400, refusal("badRequest", False, limit=3))]
        with self.assertRaises(PresenceError) as caught:
            self.server.get_presence("a")
        error = caught.exception
        self.assertEqual((error.code, error.status, error.temporary, error.limit, error.message),
                         ("badRequest", 400, False, 3, "why"))
        self.assertEqual(len(self.fake.seen), 1)
        self.fake.answers = [(503, refusal("unavailable", True, retryAfterMs=60_000))]
        with self.assertRaises(PresenceError):
            self.server.get_presence("a")  # The caller may wait that long; this does not.
        self.fake.answers = [(503, refusal("unavailable", True, retryAfterMs=1))]
        with self.assertRaises(PresenceError):
            self.server.test_webhooks()  # Sends something each time.
        self.assertEqual(len(self.fake.seen), 3)

    def test_it_gives_up_after_two_more(self):
        self.fake.answers = [(503, refusal("unavailable", True, retryAfterMs=1))] * 9
        with self.assertRaises(PresenceError):
            self.server.get_presence("a")
        self.assertEqual(len(self.fake.seen), 3)

    def test_no_answer_is_an_error_of_its_own(self):
        with self.assertRaises(PresenceError) as caught:
            PresenceServer("http://127.0.0.1:1", "key", retries=0).get_version()
        self.assertEqual((caught.exception.code, caught.exception.status), ("network", 0))
        with self.assertRaises(ValueError):
            PresenceServer("ws://a", "key")


class AStream(unittest.TestCase):
    EVENT = b'id: 1\ndata: {"type":"snapshot","users":[],"asOf":1}\n\n'

    def hear(self, then):
        """What is heard of one event, and what ends it; `then` gets the server's side of the connection."""
        with socket.create_server(("127.0.0.1", 0)) as door:
            done = threading.Event()

            def serve():
                side, _ = door.accept()
                with side:
                    side.recv(65_536)
                    side.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                                 + b"%x\r\n" % len(self.EVENT) + self.EVENT + b"\r\n")
                    then(side, done)

            thread = threading.Thread(target=serve)
            thread.start()
            heard = []
            try:
                server = PresenceServer(f"http://127.0.0.1:{door.getsockname()[1]}", "key", silence=0.2)
                for event in server.as_user("token").open_stream(["a"]):
                    heard.append((event["id"], event["type"]))
            except PresenceError as error:
                heard.append((error.code, error.temporary))
            finally:
                done.set()
                thread.join()
            return heard

    def test_that_falls_silent_is_a_dead_link(self):
        self.assertEqual(self.hear(lambda side, done: done.wait(30)), [("1", "snapshot"), ("network", True)])

    def test_that_breaks_is_an_error_of_the_same_kind(self):
        self.assertEqual(self.hear(lambda side, done: side.sendall(b"ff\r\n: half")), [("1", "snapshot"), ("network", True)])

    def test_that_the_server_ends_is_over_without_an_error(self):
        self.assertEqual(self.hear(lambda side, done: side.sendall(b"0\r\n\r\n")), [("1", "snapshot")])


if __name__ == "__main__":
    unittest.main()
