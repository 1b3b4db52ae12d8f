// Tokens: who is let in, with what rights, and until when.
import assert from 'node:assert/strict';
import { generateKeyPairSync, createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client, attach, endClients, fresh, watcher } from '../lib/client.mjs';
import { assertError, call, done, listSessions, readPresence, userPath } from '../lib/rest.mjs';
import { delay, startServer } from '../lib/server.mjs';
import { withServer } from '../lib/suite.mjs';
import { encode, nowSeconds, tokenByKey, tokenFor } from '../lib/tokens.mjs';

const held = withServer();

/** Whether `token` is let in over the socket; REST must agree. */
async function letIn(server, token, user) {
  const client = new Client(server, { beat: false });
  await client.opened;
  client.send({ type: 'hello', id: 1, token });
  const answer = await client.when(() => client.received[0]?.message, 'an answer', 3000);
  const rest = await call(server, 'GET', userPath(user, '/presence'), { token });
  if (answer.type === 'welcome') {
    assert.equal(answer.userId, user);
    assert.equal(rest.status, 200);
    client.socket.terminate();
    return true;
  }
  assert.equal(answer.code, 'unauthorized');
  const end = await client.closedWith(4401);
  assert.match(end.reason, /^token_(refused|revoked)/);
  assertError(rest, 401, 'unauthorized');
  refusals.add(JSON.stringify({ ...answer, rest: rest.json }));
  return false;
}
const refusals = new Set();

describe('claims', () => {
  const user = 'claims-user';
  const now = nowSeconds();
  for (const [what, claims, expected] of [
    ['exp an hour ahead', {}, true], ['FO-062 exp 1 s ago', { exp: now - 1 }, true], ['FO-062 exp 20 s ago', { exp: now - 20 }, true],
    ['FO-062 exp 10 min ago', { exp: now - 600 }, false], ['FO-062 no exp', { exp: undefined }, false],
    ['FO-062 exp as text', { exp: String(now + 900) }, false], ['FO-062 exp as a fraction', { exp: now + 900.5 }, true],
    ['FO-062 exp negative', { exp: -5 }, false], ['exp true', { exp: true }, false], ['exp null', { exp: null }, false],
    ['FO-062 nbf 1 s ahead', { nbf: now + 1 }, true], ['FO-062 nbf 20 s ahead', { nbf: now + 20 }, true], ['FO-062 nbf 10 min ahead', { nbf: now + 600 }, false],
    ['FO-062 nbf after exp', { nbf: now + 7200, exp: now + 3600 }, false], ['nbf as text', { nbf: 'now' }, false],
    ['FO-062 iat 10 s ahead', { iat: now + 10 }, true], ['no iat', { iat: undefined }, true],
    ['FO-073 sub a number', { sub: 5 }, false], ['no sub', { sub: undefined }, false], ['sub empty', { sub: '' }, false], ['sub null', { sub: null }, false],
    ['FO-068 sub with U+0000', { sub: 'a\u0000b' }, false], ['FO-071 sub with a direction override', { sub: 'a\u202eb' }, false],
    ['FO-069 sub of 129 bytes', { sub: 'x'.repeat(129) }, false], ['sub blank', { sub: '   ' }, false],
    ['presence claim that is text', { presence: 'all' }, false], ['presence.watch that is text', { presence: { watch: 'no' } }, false],
    ['presence.rooms that is text', { presence: { rooms: 'doc-*' } }, false], ['presence claim empty', { presence: {} }, true],
    ['aud that nobody asks for', { aud: 'someone' }, true],
  ]) {
    test(`${what}: ${expected ? 'let in' : 'refused'}`, async () => {
      assert.equal(await letIn(held.server, tokenFor(user, claims), user), expected);
    });
  }

  test('FO-062 exp of 1e20 is refused or far ahead, never a crash', async () => {
    await letIn(held.server, tokenFor(user, { exp: 1e20 }), user);
  });

  for (const [what, token] of [
    ['alg none, no signature', `${encode({ alg: 'none', typ: 'JWT' })}.${encode({ sub: user, exp: now + 900 })}.`],
    ['alg None', `${encode({ alg: 'None' })}.${encode({ sub: user, exp: now + 900 })}.`],
    ['alg none with the old signature', tokenFor(user).replace(/^[^.]+/, encode({ alg: 'none' }))],
    ['another secret', tokenFor(user, {}, { secret: 'dev2' })], ['the empty secret', tokenFor(user, {}, { secret: '' })],
    ['a changed body', tokenFor(user).replace(/\.[^.]+\./, `.${encode({ sub: 'root', exp: now + 900 })}.`)],
    ['a signature cut short', tokenFor(user).slice(0, -4)], ['two parts', tokenFor(user).split('.').slice(0, 2).join('.')],
    ['four parts', `${tokenFor(user)}.x`], ['no base64', 'a!b.c!d.e!f'], ['a body that is no JSON', `${encode('{"alg":"HS256"}')}.${encode('nope')}.${'A'.repeat(43)}`],
    ['HS512 though HS256 is configured', (() => { const t = `${encode({ alg: 'HS512' })}.${encode({ sub: user, exp: now + 900 })}`; return `${t}.${createHmac('sha512', 'dev').update(t).digest('base64url')}`; })()],
    ['crit that nobody understands', tokenFor(user, {}, { header: { crit: ['x'], x: 1 } })],
    ['FO-065 a claim nested 3,000 deep', (() => { const body = Buffer.from(`{"sub":"${user}","exp":${now + 900},"x":${'['.repeat(3000)}${']'.repeat(3000)}}`).toString('base64url'); const t = `${encode({ alg: 'HS256' })}.${body}`; return `${t}.${createHmac('sha256', 'dev').update(t).digest('base64url')}`; })()],
    ['FO-065 a header nested 3,000 deep', `${encode(`{"alg":"HS256","x":${'['.repeat(3000)}${']'.repeat(3000)}}`)}.${encode({ sub: user, exp: now + 900 })}.AAAA`],
  ]) {
    test(`FO-062 refused: ${what}`, async () => {
      assert.equal(await letIn(held.server, token, user), false);
    });
  }

  test('FO-062 every refusal looks the same', () => {
    assert.equal(refusals.size, 1, [...refusals].join('\n'));
  });
});

