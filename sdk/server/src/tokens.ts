// The tokens with which users come: signed by your back end, checked by the server.

import { createHmac, createPrivateKey, sign, type KeyObject } from "node:crypto";

/** What the holder may do; left out: everything a user may. */
export interface TokenRights {
  /** Rooms to join: names, or beginnings with a `*` at the end. */
  rooms?: string[];
  watch?: boolean;
  status?: boolean;
  privacy?: boolean;
}

export interface TokenOptions {
  userId: string;
  /** HS256: what `auth.secret` holds. */
  secret?: string;
  /** EdDSA: an Ed25519 key, as PEM or KeyObject; its public half is in `auth.public_keys` or `auth.jwks`. */
  privateKey?: string | KeyObject;
  /** Names the key in a key set. */
  keyId?: string;
  /** 3,600 by default. Short ones make `revokeTokens` seldom necessary. */
  ttlSeconds?: number;
  issuer?: string;
  audience?: string | string[];
  rights?: TokenRights;
  /** Milliseconds since the Unix epoch. */
  now?: number;
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A JWT for one user. Throws a TypeError where a token would be refused. */
export function mintToken(options: TokenOptions): string {
  const { userId, secret, privateKey, keyId, ttlSeconds = 3600, issuer, audience, rights } = options;
  if (typeof userId !== "string" || userId.trim() === "" || Buffer.byteLength(userId) > 128) {
    throw new TypeError("userId is a text of 1 to 128 bytes");
  }
  if ((secret === undefined) === (privateKey === undefined)) {
    throw new TypeError("either secret or privateKey signs a token");
  }
  if (secret === "" || !(ttlSeconds > 0)) {
    throw new TypeError("secret is not empty, and ttlSeconds is above 0");
  }
  const issuedAt = Math.floor((options.now ?? Date.now()) / 1000);
  const text = [
    encode({ alg: secret === undefined ? "EdDSA" : "HS256", typ: "JWT", kid: keyId }),
    encode({
      sub: userId,
      iat: issuedAt,
      exp: issuedAt + Math.floor(ttlSeconds),
      iss: issuer,
      aud: audience,
      presence: rights,
    }),
  ].join(".");
  const signature =
    secret === undefined ? signWith(privateKey as string | KeyObject, text) : hmac(secret, text);
  return `${text}.${signature}`;
}

const hmac = (secret: string, text: string) =>
  createHmac("sha256", secret).update(text).digest("base64url");

function signWith(privateKey: string | KeyObject, text: string): string {
  const key = typeof privateKey === "string" ? createPrivateKey(privateKey) : privateKey;
  if (key.asymmetricKeyType !== "ed25519") {
    throw new TypeError(`privateKey is an Ed25519 key, not ${key.asymmetricKeyType}`);
  }
  return sign(null, Buffer.from(text), key).toString("base64url");
}
