// The log of a busy server: one line an event, whatever foreign text is in it, and nothing that is nobody's business (DESIGN rule 38).
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { attach, Client, endClients, fresh } from '../lib/client.mjs';
import { call, userPath } from '../lib/rest.mjs';
import { delay, startServer, until } from '../lib/server.mjs';
import { tokenFor } from '../lib/tokens.mjs';

const secretText = () => `text-${randomBytes(12).toString('hex')}`;
const line = {
  text: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info|warning|error) [a-z0-9_]+ [^\u0000-\u001f\u007f-\u009f]*$/,
  json: (one) => {
    const record = JSON.parse(one);
    const { time, level, event, request, session, detail, ...rest } = record;
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(['debug', 'info', 'warning', 'error'].includes(level) && /^[a-z0-9_]+$/.test(event) && typeof detail === 'string', one);
    assert.deepEqual(rest, {});
    return record;
  },
};

/** Everything that a server may be told, with all that must not be told on; gives the secrets. */
async function keepBusy(server, key) {
  const secrets = [key, 'an-api-key-that-is-wrong'];
  const say = () => { secrets.push(secretText()); return secrets.at(-1); };
  const tokens = (...claims) => { secrets.push(tokenFor(...claims, { secret: server.secret })); return secrets.at(-1); };
  for (let i = 0; i < 5; ++i) {
    const name = fresh(`odd "quoted" \\ name ${i}`);
    const a = await attach(server, name, { token: tokens(name, {}), hello: { device: { type: 'desktop', name: 'odd "and" \\ more' } } });
    secrets.push(a.welcome.resume.split('.')[1]);
    await a.ask({ type: 'status', status: 'busy', customStatus: { text: say(), emoji: ':tada:' } });
    await a.ask({ type: 'status', scope: 'session', customStatus: { text: say() } });
    await a.refused({ type: 'status', customStatus: { text: `${say()}${'x'.repeat(200)}` } });
    await a.refused({ type: 'status', status: say() });
    await a.ask({ type: 'join', room: 'r', meta: { note: say() } }, 'room');
    await a.ask({ type: 'signal', to: { room: 'r' }, kind: 'typing', active: true, data: { draft: say() } });
    await a.ask({ type: 'auth', token: tokens(name, { jti: i }) });
    await a.refused({ type: 'auth', token: `${tokens(name, { other: i })}x` }, 'unauthorized');
    a.socket.send('{"type": "status", "customStatus": {"text": "' + say());
    const back = { token: key, headers: { 'X-Request-Id': `proxy-${i} "\u00ff` } };
    await call(server, 'PUT', userPath(name, '/status'), { ...back, body: { status: 'dnd', customStatus: { text: say() } } });
    await call(server, 'GET', userPath(name, `/presence?token=${tokens(name, { query: i })}`), back);
    await call(server, 'GET', userPath(name, '/presence'), { token: 'an-api-key-that-is-wrong' });
    await call(server, 'GET', `${userPath(name, '/explain')}?viewer=x&at=${Date.now()}`, back);
    await call(server, 'GET', '/%0d%0aforged:%20line', back);
    const stranger = new Client(server);
    await stranger.opened;
    await stranger.request({ type: 'hello', token: `${tokens(fresh(), {})}x` });
    if (i % 2) await a.close(); else await a.reset();
  }
  return secrets;
}

describe('the log of a busy server', () => {
  for (const format of ['text', 'json']) {
    test(`as ${format}: one line an event, ids in their places, no secrets`, async () => {
      const key = `key-${randomBytes(16).toString('hex')}`;
      const webhook = `whsec_${randomBytes(24).toString('base64')}`;
      const server = await startServer({ set: {
        'log.level': 'debug', 'log.format': format, 'auth.api_keys': key, 'auth.secret': `secret-${randomBytes(16).toString('hex')}`,
        'webhooks.url': 'http://127.0.0.1:9/', 'webhooks.allow_private': 'true', 'webhooks.secret': webhook,
      } });
      try {
        const secrets = [...await keepBusy(server, key), server.secret, webhook.slice(6)];
        await until(() => server.stderr.includes('grace_over'), 'the end of a grace');
        server.signal('SIGHUP');
        await until(() => server.stderr.includes('reloaded'), 'the reload');
        await server.terminate();
        const lines = server.stderr.split('\n').filter((one) => one);
        assert.ok(lines.length > 100, `only ${lines.length} lines`);
        for (const secret of secrets) assert.ok(!server.stderr.includes(secret), `${secret} is in the log`);
        assert.ok(!server.stderr.includes('\nforged'));
        if (format === 'json') {
          const records = lines.map(line.json);
          const settled = records.filter(({ event, session }) => event === 'settled' && session);
          const welcomed = new Set(records.filter(({ event }) => event === 'welcome').map(({ session }) => session));
          assert.equal(welcomed.size, 5);
          assert.ok(settled.some(({ session }) => welcomed.has(session)));
          assert.ok(records.some(({ event, request }) => event === 'call' && request.startsWith('proxy-3 "')));
          assert.ok(records.some(({ event, request, session }) => event === 'refused' && Number(request) > 0 && welcomed.has(session)));
        } else {
          for (const one of lines) assert.match(one, line.text);
          assert.ok(lines.some((one) => / debug welcome session=\S{15} user=odd \\"quoted\\"/.test(one)));
          assert.ok(lines.some((one) => / debug call request=proxy-1 /.test(one)));
        }
      } finally {
        endClients();
        await server.dispose();
      }
    });
  }

  test('a storm of one event is cut, and said', async () => {
    const server = await startServer({ set: { 'log.level': 'debug' } });
    try {
      const a = await attach(server, fresh());
      for (let i = 0; i < 4000; ++i) a.send({ type: 'status', status: 'no such status', id: 10_000 + i });
      await until(() => /warning left_out event=refused \d+ more in a second/.test(server.stderr), 'the line about those left out', 10_000);
      await delay(1500);
      const written = server.stderr.split('\n').filter((one) => one.includes(' debug refused ')).length;
      const leftOut = [...server.stderr.matchAll(/left_out event=refused (\d+) more/g)].reduce((sum, [, count]) => sum + Number(count), 0);
      assert.equal(written + leftOut, 4000);
    } finally {
      endClients();
      await server.dispose();
    }
  });
});