describe('keys', () => {
  let server;
  let folder;
  const keys = {};
  before(async () => {
    keys.RS256 = generateKeyPairSync('rsa', { modulusLength: 2048 });
    keys.ES256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    keys.EdDSA = generateKeyPairSync('ed25519');
    folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-jwks-'));
    const jwks = { keys: Object.entries(keys).map(([alg, pair]) => ({ ...pair.publicKey.export({ format: 'jwk' }), alg, kid: `k-${alg}`, use: 'sig' })) };
    writeFileSync(path.join(folder, 'jwks.json'), JSON.stringify(jwks));
    server = await startServer({ set: { 'auth.jwks': path.join(folder, 'jwks.json') } });
  });
  after(async () => { endClients(); await server?.dispose(); rmSync(folder, { recursive: true, force: true }); });

  for (const alg of ['RS256', 'ES256', 'EdDSA']) {
    test(`${alg} by a JWKS file`, async () => {
      const user = fresh();
      const header = { kid: `k-${alg}` };
      assert.equal(await letIn(server, tokenByKey(alg, keys[alg].privateKey, user, { header }), user), true);
      const other = alg === 'RS256' ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : alg === 'ES256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519');
      assert.equal(await letIn(server, tokenByKey(alg, other.privateKey, user, { header }), user), false);
      assert.equal(await letIn(server, tokenByKey(alg, keys[alg].privateKey, user, { header: { kid: 'unknown' } }), user), false);
    });
  }

  test('FO-062 HS256 signed with the public key as secret is refused', async () => {
    const user = fresh();
    for (const format of [{ format: 'pem', type: 'spki' }, { format: 'der', type: 'spki' }]) {
      const secret = keys.RS256.publicKey.export(format);
      assert.equal(await letIn(server, tokenFor(user, {}, { secret, header: { kid: 'k-RS256' } }), user), false);
    }
  });

  test('FO-062 a key of one kind under the name of another is refused', async () => {
    const user = fresh();
    assert.equal(await letIn(server, tokenByKey('RS256', keys.RS256.privateKey, user, { header: { kid: 'k-ES256' } }), user), false);
    assert.equal(await letIn(server, tokenByKey('EdDSA', keys.EdDSA.privateKey, user, { header: { kid: 'k-RS256' } }), user), false);
  });
});

