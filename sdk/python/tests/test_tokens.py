import base64
import json
import pathlib
import subprocess
import tempfile
import unittest

from presenced_server import mint_token, openssl_signer


def parts(token):
    head, body, signature = token.split(".")
    decoded = [json.loads(base64.urlsafe_b64decode(part + "==")) for part in (head, body)]
    return (*decoded, base64.urlsafe_b64decode(signature + "=="), f"{head}.{body}".encode())


class TokensTest(unittest.TestCase):
    def test_a_token_by_a_secret(self):
        head, body, signature, _ = parts(mint_token("ada", secret="s", now=1000.9, ttl_seconds=60))
        self.assertEqual(head, {"alg": "HS256", "typ": "JWT"})
        self.assertEqual(body, {"sub": "ada", "iat": 1000, "exp": 1060})
        self.assertEqual(len(signature), 32)

    def test_a_token_by_a_private_key(self):
        with tempfile.TemporaryDirectory() as folder:
            key, public, message, signed = (str(pathlib.Path(folder, name)) for name in ("key", "public", "message", "signed"))
            subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
            subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
            rights = {"rooms": ["doc-*"], "status": False}
            token = mint_token("ada", sign=openssl_signer(key), key_id="k1", issuer="app", audience=["p"], rights=rights, now=0)
            head, body, signature, text = parts(token)
            self.assertEqual(head, {"alg": "EdDSA", "typ": "JWT", "kid": "k1"})
            self.assertEqual(body, {"sub": "ada", "iat": 0, "exp": 3600, "iss": "app", "aud": ["p"], "presence": rights})
            pathlib.Path(message).write_bytes(text)
            pathlib.Path(signed).write_bytes(signature)
            verified = subprocess.run(["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public,
                                       "-in", message, "-sigfile", signed], capture_output=True, check=False)
            self.assertEqual(verified.returncode, 0, verified.stderr)
            with self.assertRaises(ValueError):
                mint_token("ada", sign=openssl_signer(public))

    def test_what_would_be_refused_is_not_signed(self):
        for user_id in ("", " ", "x" * 129, "ü" * 65, 7):
            with self.assertRaises(ValueError):
                mint_token(user_id, secret="s")
        for named in ({}, {"secret": ""}, {"secret": "s", "sign": bytes}, {"secret": "s", "ttl_seconds": 0}):
            with self.assertRaises(ValueError):
                mint_token("a", **named)


if __name__ == "__main__":
    unittest.main()
