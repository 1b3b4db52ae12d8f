// Stands between a node and a Redis, holds up what it answers, and takes away what the node listens to without a word of it.
import net from 'node:net';
import { readValue } from './redis.mjs';

export class RedisProxy {
  static async start(redis) {
    const proxy = new RedisProxy();
    proxy.connections = new Set();
    proxy.server = net.createServer((client) => proxy.take(client, redis.port));
    await new Promise((resolve) => { proxy.server.listen(0, '127.0.0.1', resolve); });
    proxy.port = proxy.server.address().port;
    return proxy;
  }

  get url() { return `redis://127.0.0.1:${this.port}`; }

  take(client, port) {
    const server = net.connect({ port, host: '127.0.0.1', noDelay: true });
    const one = { client, server, listens: false, swallows: false, deaf: false, hears: new Set(), asked: '', held: '' };
    this.connections.add(one);
    client.setNoDelay(true);
    client.on('data', (data) => {
      one.listens ||= data.includes('SSUBSCRIBE');
      if (one.deaf) this.note(one, data);
      if (!one.swallows) server.write(data);
    });
    server.on('data', (data) => { if (!one.swallows) this.answer(one, data); });
    const end = () => { this.connections.delete(one); client.destroy(); server.destroy(); };
    for (const socket of [client, server]) socket.on('close', end).on('error', end);
  }

  /** Which channels are subscribed to anew. */
  note(one, data) {
    one.asked += data.toString('latin1');
    for (let read = readValue(one.asked); read; read = readValue(one.asked)) {
      const [words, rest] = read;
      one.asked = rest;
      if (words?.[0] === 'SSUBSCRIBE') for (const channel of words.slice(1)) one.hears.add(channel);
    }
  }

  answer(one, data) {
    if (!one.listens) { this.later(one, data); return; }
    one.held += data.toString('latin1');
    for (let read = readValue(one.held); read; read = readValue(one.held)) {
      const [value, rest] = read;
      const bytes = one.held.slice(0, one.held.length - rest.length);
      one.held = rest;
      if (!(one.deaf && value?.[0] === 'smessage' && !one.hears.has(value[1]))) one.client.write(Buffer.from(bytes, 'latin1'));
    }
  }

  /** Answers to commands come that much later from now on, in their order. */
  hold(ms) { this.heldMs = ms; }

  later(one, data) {
    const due = Math.max(Date.now() + (this.heldMs ?? 0), one.due ?? 0);
    one.due = due;
    if (due <= Date.now()) { one.client.write(data); return; }
    setTimeout(() => one.client.write(data), due - Date.now());
  }

  /** Connections that listen now stay open, and nothing comes through them any more. */
  swallow() { return this.change((one) => { one.swallows = true; }); }

  /** They answer, but bring no messages of a channel until somebody subscribes to it again. */
  deafen() { return this.change((one) => { one.deaf = true; one.hears.clear(); }); }

  change(how) {
    const listening = [...this.connections].filter((one) => one.listens);
    listening.forEach(how);
    return listening.length;
  }

  async dispose() {
    for (const one of this.connections) { one.client.destroy(); one.server.destroy(); }
    await new Promise((resolve) => { this.server.close(resolve); });
  }
}
