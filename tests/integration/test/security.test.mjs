// What somebody who wishes us ill would try: SECURITY.md says which threat each of these is about.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { after, before, describe, test } from 'node:test';
import { Client, attach, endClients, fresh } from '../lib/client.mjs';
import { RawClient } from '../lib/raw.mjs';
import { call } from '../lib/rest.mjs';
import { delay, run, startServer, until } from '../lib/server.mjs';
import { tokenFor } from '../lib/tokens.mjs';

const folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-security-'));
after(() => rmSync(folder, { recursive: true }));

/** A self-signed certificate for localhost, in files of that name. */
function certify(name) {
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1', '-subj', `/CN=${name}`,
                           '-addext', 'subjectAltName=DNS:localhost', '-keyout', `${folder}/${name}.key`, '-out', `${folder}/${name}.pem`], { stdio: 'ignore' });
}

describe('TLS', () => {
  let server;
  const wrap = (options = {}) => new Promise((resolve, reject) => {
    const socket = tls.connect({ host: '127.0.0.1', port: server.port, servername: 'localhost', rejectUnauthorized: false, ...options }, () => resolve(socket));
    socket.on('error', reject);
  });
  const put = (name) => { copyFileSync(`${folder}/${name}.pem`, `${folder}/now.pem`); copyFileSync(`${folder}/${name}.key`, `${folder}/now.key`); };

  before(async () => {
    certify('first');
    certify('second');
    put('first');
    server = await startServer({ set: { 'tls.certificate': `${folder}/now.pem`, 'tls.key': `${folder}/now.key` } });
  });
  after(() => server?.dispose());

  for (const [version, expected] of [['TLSv1.3', true], ['TLSv1.2', true], ['TLSv1.1', false], ['TLSv1', false]]) {
    test(`${version}: ${expected ? 'spoken' : 'refused'}`, async () => {
      const options = { minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' };
      if (expected) {
        const socket = await wrap(options);
        assert.equal(socket.getProtocol(), version);
        socket.destroy();
      } else await assert.rejects(wrap(options), /ECONNRESET|alert|version|disconnected/i);
    });
  }

  for (const cipher of ['AES128-SHA', 'AES256-GCM-SHA384', 'ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES256-SHA384', 'DHE-RSA-AES128-GCM-SHA256', 'NULL-SHA256', 'aNULL']) {
    test(`${cipher} is refused`, async () => {
      await assert.rejects(wrap({ maxVersion: 'TLSv1.2', ciphers: `${cipher}:@SECLEVEL=0` }), /ECONNRESET|alert|cipher|disconnected/i);
    });
  }

  test('a client cannot have the keys made anew', async () => {
    const socket = await wrap({ maxVersion: 'TLSv1.2' });
    const refused = new Promise((resolve) => { socket.on('error', resolve); socket.on('close', resolve); });
    socket.renegotiate({ rejectUnauthorized: false }, (error) => error && socket.destroy(error));
    await refused;
  });

  test('SIGHUP takes a new certificate for new connections, a broken one changes nothing, and nobody is cut off', async () => {
    const old = await wrap();
    assert.equal(old.getPeerCertificate().subject.CN, 'first');
    put('second');
    server.signal('SIGHUP');
    await until(async () => { const socket = await wrap(); const name = socket.getPeerCertificate().subject.CN; socket.destroy(); return name === 'second'; }, 'the new certificate');
    writeFileSync(`${folder}/now.pem`, 'no certificate');
    server.signal('SIGHUP');
    await until(() => /reload_refused.*tls/.test(server.stderr), 'the refusal in the log');
    const socket = await wrap();
    assert.equal(socket.getPeerCertificate().subject.CN, 'second');
    socket.destroy();
    old.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    let answer = '';
    for await (const bytes of old) answer += bytes;
    assert.match(answer, /^HTTP\/1\.1 200 /);
  });

  test('plain HTTP on the port of TLS is closed', async () => {
    const socket = net.connect(server.port, '127.0.0.1');
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    let answer = '';
    socket.on('data', (bytes) => { answer += bytes.toString('latin1'); });
    socket.on('error', () => {});
    await new Promise((resolve) => { socket.on('close', resolve); });
    assert.doesNotMatch(answer, /HTTP/);
  });
});

describe('secrets', () => {
  const secrets = {
    'auth.secret': 'jwt-Secret-0123456789abcdefghijklmnop', 'auth.api_keys': 'apikey-Secret-0123456789abcdef',
    'webhooks.secret': 'whsec_U2VjcmV0U2VjcmV0U2VjcmV0U2VjcmV0',
  };
  /** No eight characters in a row of a secret. */
  const assertSilent = (text, what) => {
    for (const [key, secret] of Object.entries(secrets)) {
      for (let i = 0; i + 8 <= secret.length; ++i) assert.ok(!text.includes(secret.slice(i, i + 8)), `${what} shows ${secret.slice(i, i + 8)} of ${key}`);
    }
  };

  test('are in no answer, no metric, no log and no error', async () => {
    const server = await startServer({ dev: false, set: { ...secrets, 'webhooks.url': 'https://127.0.0.1:9/hooks', 'log.level': 'debug' } });
    try {
      const user = fresh();
      const a = await attach(server, user, { token: tokenFor(user, {}, { secret: secrets['auth.secret'] }) });
      const heard = [];
      for (const target of ['/metrics', '/version', '/readyz', '/healthz', '/v1/stats', '/v1/webhooks', '/v1/webhooks/dead-letters', '/v1/rooms', `/v1/users/${user}/explain?viewer=x`,
                            `/v1/users/${user}/sessions`, `/v1/users/${user}/presence`, '/v1/openapi.yaml', '/v1/protocol.json', '/nothing']) {
        for (const key of [server.key, `${server.key}x`, 'wrong']) {
          const answer = await fetch(server.httpUrl + target, { headers: { authorization: `Bearer ${key}` } });
          heard.push(JSON.stringify([...answer.headers]), await answer.text());
        }
      }
      heard.push((await call(server, 'POST', '/v1/webhooks/test')).text);
      heard.push(...a.received.map((one) => one.bytes.toString().replace(/"resume":"[^"]*"/, '')));
      const resume = a.received.find((one) => one.message?.type === 'welcome').message.resume;
      assert.ok(resume.length >= 20);
      const all = heard.join('\n') + server.stderr + server.stdout;
      assertSilent(all, 'something that was said');
      assert.ok(!all.includes(resume), 'the secret of the session is told to somebody else');
    } finally { endClients(); await server.dispose(); }
  });

  test('are not in what the command says of a configuration, be it good or broken', async () => {
    const file = `${folder}/presenced.toml`;
    const lines = `[auth]\nsecret = "${secrets['auth.secret']}"\napi_keys = ["${secrets['auth.api_keys']}"]\n[webhooks]\nurl = "https://example.org/hooks"\nsecret = "${secrets['webhooks.secret']}"\n`;
    for (const broken of ['', 'scret = "x"\n', `secret = "${secrets['webhooks.secret']}?"\n`, '= =\n', '[heartbeat]\nttl = "1s"\n']) {
      writeFileSync(file, broken.includes('secret = "whsec') ? lines.replace(/secret = "whsec[^\n]*\n/, broken) : lines + broken);
      const checked = await run(['check', '--config', file]);
      assert.equal(checked.code !== 0, broken !== '', checked.stderr);
      assertSilent(checked.stdout + checked.stderr, `check of ${broken}`);
    }
    for (const [key, secret] of Object.entries(secrets)) {
      const started = await run(['serve', '--set', `${key}=${secret}`, '--set', 'auth.api_keys=sha256:12', '--set', 'listen=nowhere']);
      assert.notEqual(started.code, 0);
      assertSilent(started.stdout + started.stderr, `serve with ${key}`);
    }
    const said = await run(['config'], { env: { PRESENCED_AUTH_SECRET: secrets['auth.secret'] } });
    assertSilent(said.stdout + said.stderr, 'config');
  });

  test('passwords of stores are not in errors', async () => {
    for (const [key, url] of [['store.url', 'redis://user:store-Password-1@127.0.0.1:1/x'], ['store.url', 'redis://user:store-Password-1@127.0.0.1:1'],
                              ['database.url', 'postgresql://u:store-Password-1@127.0.0.1:1/d?bogus=1'], ['database.url', 'postgresql://u:store-Password-1@127.0.0.1:1/d']]) {
      const started = await run(['serve', '--dev', '--set', 'listen=127.0.0.1:0', '--set', `data_dir=${folder}/data`, '--set', `${key}=${url}`], { timeoutMs: 4000 });
      assert.ok(!(started.stdout + started.stderr).includes('store-Password'), `${url}: ${started.stderr}`);
    }
  });

  test('a key of a back end may stand in the configuration as a hash, which is no key itself', async () => {
    const hash = createHash('sha256').update('a key for back ends').digest('hex');
    const server = await startServer({ set: { 'auth.api_keys': `sha256:${hash}` } });
    try {
      const status = async (key) => (await fetch(`${server.httpUrl}/v1/stats`, { headers: { authorization: `Bearer ${key}` } })).status;
      assert.equal(await status('a key for back ends'), 200);
      for (const wrong of [hash, `sha256:${hash}`, 'dev', 'a key for back end']) assert.equal(await status(wrong), 401, wrong);
    } finally { await server.dispose(); }
  });
});

describe('guessing and hanging on', () => {
  let server;
  before(async () => { server = await startServer(); });
  after(() => server?.dispose());
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  after(() => agent.destroy());

  const guess = (key) => new Promise((resolve, reject) => {
    const request = http.get(`${server.httpUrl}/v1/stats`, { agent, headers: { authorization: `Bearer ${key}` } }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve({ status: answer.statusCode, connection: answer.headers.connection, port: request.socket.localPort }));
    });
    request.on('error', reject);
  });

  test('ten wrong keys end a connection, and the right one is taken at any time', async () => {
    const ports = new Set();
    for (let i = 1; i <= 25; ++i) {
      const answer = await guess(`wrong-${i}`);
      assert.equal(answer.status, 401);
      assert.equal(answer.connection, i % 10 === 0 ? 'close' : 'keep-alive');
      ports.add(answer.port);
      if (i % 10 === 5) assert.equal((await guess('dev')).status, 200);
    }
    assert.equal(ports.size, 3);
  });

  test('a refused token ends a WebSocket: one guess a connection', async () => {
    const client = new Client(server);
    await client.opened;
    client.send({ type: 'hello', token: tokenFor('x', {}, { secret: 'guess' }) });
    await client.closedWith(4401, 'token_refused');
  });

  test('who dribbles a head, a chunk of nothing, or says nothing at all is gone within 12 s', { timeout: 30_000 }, async () => {
    const raws = Array.from({ length: 60 }, () => new RawClient(server));
    await Promise.all(raws.map((raw) => raw.connected));
    const began = Date.now();
    const head = 'GET /v1/connect HTTP/1.1\r\nHost: x\r\nX-Slow: ';
    let at = 0;
    const drip = setInterval(() => {
      raws.forEach((raw, i) => { if (i % 3 !== 2 && !raw.ended) raw.socket.write(i % 3 === 0 ? head[at] ?? 'x' : at === 0 ? 'GET ' : '/'); });
      ++at;
    }, 200);
    try {
      await until(() => raws.every((raw) => raw.ended), 'all to be closed', 13_000);
      assert.ok(Date.now() - began > 8000, 'an honest slow client has its ten seconds');
    } finally {
      clearInterval(drip);
      raws.forEach((raw) => raw.destroy());
    }
    assert.equal((await fetch(`${server.httpUrl}/healthz`)).status, 200);
  });
});

describe('paths', () => {
  let server;
  before(async () => { server = await startServer(); });
  after(() => server?.dispose());

  for (const target of ['/../../../../etc/passwd', '/..%2f..%2f..%2fetc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '//etc/passwd', '/admin/../../etc/passwd', '/admin/..%5c..%5cetc/passwd',
                        '/assets/%00/../etc/passwd', '/....//....//etc/passwd', '/file:///etc/passwd', '/.git/config', '/presenced.db', '/admin/%2e%2e/', 'http://x/../etc/passwd']) {
    test(`${target} is not found, or bad`, async () => {
      const raw = new RawClient(server);
      await raw.connected;
      await raw.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      await raw.gone;
      const answer = raw.buffer.toString('latin1');
      assert.match(answer, /^HTTP\/1\.1 (404|400) /, answer.slice(0, 200));
      assert.doesNotMatch(answer, /root:|\[core\]|SQLite/);
      raw.destroy();
    });
  }

  test('pages and answers say how browsers are to treat them', async () => {
    for (const target of ['/', '/admin/', '/v1/stats', '/v1/users/x/presence', '/nothing', '/metrics', '/healthz']) {
      const answer = await fetch(server.httpUrl + target, { headers: { authorization: 'Bearer dev' } });
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', target);
      assert.ok(answer.headers.has('cache-control'), target);
      assert.equal(answer.headers.get('server'), null, 'no version for those who collect them');
      if (['/', '/admin/'].includes(target) && answer.status === 200) {
        assert.match(answer.headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'self'/);
        assert.equal(answer.headers.get('x-frame-options'), 'SAMEORIGIN');
        assert.equal(answer.headers.get('cross-origin-opener-policy'), 'same-origin');
        assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
      }
    }
  });
});
