// JSON Web Tokens, made here so that the server's own command is not the judge of itself.
import { createHmac, sign as signWithKey } from 'node:crypto';

export const encode = (value) => Buffer.from(
  typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
export const nowSeconds = () => Math.floor(Date.now() / 1000);

/** A token of `user`, HS256 with the secret of --dev, for an hour. */
export function tokenFor(user, claims = {}, { secret = 'dev', header = {} } = {}) {
  const head = encode({ alg: 'HS256', typ: 'JWT', ...header });
  const body = encode({ sub: user, iat: nowSeconds(), exp: nowSeconds() + 3600, ...claims });
  const signature = createHmac('sha256', secret).update(`${head}.${body}`).digest('base64url');
  return `${head}.${body}.${signature}`;
}

/** The same with a private key: RS256, ES256 or EdDSA. */
export function tokenByKey(alg, key, user, { claims = {}, header = {} } = {}) {
  const text = `${encode({ alg, typ: 'JWT', ...header })}.` +
    encode({ sub: user, iat: nowSeconds(), exp: nowSeconds() + 3600, ...claims });
  const signature = signWithKey(alg === 'EdDSA' ? null : 'sha256', Buffer.from(text),
                                { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}
