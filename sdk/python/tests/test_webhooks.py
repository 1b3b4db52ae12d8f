import base64
import hashlib
import hmac
import unittest

from presenced_server import WebhookError, verify_webhook

SECRET = "whsec_" + base64.b64encode(bytes([7]) * 32).decode()
OTHER = "whsec_" + base64.b64encode(bytes([8]) * 32).decode()
BODY = '{"events":[{"id":"evt_1","type":"user.online","userId":"ü","at":1,"version":2}]}'
NOW = 1_700_000_000


def signed(by, body=BODY, timestamp=str(NOW)):
    text = f"msg_1.{timestamp}.{body}".encode()
    return "v1," + base64.b64encode(hmac.new(base64.b64decode(by[6:]), text, hashlib.sha256).digest()).decode()


def headers(signature, timestamp=str(NOW)):
    return {"Webhook-Id": "msg_1", "webhook-timestamp": timestamp, "WEBHOOK-SIGNATURE": signature}


class WebhooksTest(unittest.TestCase):
    def test_the_vector_of_the_specification_holds(self):
        vector = {"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
                  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}
        with self.assertRaises(KeyError):  # Good, and no events: the server never sends that.
            verify_webhook(b'{"test": 2432232314}', vector, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", now=1614265330)

    def test_a_call_that_is_signed_and_fresh_gives_its_events(self):
        for body in (BODY, BODY.encode()):
            got = verify_webhook(body, headers(f"v2,x {signed(OTHER)} {signed(SECRET)}"), SECRET, now=NOW)
            self.assertEqual((got["id"], got["events"][0]["userId"]), ("msg_1", "ü"))
        self.assertEqual(len(verify_webhook(BODY, headers(signed(OTHER)), [SECRET, OTHER], now=NOW)["events"]), 1)

    def test_a_call_that_is_forged_changed_stale_or_half_is_none(self):
        good = {"body": BODY, "headers": headers(signed(SECRET)), "secrets": SECRET, "now": NOW}
        verify_webhook(**good)
        for wrong in ({"secrets": OTHER}, {"body": BODY.replace("online", "offlin")},
                      {"headers": {**headers(signed(SECRET)), "Webhook-Id": "msg_2"}},
                      {"headers": headers(signed(SECRET)[:-4])}, {"headers": headers("v1,")},
                      {"headers": headers("v1,ü")},
                      {"headers": headers(signed(SECRET)[3:])}, {"now": NOW + 301}, {"now": NOW - 301},
                      {"headers": headers(signed(SECRET, BODY, "soon"), "soon")},
                      {"headers": headers(signed(SECRET, BODY, "١"), "١")}, {"headers": {}}):
            with self.subTest(wrong), self.assertRaises(WebhookError):
                verify_webhook(**{**good, **wrong})
        for secret in ("secret", "whsec_", "whsec_AAAA", "whsec_***"):
            with self.subTest(secret), self.assertRaises(ValueError):
                verify_webhook(**{**good, "secrets": secret})


if __name__ == "__main__":
    unittest.main()
