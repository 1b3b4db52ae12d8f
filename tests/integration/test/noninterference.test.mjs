// DESIGN rule 26 as a property: what a viewer who may not see a subject receives, bytes and their order, does not
// depend on what the subject does. Two servers, one script of the viewer on each. In the one world the subject is
// hidden and silent, in the other hidden and as busy as can be. Server times and random names are masked.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { attach, endClients } from '../lib/client.mjs';
import { call, done, userPath } from '../lib/rest.mjs';
import { EventStream, endStreams } from '../lib/stream.mjs';
import { delay, startServer, until } from '../lib/server.mjs';

const worlds = [];
before(async () => { for (let i = 0; i < 2; ++i) worlds.push(await startServer({ set: { threads: '2' } })); });
after(async () => { endStreams(); endClients(); for (const server of worlds) await server.dispose(); });

/** Numbers from a seed: mulberry32. */
function randomFrom(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const mask = (text) => text
  .replace(/"(asOf|serverTime|at|since|expiresAt|retryAfterMs)":\d+/g, '"$1":0')
  .replace(/"(sessionId|resume)":"[^"]*"/g, '"$1":"x"');  // Cursors stay: they must be equal.

/** Ways in which the viewer does not see the subject. */
const ways = {
  'by a rule of nobody': (server, { subject }) => done(server, 'PUT', userPath(subject, '/privacy'), { body: { online: { mode: 'nobody' }, lastSeen: { mode: 'nobody' } } }),
  'by a rule for contacts': (server, { subject }) => done(server, 'PUT', userPath(subject, '/privacy'), { body: { online: { mode: 'contacts' } } }),
  'by a block': (server, { subject, viewer }) => done(server, 'PUT', userPath(subject, '/blocks'), { body: { users: [viewer] } }),
  'by being invisible': (server, { subject }) => done(server, 'PUT', userPath(subject, '/status'), { body: { status: 'invisible' } }),
  'by a block of its own': (server, { subject, viewer }) => done(server, 'PUT', userPath(viewer, '/blocks'), { body: { users: [subject] } }),
};

/** One thing that the subject does; none of them shows it to the viewer. */
async function act(server, { subject, viewer, room }, random, devices, way) {
  const pick = (list) => list[random(list.length)];
  const device = devices.length > 0 ? pick(devices) : undefined;
  const say = (message) => device?.send(message);
  const actions = [
    async () => { if (devices.length < 5) devices.push(await attach(server, subject, { hello: { device: { type: pick(['mobile', 'web', 'desktop']) }, activity: 'active' } })); },
    async () => { if (device) { devices.splice(devices.indexOf(device), 1); await pick([() => device.bye(), () => device.close(), () => device.reset()])(); } },
    async () => say({ type: 'status', customStatus: { text: `${random(1e9)}` } }),
    async () => say({ type: 'activity', state: pick(['active', 'idle']) }),
    async () => say({ type: 'status', status: pick(['away', 'busy', 'dnd', 'auto']), scope: 'session' }),
    async () => say({ type: 'signal', to: { userId: viewer }, kind: 'typing', active: true }),
    async () => call(server, 'POST', '/v1/heartbeat', { as: subject, body: { deviceId: `d${random(3)}`, activity: pick(['active', 'idle']) } }),
    async () => call(server, 'DELETE', `/v1/heartbeat?deviceId=d${random(3)}`, { as: subject }),
    async () => call(server, 'POST', userPath(subject, '/blocks'), { as: subject, body: { add: [`other-${random(5)}`] } }),
    async () => call(server, 'POST', userPath(subject, '/contacts'), { body: { add: [`friend-${random(5)}`] } }),
    async () => call(server, 'GET', userPath(viewer, '/presence'), { as: subject }),
    async () => say({ type: 'watch', users: [viewer] }),
    async () => say({ type: 'join', room, meta: { n: random(100) } }),
    async () => say({ type: 'join', room, observe: random(2) === 0, updates: random(2) === 0 }),
    async () => say({ type: 'leave', room }),
    async () => say({ type: 'signal', to: { room }, kind: 'typing', active: random(2) === 0 }),
    async () => call(server, 'GET', `/v1/rooms/${room}`, { as: subject }),
  ];
  if (way !== 'by being invisible') {
    actions.push(async () => call(server, 'PUT', userPath(subject, '/status'), { as: subject, body: { status: pick(['auto', 'away', 'busy', 'dnd', 'invisible']) } }));
    actions.push(async () => call(server, 'DELETE', userPath(subject, '/status'), { as: subject }));
  }
  await pick(actions)();
}

/** What the viewer does and gets; `meanwhile` runs between its steps. */
async function script(server, names, meanwhile) {
  const { viewer, subject, control, never, room } = names;
  const users = [subject, control, never];
  const record = [];
  const keep = (what, text) => record.push(`${what}: ${mask(text)}`);
  const rest = async (method, target, body, headers) => {
    const answer = await call(server, method, target, { as: viewer, body, headers });
    keep(`${method} ${target} ${answer.status} ${answer.headers.etag ?? ''}`, answer.text);
    return answer;
  };
  const w = await attach(server, viewer, { hello: { observe: true } });
  await w.watch(users);
  const r = await attach(server, viewer, { hello: { observe: true } });  // Who hears the room alone.
  await r.join(room, { observe: true });
  const stream = new EventStream(server, `/v1/stream?users=${users.join(',')}`, { as: viewer });
  await stream.begun;
  await stream.when(() => stream.events.length === 1, 'a snapshot');
  let { cursor } = (await rest('GET', `/v1/poll?users=${users.join(',')}`)).json;
  let seen = await attach(server, control, { hello: { device: { type: 'web' } } });
  for (const status of ['busy', 'away', 'dnd', 'online']) {
    await meanwhile();
    await delay(1150);  // The control's last change is told, so that the next is told by itself.
    const polling = rest('GET', `/v1/poll?users=${users.join(',')}&waitMs=5000&cursor=${cursor}`);
    await delay(30);
    await meanwhile();
    await seen.ask({ type: 'status', status });
    ({ cursor } = (await polling).json);
    await w.sees(control, status);
    await stream.sees(control, status);
    await rest('GET', userPath(subject, '/presence'));
    const { headers } = await call(server, 'GET', userPath(subject, '/presence'), { as: viewer });
    await rest('GET', userPath(subject, '/presence'), undefined, { 'if-none-match': headers.etag });
    await rest('POST', '/v1/presence/query', { users });
    if (r.rooms.get(room).members.has(control)) await r.when(() => r.rooms.get(room).members.get(control).status === status, 'the status in the room');
    await seen.join(room, { meta: { status } });
    await r.when(() => r.rooms.get(room).members.get(control)?.meta?.status === status, 'the meta');
    await meanwhile();
    const heard = r.next('signal');
    await seen.ask({ type: 'signal', to: { room }, kind: 'typing', active: true });
    await heard;
    await rest('GET', `/v1/rooms/${room}?limit=1`);
    await w.request({ type: 'get', users });
    await w.request({ type: 'signal', to: { userId: subject }, kind: 'typing', active: true });
    await w.request({ type: 'watch', users, mode: 'set', known: { [subject]: 0 } });
    await meanwhile();
  }
  await rest('GET', `/v1/poll?users=${subject},${never}&waitMs=300&cursor=${cursor}`);
  await rest('GET', userPath(subject, '/status'));
  await rest('GET', userPath(subject, '/sessions'));
  await delay(1200);
  await r.join(room, { observe: true });
  await seen.bye();
  seen = undefined;
  await w.sees(control, 'offline');
  await stream.sees(control, 'offline');
  await meanwhile();
  await r.when(() => r.rooms.get(room).count === 0, 'an empty room');
  await rest('GET', `/v1/rooms/${room}`);
  await delay(300);
  for (const { bytes } of w.received) keep('socket', bytes);
  for (const { bytes } of r.received) keep('socket in the room', bytes);
  await r.bye();
  // Comments come every 12 s whatever else does, so where they stand tells how fast the machine is.
  keep('stream', stream.bytes.replaceAll(': alive\n\n', ''));
  stream.close();
  await w.bye();
  return record;
}

describe('the bytes of one who may not see are the same, whatever the subject does', { concurrency: false }, () => {
  const seeds = (process.env.SEEDS ?? '1,2,3,4,5').split(',').map(Number);
  const kinds = Object.keys(ways);
  for (const seed of seeds) {
    const way = kinds[seed % kinds.length];
    test(`FO-048 FO-050 ${way}, seed ${seed}`, { timeout: 60_000 }, async () => {
      const names = Object.fromEntries(['viewer', 'subject', 'control', 'never', 'room'].map((who) => [who, `${who}-${seed}`]));
      const random = randomFrom(seed);
      const records = await Promise.all(worlds.map(async (server, world) => {
        await ways[way](server, names);
        if (world === 0) return script(server, names, async () => {});
        const devices = [];
        let acts = 0;
        let busy = true;
        const around = (async () => { while (busy) { await act(server, names, random, devices, way); ++acts; await delay(random(25)); } })();
        const record = await script(server, names, async () => { const from = acts; await until(() => acts > from + 2, 'the subject to act'); });
        busy = false;
        await around;
        for (const device of devices) await device.bye().catch(() => {});
        assert.ok(acts > 60, `the subject did only ${acts} things`);
        return record;
      }));
      assert.deepEqual(records[1], records[0]);
    });
  }
});

test('the comparison can fail: a subject that may be seen makes a difference', { timeout: 60_000 }, async () => {
  const names = { viewer: 'viewer-x', subject: 'subject-x', control: 'control-x', never: 'never-x', room: 'room-x' };
  const records = await Promise.all(worlds.map(async (server, world) => {
    const device = world === 1 ? await attach(server, names.subject) : undefined;
    const record = await script(server, names, async () => {});
    await device?.bye();
    return record;
  }));
  assert.notDeepEqual(records[1], records[0]);
});