describe('rights', () => {
  test('watch: false refuses watch and get of others, over HTTP too', async () => {
    const token = tokenFor(fresh(), { presence: { watch: false } });
    const a = await attach(held.server, 'x', { token });
    for (const type of ['watch', 'get']) await a.refused({ type, users: ['someone'] }, 'forbidden');
    assertError(await call(held.server, 'GET', '/v1/users/someone/presence', { token }), 403, 'forbidden');
    assertError(await call(held.server, 'POST', '/v1/presence/query', { token, body: { users: ['someone'] } }), 403, 'forbidden');
    await a.ask({ type: 'status', status: 'busy' });
  });

  test('watch: false leaves the sight of oneself, over HTTP too', async () => {
    const user = fresh();
    const token = tokenFor(user, { presence: { watch: false } });
    const a = await attach(held.server, user, { token });
    for (const type of ['watch', 'get']) {
      const answer = await a.ask({ type, users: [user] }, 'snapshot');
      assert.equal(answer.users[0].status, 'online');
      await a.refused({ type, users: [user, 'someone'] }, 'forbidden');
    }
    for (const path of [userPath(user, '/presence'), `/v1/poll?users=${user}`]) {
      assert.equal((await call(held.server, 'GET', path, { token })).status, 200, path);
    }
    assert.equal((await call(held.server, 'POST', '/v1/presence/query', { token, body: { users: [user] } })).status, 200);
  });

  test('status: false refuses status', async () => {
    const user = fresh();
    const token = tokenFor(user, { presence: { status: false } });
    const a = await attach(held.server, user, { token });
    await a.refused({ type: 'status', status: 'busy' }, 'forbidden');
    assertError(await call(held.server, 'PUT', userPath(user, '/status'), { token, body: { status: 'busy' } }), 403, 'forbidden');
    assertError(await call(held.server, 'DELETE', userPath(user, '/status'), { token }), 403, 'forbidden');
    await a.ask({ type: 'privacy', online: { mode: 'nobody' } }, 'privacy');
  });

  test('privacy: false refuses rules and blocks', async () => {
    const user = fresh();
    const token = tokenFor(user, { presence: { privacy: false } });
    const a = await attach(held.server, user, { token });
    await a.refused({ type: 'privacy', online: { mode: 'nobody' } }, 'forbidden');
    await a.refused({ type: 'block', users: ['m'] }, 'forbidden');
    await a.refused({ type: 'unblock', users: ['m'] }, 'forbidden');
    assertError(await call(held.server, 'PUT', userPath(user, '/privacy'), { token, body: { online: { mode: 'nobody' } } }), 403, 'forbidden');
    assertError(await call(held.server, 'POST', userPath(user, '/blocks'), { token, body: { add: ['m'] } }), 403, 'forbidden');
  });

  test('auth with narrower rights takes effect at once', async () => {
    const b = await attach(held.server, fresh());
    const a = await attach(held.server, fresh());
    await a.watch([b.user]);
    const ack = await a.ask({ type: 'auth', token: tokenFor(a.user, { presence: { watch: false, status: false } }) });
    assert.ok(ack.expiresAt > Date.now());
    await a.refused({ type: 'status', status: 'busy' }, 'forbidden');
    await a.refused({ type: 'get', users: [b.user] }, 'forbidden');
    await delay(1100);
    const from = a.received.length;
    await b.ask({ type: 'status', status: 'busy' });
    await delay(600);
    assert.ok(!a.told(b.user, from).some((one) => one.status === 'busy'), 'a watch outlived the right to it');
    await a.ask({ type: 'auth', token: tokenFor(a.user) });
    await a.ask({ type: 'status', status: 'busy' });
  });

  test('a resume with narrower rights leaves the rooms that it forbids', async () => {
    const [a, b] = [await attach(held.server, fresh()), await attach(held.server, fresh())];
    const [kept, left] = [fresh('doc-'), fresh('chat-')];
    for (const room of [kept, left]) {
      await b.join(room);
      await a.join(room);
      await b.when(() => b.inRoom(room).includes(a.user), 'a to be in');
    }
    await a.reset();
    const token = tokenFor(a.user, { presence: { rooms: ['doc-*'] } });
    const again = await attach(held.server, a.user, { token, hello: { resume: a.welcome.resume } });
    assert.equal(again.welcome.resumed, true);
    await b.when(() => !b.inRoom(left).includes(a.user), 'left');
    assert.ok(b.inRoom(kept).includes(a.user));
  });
});

