// A receiver of webhooks: a real HTTP server that checks each call by the letter of Standard
// Webhooks, with nothing of ours, and answers as it is told.
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import http from 'node:http';
import { until } from './server.mjs';

export const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

/** What a receiver that knows `secret` would say of a call. */
export function verifies(call, secret) {
  const signed = `${call.id}.${call.timestamp}.${call.body}`;
  const wanted = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64')).update(signed).digest('base64');
  return call.signature.split(' ').includes(`v1,${wanted}`);
}

export class Receiver {
  constructor(secret) { this.secret = secret; this.calls = []; this.answer = () => 200; }

  async listen() {
    this.server = http.createServer((request, response) => {
      const parts = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', async () => {
        const call = {
          at: Date.now(), path: request.url, method: request.method,
          id: request.headers['webhook-id'], timestamp: request.headers['webhook-timestamp'],
          signature: request.headers['webhook-signature'], type: request.headers['content-type'],
          body: Buffer.concat(parts).toString(),
        };
        call.events = JSON.parse(call.body).events;
        this.calls.push(call);
        const answer = await this.answer(call, request, response);
        if (answer === undefined) return;  // It has seen to that itself.
        call.status = answer.status ?? answer;
        response.writeHead(call.status, answer.headers ?? {});
        response.end(answer.body ?? '');
      });
      request.on('error', () => {});
    });
    this.server.on('clientError', (error, socket) => socket.destroy());
    await new Promise((resolve) => { this.server.listen(this.port ?? 0, '127.0.0.1', resolve); });
    this.port = this.server.address().port;
    return this;
  }

  get url() { return `http://127.0.0.1:${this.port}/hook`; }

  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => { this.server.close(resolve); });
  }

  /** Each call is signed, fresh, and JSON. */
  check() {
    for (const call of this.calls) {
      assert.equal(call.method, 'POST');
      assert.match(call.type, /^application\/json/);
      assert.ok(verifies(call, this.secret), `a signature that does not hold: ${call.signature}`);
      assert.ok(Math.abs(Number(call.timestamp) * 1000 - call.at) < 5000, 'a stale timestamp');
      assert.match(call.id, /^msg_[\w-]{20,}$/);
      for (const event of call.events) assert.match(event.id, /^evt_[\w-]{20,}$/);
    }
  }

  /** Events that were taken (answered 2xx), in order, each id once. */
  taken(user) {
    const seen = new Set();
    return this.calls.filter((call) => call.status >= 200 && call.status < 300).flatMap((call) => call.events)
      .filter((event) => !seen.has(event.id) && seen.add(event.id))
      .filter((event) => user === undefined || event.userId === user);
  }

  async types(user, count, timeoutMs = 6000) {
    await until(() => this.taken(user).length >= count, `${count} events of ${user}, has ${JSON.stringify(this.taken(user))}`, timeoutMs);
    return this.taken(user).map((event) => event.type);
  }
}
