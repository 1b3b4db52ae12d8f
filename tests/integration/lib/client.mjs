// A WebSocket client on the `ws` package, which knows nothing of this server. It keeps what a
// client library would keep, records everything, and notes each breach of the contract it sees.
import assert from 'node:assert/strict';
import { WebSocket } from 'ws';
import { delay, interval } from './server.mjs';
import { tokenFor } from './tokens.mjs';
import { breachesOf } from './contract.mjs';

let counter = 0;
/** A user id that nobody had before. */
export const fresh = (name = 'user') => `${name}-${process.pid}-${++counter}`;

const open = new Set();

export class Client {
  /** Opens the socket; says nothing yet. */
  constructor(server, { protocols = ['presence.v1'], headers = {}, path = '', beat = true, ...options } = {}) {
    this.server = server;
    this.received = [];     // every message, with the time it came
    this.breaches = [];     // what the contract forbids
    this.state = new Map(); // userId -> presence, as a client library keeps it
    this.rooms = new Map(); // room -> {count, members}
    this.waiters = new Set();
    this.nextId = 1;
    this.beatsWanted = beat;
    this.socket = new WebSocket(server.wsUrl + path, protocols, { headers, perMessageDeflate: false, ...options });
    this.opened = new Promise((resolve, reject) => {
      this.socket.once('open', resolve);
      this.socket.once('error', reject);
      this.socket.once('unexpected-response', (request, response) => {
        request.destroy();
        reject(Object.assign(new Error(`HTTP ${response.statusCode}`), { status: response.statusCode, headers: response.headers }));
      });
    });
    this.opened.catch(() => {});
    this.socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      this.socket.once('close', (code, reason) => {
        this.ended = { code, reason: reason.toString(), at: Date.now() };
        this.stopBeating();
        open.delete(this);
        this.wake();
        resolve(this.ended);
      });
    });
    this.socket.on('message', (data, binary) => this.take(data, binary));
    open.add(this);
  }

  take(data, binary) {
    const at = Date.now();
    if (binary) this.breaches.push('a binary message');
    let message;
    try {
      message = JSON.parse(data.toString());
    } catch {
      this.breaches.push(`no JSON: ${data.toString().slice(0, 200)}`);
      return;
    }
    const most = this.welcome?.limits?.messageBytes ?? 131072;
    if (data.length > most) this.breaches.push(`a message of ${data.length} bytes`);
    this.breaches.push(...breachesOf(message));
    this.received.push({ at, message, bytes: data.toString() });
    if (message.type === 'snapshot') for (const one of message.users) this.state.set(one.userId, one);
    if (message.type === 'update') this.apply(message.users);
    if (message.type === 'room') this.takeRoom(message);
    if (message.type === 'roomUpdate') this.applyToRoom(message);
    this.wake();
  }

  apply(users) {
    for (const one of users) {
      const held = this.state.get(one.userId);
      if (held && one.version !== 0 && one.version < held.version) {
        this.breaches.push(`version of ${one.userId} went back from ${held.version} to ${one.version}`);
      }
      this.state.set(one.userId, one);
    }
  }

  /** A `room` replaces what was held; one in parts takes effect at its end. */
  takeRoom(message) {
    const parts = (this.roomParts ??= new Map());
    const members = [...(parts.get(message.room) ?? []), ...(message.members ?? [])];
    if (message.more) { parts.set(message.room, members); return; }
    parts.delete(message.room);
    const listed = message.members !== undefined;
    this.rooms.set(message.room, { count: message.count, members: listed ? new Map(members.map((one) => [one.userId, one])) : undefined });
    this.checkRoom(message);
  }

  applyToRoom(message) {
    const held = this.rooms.get(message.room);
    if (!held) { this.breaches.push(`roomUpdate of ${message.room}, which was not joined`); return; }
    held.count = message.count;
    for (const one of message.joined ?? []) {
      if (held.members?.has(one.userId)) this.breaches.push(`${one.userId} joined ${message.room} twice`);
      held.members?.set(one.userId, one);
    }
    for (const one of message.changed ?? []) {
      if (!held.members?.has(one.userId)) this.breaches.push(`${one.userId} changed in ${message.room} without being there`);
      held.members?.set(one.userId, one);
    }
    for (const user of message.left ?? []) {
      if (!held.members?.delete(user)) this.breaches.push(`${user} left ${message.room} without being there`);
    }
    this.checkRoom(message);
  }

  checkRoom(message) {
    const held = this.rooms.get(message.room);
    if (held.members && !message.more && held.members.size !== message.count) {
      this.breaches.push(`${message.room} has ${held.members.size} members and count ${message.count}`);
    }
  }

  /** The user ids in a room as this client holds it, sorted. */
  inRoom(room) { return [...(this.rooms.get(room)?.members?.keys() ?? [])].sort(); }

  /** Joins and gives the `room`. */
  async join(room, more = {}) { return this.ask({ type: 'join', room, ...more }, 'room'); }

  wake() { for (const waiter of [...this.waiters]) waiter(); }

  /** Waits until `probe` gives something other than undefined, false or null. */
  async when(probe, what, timeoutMs = 5000) {
    const first = probe();
    if (first !== undefined && first !== false && first !== null) return first;
    return new Promise((resolve, reject) => {
      const finish = (settle, value) => { clearTimeout(timer); this.waiters.delete(waiter); settle(value); };
      const waiter = () => {
        const value = probe();
        if (value !== undefined && value !== false && value !== null) finish(resolve, value);
        else if (this.ended) finish(reject, new Error(`closed ${this.ended.code} "${this.ended.reason}" while waiting for ${what}`));
      };
      const timer = setTimeout(() => finish(reject, new Error(
        `waited ${timeoutMs} ms in vain for ${what}; last: ${JSON.stringify(this.received.slice(-4).map((r) => r.message))}`)), timeoutMs);
      this.waiters.add(waiter);
      waiter();
    });
  }

  sendRaw(text) { this.socket.send(text); }
  send(message) { this.sendRaw(JSON.stringify(message)); }

  /** Sends with an id and gives the answer; a snapshot in parts is given as one. */
  async request(message, timeoutMs = 5000) {
    const id = this.nextId++;
    const from = this.received.length;
    this.send({ ...message, id });
    return this.when(() => {
      const parts = this.received.slice(from).map((r) => r.message).filter((m) => m.id === id);
      if (parts.length === 0 || parts.at(-1).more) return undefined;
      if (parts.length === 1) return parts[0];
      const whole = { ...parts.at(-1) };
      for (const list of ['users', 'members']) {
        if (parts.some((part) => part[list])) whole[list] = parts.flatMap((part) => part[list] ?? []);
      }
      return whole;
    }, `the answer to ${message.type}`, timeoutMs);
  }

  /** A request that must be answered with that type. */
  async ask(message, type = 'ack') {
    const answer = await this.request(message);
    assert.equal(answer.type, type, JSON.stringify(answer));
    return answer;
  }

  /** A request that must be refused with that code. */
  async refused(message, code = 'badRequest') {
    const answer = await this.request(message);
    assert.equal(answer.type, 'error', `${JSON.stringify(message).slice(0, 300)} gave ${JSON.stringify(answer).slice(0, 300)}`);
    assert.equal(answer.code, code, JSON.stringify(answer));
    return answer;
  }

  async hello(fields = {}) {
    await this.opened;
    const answer = await this.request({ type: 'hello', ...fields });
    if (answer.type !== 'welcome') throw Object.assign(new Error(`hello: ${JSON.stringify(answer)}`), { answer });
    this.welcome = answer;
    this.user = answer.userId;
    if (this.beatsWanted) this.startBeating();
    return answer;
  }

  startBeating(everyMs = interval * 0.7) {
    this.stopBeating();
    this.timer = setInterval(() => { if (this.socket.readyState === WebSocket.OPEN) this.socket.pong(); }, everyMs);
  }

  stopBeating() { clearInterval(this.timer); }

  /** Watches and gives the snapshot. */
  async watch(users, more = {}) { return this.ask({ type: 'watch', users, ...more }, 'snapshot'); }

  /** The first message from now on (or from `from` on) that `matches`. */
  async next(matches, { from = this.received.length, timeoutMs = 5000, what = 'a message' } = {}) {
    const test = typeof matches === 'string' ? (message) => message.type === matches : matches;
    return this.when(() => this.received.slice(from).map((r) => r.message).find(test), what, timeoutMs);
  }

  /** Waits until the presence of `user` that this client holds is as wanted. */
  async sees(user, wanted, timeoutMs = 5000) {
    const test = typeof wanted === 'string' ? (one) => one.status === wanted : wanted;
    return this.when(() => {
      const one = this.state.get(user);
      return one && test(one) ? one : undefined;
    }, `${user} to be ${wanted}, is ${JSON.stringify(this.state.get(user))}`, timeoutMs);
  }

  /** What was told about `user` by updates, in order, from a place in `received` on. */
  told(user, from = 0) {
    return this.received.slice(from).filter((r) => r.message.type === 'update')
      .flatMap((r) => r.message.users.filter((one) => one.userId === user).map((one) => ({ ...one, receivedAt: r.at })));
  }

  /** Nothing about `user` comes within that time. */
  async hearsNothing(user, ms) {
    const from = this.received.length;
    await delay(ms);
    assert.deepEqual(this.told(user, from), [], `${this.user} heard of ${user}`);
  }

  async closedWith(code, word, timeoutMs = 5000) {
    const end = await Promise.race([this.closed, delay(timeoutMs)]);
    assert.ok(end, `not closed within ${timeoutMs} ms, expected ${code} ${word}`);
    assert.equal(end.code, code, JSON.stringify(end));
    if (word) assert.ok(end.reason.split(/[\s:]/)[0] === word, `close reason "${end.reason}", expected ${word}`);
    return end;
  }

  /** Signs out. */
  async bye() { this.send({ type: 'bye' }); return this.closedWith(1000, 'bye'); }

  /** Closes with a Close frame, which is no goodbye. */
  async close(code = 1000) { this.stopBeating(); this.socket.close(code); return this.closed; }

  /** Cuts the connection: an RST. */
  async reset() { this.stopBeating(); this.socket._socket?.resetAndDestroy(); return this.closed; }

  /** Stops sending and reading, while TCP stays up. */
  goSilent() { this.stopBeating(); this.socket.pause(); this.silent = true; }
}

/** Opens, says hello as `user`, and beats. */
export async function attach(server, user, { hello = {}, claims, token, ...options } = {}) {
  const client = new Client(server, options);
  await client.hello({ token: token ?? tokenFor(user, claims, { secret: server.secret }), device: { type: 'desktop' }, ...hello });
  return client;
}

/** A watcher of `users`, not itself present. */
export async function watcher(server, users, { name = 'watcher', ...options } = {}) {
  const client = await attach(server, fresh(name), { hello: { observe: true }, ...options });
  await client.watch(users);
  return client;
}

/** For afterEach: no client has seen a breach; all sockets are gone. */
export function endClients() {
  const breaches = [];
  for (const client of open) {
    breaches.push(...client.breaches);
    client.stopBeating();
    client.socket.terminate();
  }
  open.clear();
  assert.deepEqual(breaches, [], 'breaches of the contract');
}