describe('FO-058 token expires while connected', () => {
  test('FO-058 a warning ahead, at half of a short life; then closed at exp + 30 s with 4401, and the session is in grace', { timeout: 60_000 }, async () => {
    const exp = nowSeconds() + 4;
    const start = Date.now();
    const a = await attach(held.server, fresh(), { claims: { exp } });
    const b = await attach(held.server, fresh());
    const w = await watcher(held.server, [a.user]);
    await a.watch([b.user]);
    assert.equal(a.welcome.expiresAt, exp * 1000);
    const warning = await a.next('tokenExpiring', { from: 0, timeoutMs: 4500 });
    const at = a.received.find((r) => r.message.type === 'tokenExpiring').at;
    assert.ok(at - start > 500 && at - start < 3500, `${at - start} ms after hello`);
    assert.ok(Math.abs(warning.inMs - (exp * 1000 - at)) < 600, `${warning.inMs}`);
    await delay(26_000);
    await b.ask({ type: 'status', status: 'busy' });
    await a.sees(b.user, 'busy');  // never open but mute
    const end = await a.closedWith(4401, 'token_expired', 12_000);
    assert.ok(end.at >= exp * 1000 + 29_500 && end.at <= exp * 1000 + 32_500, `${end.at - exp * 1000} ms after exp`);
    assert.equal(a.received.filter((r) => r.message.type === 'tokenExpiring').length, 1, 'warned once');
    const [session] = await listSessions(held.server, a.user);
    assert.equal(session.state, 'grace');
    const back = await attach(held.server, a.user, { hello: { resume: a.welcome.resume } });
    assert.equal(back.welcome.resumed, true);
    await w.hearsNothing(a.user, 1500);
  });

  test('FO-058 a refresh in time goes on without a break; a bad one changes nothing', { timeout: 30_000 }, async () => {
    const exp = nowSeconds() - 25;  // within the leeway: ends in 5 s
    const a = await attach(held.server, fresh(), { claims: { exp } });
    const b = await attach(held.server, fresh(), { claims: { exp } });
    const fresher = nowSeconds() + 3600;
    const ack = await a.ask({ type: 'auth', token: tokenFor(a.user, { exp: fresher }) });
    assert.equal(ack.expiresAt, fresher * 1000);
    for (const token of ['garbage', tokenFor(b.user, { exp: nowSeconds() - 600 }), tokenFor(b.user, {}, { secret: 'no' })]) {
      await b.refused({ type: 'auth', token }, 'unauthorized');
      await a.refused({ type: 'auth', token }, 'unauthorized');
    }
    for (const token of [undefined, 5, null]) await a.refused({ type: 'auth', token });
    await b.closedWith(4401, 'token_expired', 9000);
    await delay(1500);
    await a.ask({ type: 'heartbeat' }, 'heartbeatAck');
  });

  test('4401 token_other_user: auth with another user’s token', async () => {
    const a = await attach(held.server, fresh());
    a.send({ type: 'auth', id: 77, token: tokenFor(fresh()) });
    await a.closedWith(4401, 'token_other_user');
  });
});

