import { createHmac, generateKeyPairSync, verify } from "node:crypto";
import { expect, test } from "vitest";
import { mintToken } from "../src/index.js";

const partsOf = (token: string) => {
  const [head, body, signature] = token.split(".") as [string, string, string];
  const decode = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as unknown;
  return { head: decode(head), body: decode(body), signature, text: `${head}.${body}` };
};

test("a token by a secret says whose it is and how long it is good", () => {
  const token = mintToken({ userId: "ada", secret: "s", now: 1_000_999, ttlSeconds: 60 });
  const { head, body, signature, text } = partsOf(token);
  expect(head).toEqual({ alg: "HS256", typ: "JWT" });
  expect(body).toEqual({ sub: "ada", iat: 1000, exp: 1060 });
  expect(signature).toBe(createHmac("sha256", "s").update(text).digest("base64url"));
});

test("a token by a private key, with all that it may say", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const rights = { rooms: ["doc-*"], status: false };
  const more = { keyId: "k1", issuer: "app", audience: ["presence"], rights, now: 0 };
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  for (const key of [privateKey, pem]) {
    const { head, body, signature, text } = partsOf(mintToken({ userId: "ada", privateKey: key, ...more }));
    expect(head).toEqual({ alg: "EdDSA", typ: "JWT", kid: "k1" });
    expect(body).toEqual({ sub: "ada", iat: 0, exp: 3600, iss: "app", aud: ["presence"], presence: rights });
    expect(verify(null, Buffer.from(text), publicKey, Buffer.from(signature, "base64url"))).toBe(true);
  }
});

test("what would be refused is not signed", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  for (const userId of ["", " ", "x".repeat(129), "ü".repeat(65)]) {
    expect(() => mintToken({ userId, secret: "s" })).toThrow(TypeError);
  }
  expect(() => mintToken({ userId: "a" })).toThrow(TypeError);
  expect(() => mintToken({ userId: "a", secret: "" })).toThrow(TypeError);
  expect(() => mintToken({ userId: "a", secret: "s", privateKey })).toThrow(TypeError);
  expect(() => mintToken({ userId: "a", privateKey })).toThrow("Ed25519");
  expect(() => mintToken({ userId: "a", secret: "s", ttlSeconds: 0 })).toThrow(TypeError);
});
