"""Plays a back end against a real server: live.py URL KEY SECRET. Prints what it got as one line of JSON."""

import json
import sys
import threading
import time

from presenced_server import PresenceError, PresenceServer, mint_token


def main(url, key, secret):
    server = PresenceServer(url, key)
    ada = server.as_user(mint_token("py-ada", secret=secret))
    beat = ada.beat("d", device={"type": "mobile"}, activity="active")
    got = {"beat": sorted(beat), "online": server.get_presence("py-ada")["status"]}

    events = []
    bo = server.as_user(mint_token("py-bo", secret=secret))
    seen = threading.Event()

    def listen():
        for event in bo.open_stream(["py-ada"]):
            events.append(event)
            seen.set()
            if event["users"][0]["status"] == "busy":
                return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    seen.wait(5)
    cursor = bo.poll(["py-ada"])["cursor"]
    got["declared"] = server.put_status("py-ada", {"status": "busy", "customStatus": {"text": "Zürich"}})
    got["polled"] = bo.post_poll(["py-ada"], cursor=cursor, wait_ms=2000)["users"][0]["status"]
    listener.join(5)
    got["stream"] = [(event["type"], event["users"][0]["status"]) for event in events]

    server.put_privacy("py-ada", {"online": {"mode": "contacts"}})
    got["hidden"] = server.get_presence("py-ada", viewer="py-bo")
    server.change_contacts("py-ada", add=["py-bo", ".."])
    got["contacts"] = server.get_contacts("py-ada")["users"]
    got["seen"] = [one["status"] for one in server.query_presence(["py-ada", "py-nobody"], viewer="py-bo")["users"]]
    got["why"] = server.explain_view("py-ada", "py-bo")["merge"]["result"]
    got["dots"] = server.get_presence("..")["userId"]
    session = server.list_sessions("py-ada")["sessions"][0]["sessionId"]
    server.end_session("py-ada", session)
    got["ended"] = server.list_sessions("py-ada")["sessions"]
    server.revoke_tokens("py-ada", time.time() * 1000 + 1000)
    try:
        ada.beat("d")
    except PresenceError as error:
        got["revoked"] = [error.code, error.status]
    server.erase_user("py-ada")
    got["erased"] = server.get_status("py-ada")
    got["nodes"] = server.get_stats()["nodes"]
    print(json.dumps(got))


if __name__ == "__main__":
    main(*sys.argv[1:])
