// An event stream as a client reads it, on Node's own HTTP: events, comments, retry, and its end.
import http from 'node:http';
import { tokenFor } from './tokens.mjs';

const open = new Set();

export class EventStream {
  constructor(server, target, { as, headers = {} } = {}) {
    this.events = [];    // { event, id, data }, data parsed
    this.comments = [];
    this.bytes = '';
    this.pending = '';
    this.waiters = new Set();
    this.begun = new Promise((resolve, reject) => {
      this.request = http.request({
        host: '127.0.0.1', port: server.port, path: target, agent: false,
        headers: { accept: 'text/event-stream',
                   ...(as === undefined ? {} : { authorization: `Bearer ${tokenFor(as, {}, { secret: server.secret })}` }),
                   ...headers },
      }, (response) => {
        this.response = response;
        this.status = response.statusCode;
        this.headers = response.headers;
        response.setEncoding('utf8');
        response.on('data', (text) => this.take(text));
        response.on('close', () => { this.ended = true; this.wake(); });
        resolve(this);
      });
      this.request.on('error', (error) => { this.ended = true; this.wake(); reject(error); });
      this.request.end();
    });
    this.begun.catch(() => {});
    open.add(this);
  }

  take(text) {
    this.bytes += text;
    this.pending += text;
    for (let end; (end = this.pending.indexOf('\n\n')) >= 0;) {
      this.block(this.pending.slice(0, end));
      this.pending = this.pending.slice(end + 2);
    }
    this.wake();
  }

  block(text) {
    const event = {};
    for (const line of text.split('\n')) {
      if (line.startsWith(':')) { this.comments.push({ at: Date.now(), text: line.slice(1).trim() }); continue; }
      const [, field, value] = /^(\w+): ?([^]*)$/.exec(line) ?? [null, 'odd', line];
      if (field === 'retry') this.retry = Number(value); else event[field] = value;
    }
    if (event.data !== undefined) this.events.push({ ...event, data: JSON.parse(event.data) });
  }

  wake() { for (const waiter of [...this.waiters]) waiter(); }

  async when(probe, what, timeoutMs = 5000) {
    return new Promise((resolve, reject) => {
      const finish = (settle, value) => { clearTimeout(timer); this.waiters.delete(waiter); settle(value); };
      const waiter = () => { const value = probe(); if (value) finish(resolve, value); };
      const timer = setTimeout(() => finish(reject, new Error(
        `waited ${timeoutMs} ms in vain for ${what}; status ${this.status}, got ${this.bytes.slice(-500)}`)), timeoutMs);
      this.waiters.add(waiter);
      waiter();
    });
  }

  /** The newest presence of `user` that was told. */
  last(user) {
    return this.events.flatMap((event) => event.data.users).filter((one) => one.userId === user).at(-1);
  }

  sees(user, status, timeoutMs) {
    return this.when(() => this.last(user)?.status === status && this.last(user), `${user} to be ${status}`, timeoutMs);
  }

  end(timeoutMs) { return this.when(() => this.ended, 'the end', timeoutMs); }
  close() { this.request.destroy(); open.delete(this); }
}

/** Opens a stream and waits for its snapshot. */
export async function openStream(server, target, options) {
  const stream = new EventStream(server, target, options);
  await stream.begun;
  await stream.when(() => stream.status !== 200 || stream.events.length > 0, 'a snapshot');
  return stream;
}

/** For afterEach. */
export function endStreams() { for (const stream of open) stream.close(); }