describe('FO-057 revoked token, living socket', () => {
  const revoke = (user, before) => done(held.server, 'POST', userPath(user, '/revoke'), { body: { before } });

  test('FO-057 FO-004 sessions by older tokens end within 2 s without a grace; newer tokens go on', async () => {
    const user = fresh();
    const old = await attach(held.server, user, { claims: { iat: nowSeconds() - 100 } });
    const none = await attach(held.server, user, { claims: { iat: undefined } });
    const young = await attach(held.server, user);
    const w = await watcher(held.server, [user]);
    const answer = await revoke(user, Date.now() - 50_000);
    assert.ok(answer.before <= Date.now());
    await old.closedWith(4401, 'token_revoked', 2000);
    await none.closedWith(4401, 'token_revoked', 2000);
    assert.equal((await listSessions(held.server, user)).length, 1);
    await young.ask({ type: 'heartbeat' }, 'heartbeatAck');
    await w.hearsNothing(user, 300);
    for (const claims of [{ iat: nowSeconds() - 100 }, { iat: undefined }]) assert.equal(await letIn(held.server, tokenFor(user, claims), user), false);
    assert.equal(await letIn(held.server, tokenFor(user), user), true);
    const at = Date.now();
    await revoke(user, Date.now() + 2000);
    await young.closedWith(4401, 'token_revoked', 2000);
    await w.sees(user, 'offline', 2500);
    assert.ok(w.told(user).at(-1).receivedAt - at < 2000, 'no grace after a revocation');
  });

  test('the mark never moves back', async () => {
    const user = fresh();
    const mark = Date.now() + 5000;
    await revoke(user, mark);
    assert.equal((await revoke(user, 5)).before, mark);
    assert.equal(await letIn(held.server, tokenFor(user), user), false);
  });

  test('auth with a revoked token is refused', async () => {
    const user = fresh();
    await revoke(user, Date.now() - 50_000);
    const a = await attach(held.server, user);
    await a.refused({ type: 'auth', token: tokenFor(user, { iat: nowSeconds() - 100 }) }, 'unauthorized');
    await a.ask({ type: 'heartbeat' }, 'heartbeatAck');
  });

  test('FO-005 an erased user is closed with 4403 at once, without a grace', async () => {
    const user = fresh();
    const devices = [await attach(held.server, user), await attach(held.server, user)];
    const w = await watcher(held.server, [user]);
    const at = Date.now();
    await done(held.server, 'POST', userPath(user, '/revoke'), { body: { before: Date.now() + 2000 } }).then(() => {});
    await done(held.server, 'DELETE', userPath(user, ''));
    for (const device of devices) { const end = await device.closed; assert.ok([4401, 4403].includes(end.code)); }
    await w.sees(user, 'offline', 2500);
    assert.ok(Date.now() - at < 2500);
    assert.equal(await letIn(held.server, tokenFor(user), user), false, 'revoked tokens stay refused after the erasure');
    assert.equal((await readPresence(held.server, user, w.user)).lastSeen, undefined);
  });
});

test('FO-061 no part of a token is in the logs, in errors or in close reasons, at any level', async () => {
  for (const level of ['trace', 'debug', 'info']) {
    let server;
    try { server = await startServer({ set: { 'log.level': level } }); } catch (error) { if (level === 'trace') continue; throw error; }
    try {
      const good = tokenFor('log-user');
      const expired = tokenFor('log-user', { exp: nowSeconds() - 9999 });
      const long = tokenFor('log-user', { filler: 'q'.repeat(9000) });
      const texts = [];
      await attach(server, 'log-user', { token: good });
      await attach(server, 'log-user', { token: long });
      await new Client(server, { path: `?token=${good}` }).opened.catch(() => {});
      for (const token of [expired, `${good}x`, good.slice(5)]) {
        const client = new Client(server, { headers: { authorization: `Bearer ${token}` } });
        await client.opened;
        client.send({ type: 'hello', token });
        const end = await client.closed;
        texts.push(end.reason, ...client.received.map((r) => r.bytes));
        texts.push((await call(server, 'GET', '/v1/users/x/presence', { token })).text);
      }
      texts.push((await call(server, 'GET', `/v1/users/x/presence?token=${good}`)).text);
      texts.push(JSON.stringify(await listSessions(server, 'log-user')));
      await delay(200);
      const haystack = server.stderr + server.stdout + texts.join();
      for (const token of [good, expired, long]) {
        for (const part of token.split('.')) {
          for (let i = 0; i + 12 <= Math.min(part.length, 600); i += 7) {
            // The header is the same in all tokens and no secret.
            if (part !== token.split('.')[0]) assert.ok(!haystack.includes(part.slice(i, i + 12)), `${level}: "${part.slice(i, i + 12)}" shows`);
          }
        }
      }
    } finally { endClients(); await server.dispose(); }
  }
});
