// sdk/server and sdk/python against a real server: calls, tokens by a secret and by a key, webhooks that it really sends.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Receiver, newSecret } from '../../integration/lib/receiver.mjs';
import { startServer, until } from '../../integration/lib/server.mjs';
import { root } from '../lib/files.mjs';

const built = path.join(root, 'sdk/server/dist/index.js');
const helpers = existsSync(built) ? await import(built) : undefined;

let folder;
let receiver;
let server;
const keys = generateKeyPairSync('ed25519');
const pem = (key, type) => key.export({ type, format: 'pem' }).toString();
const secret = newSecret();
const python = { cwd: path.join(root, 'sdk/python'), env: { ...process.env, PYTHONPATH: path.join(root, 'sdk/python') } };

before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-helpers-'));
  writeFileSync(`${folder}/public.pem`, pem(keys.publicKey, 'spki'));
  writeFileSync(`${folder}/private.pem`, pem(keys.privateKey, 'pkcs8'));
  receiver = await new Receiver(secret).listen();
  server = await startServer({ set: { 'auth.public_keys': `${folder}/public.pem`, 'webhooks.url': receiver.url,
                                      'webhooks.secret': secret, 'webhooks.allow_private': 'true', 'heartbeat.ttl': '30s' } });
});

after(async () => {
  await server?.dispose();
  await receiver?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a Python program beside this one, which goes on serving. */
function runPython(...words) {
  return new Promise((resolve, reject) => {
    const child = spawn('python3', words, { ...python, stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.on('data', (data) => { out += data; });
    child.stderr.on('data', (data) => { err += data; });
    child.on('close', (code) => (code === 0 ? resolve(out + err) : reject(new Error(`python3 ${words.join(' ')}: ${out}${err}`))));
  });
}

test('TypeScript: the calls of a back end and of its users', { skip: !helpers }, async () => {
  const { PresenceServer, PresenceError, mintToken } = helpers;
  const presence = new PresenceServer({ url: server.httpUrl, apiKey: server.key });
  const ada = presence.as(mintToken({ userId: 'ts-ada', secret: server.secret }));
  const bo = presence.as(mintToken({ userId: 'ts-bo', privateKey: keys.privateKey }));
  assert.ok((await ada.beat({ deviceId: 'd', device: { type: 'web' } })).ttlMs > 0);
  assert.equal((await presence.getPresence('ts-ada')).status, 'online');
  const { cursor } = await bo.poll(['ts-ada']);
  const told = [];
  for await (const event of bo.openStream(['ts-ada'])) {
    told.push([event.type, event.users[0].status]);
    if (told.length === 1) await presence.putStatus('ts-ada', { status: 'busy', customStatus: { text: 'Zürich' } });
    else break;
  }
  assert.deepEqual(told, [['snapshot', 'online'], ['update', 'busy']]);
  assert.equal((await bo.postPoll(['ts-ada'], { cursor, waitMs: 2000 })).users[0].customStatus.text, 'Zürich');
  await presence.putPrivacy('ts-ada', { online: { mode: 'contacts' } });
  assert.deepEqual(await presence.getPresence('ts-ada', { viewer: 'ts-bo' }), { userId: 'ts-ada', status: 'offline', version: 0 });
  assert.deepEqual((await presence.changeContacts('ts-ada', { add: ['ts-bo', '..'] })).users, ['..', 'ts-bo']);
  assert.deepEqual((await presence.queryPresence(['ts-ada', 'ts-nobody'], { viewer: 'ts-bo' })).users.map(({ status }) => status), ['busy', 'offline']);
  assert.equal((await presence.getPresence('..')).userId, '..');
  assert.equal((await presence.explainView('ts-ada', 'ts-bo')).merge.result, 'busy');
  assert.equal((await presence.getRoom('r')).count, 0);
  const [{ sessionId }] = (await presence.listSessions('ts-ada')).sessions;
  assert.equal(await presence.endSession('ts-ada', sessionId), undefined);
  await presence.revokeTokens('ts-ada', Date.now() + 1000);
  const error = await ada.beat({ deviceId: 'd' }).catch((reason) => reason);
  assert.ok(error instanceof PresenceError && error.code === 'unauthorized' && error.status === 401, String(error));
  assert.ok((await presence.getWebhooks()).receivers.length === 1 && (await presence.testWebhooks()).results[0].delivered);
  assert.ok((await presence.getReadiness()).status === 'ready' && (await presence.getVersion()).name === 'presenced');
  assert.match(await presence.getMetrics(), /^presenced_ready 1$/m);
  assert.match(await presence.getOpenapi(), /^openapi: 3/);
  presence.close();
});

test('TypeScript: webhooks as the server signs them are believed, and no others', { skip: !helpers }, async () => {
  const { verifyWebhook, WebhookError } = helpers;
  await until(() => receiver.calls.length > 0, 'a call');
  for (const call of receiver.calls) {
    const headers = { 'webhook-id': call.id, 'webhook-timestamp': call.timestamp, 'webhook-signature': call.signature };
    assert.deepEqual(verifyWebhook({ body: call.body, headers, secrets: [newSecret(), secret] }).events, call.events);
    assert.throws(() => verifyWebhook({ body: call.body, headers, secrets: newSecret() }), WebhookError);
  }
});

test('Python: the same calls, and tokens by a key', async () => {
  const got = JSON.parse(await runPython('tests/live.py', server.httpUrl, server.key, server.secret));
  assert.deepEqual(got, {
    beat: ['intervalMs', 'serverTime', 'sessionId', 'ttlMs'],
    online: 'online',
    declared: { status: 'busy', customStatus: { text: 'Zürich' } },
    polled: 'busy',
    stream: [['snapshot', 'online'], ['update', 'busy']],
    hidden: { userId: 'py-ada', status: 'offline', version: 0 },
    contacts: ['..', 'py-bo'],
    seen: ['busy', 'offline'],
    why: 'busy',
    dots: '..',
    ended: [],
    revoked: ['unauthorized', 401],
    erased: { status: 'auto' },
    nodes: 1,
  });
  const token = (await runPython('-c', `from presenced_server import *; print(mint_token("py-cy", sign=openssl_signer("${folder}/private.pem")))`)).trim();
  const answer = await fetch(`${server.httpUrl}/v1/users/py-cy/status`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 200);
});

test('Python: webhooks as the server signs them are believed', async () => {
  await until(() => receiver.calls.some(({ body }) => body.includes('py-ada')), 'a call');
  const call = receiver.calls.find(({ body }) => body.includes('py-ada'));
  writeFileSync(`${folder}/call.json`, JSON.stringify({ ...call, secret }));
  const said = await runPython('-c', `
import json
from presenced_server import verify_webhook
call = json.load(open("${folder}/call.json"))
headers = {"webhook-" + name: call[name] for name in ("id", "timestamp", "signature")}
print(json.dumps(verify_webhook(call["body"].encode(), headers, call["secret"])["events"] == call["events"]))`);
  assert.equal(said.trim(), 'true');
});

test('Python: its own tests', async () => {
  assert.match(await runPython('-m', 'unittest', 'discover', '-s', 'tests'), /^OK$/m);
});
