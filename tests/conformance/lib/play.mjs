// Plays a case and holds what came against what had to come.
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { tokenFor } from '../../integration/lib/tokens.mjs';
import { beat, text } from './frames.mjs';
import { Peer } from './peer.mjs';

/** Steps of a long stream that is to come in crumbs; byte by byte would take minutes. */
const mostWrites = 4000;

/** Messages around the case, to see what stands before it and whether the connection lives on. */
const before = 9001;
const after = 9002;

const deliveries = {
  'frame by frame': async (peer, frames) => {
    for (const one of frames) {
      if (peer.ended) return;
      await peer.write(one);
      await setImmediate();
    }
  },
  'byte by byte': async (peer, frames) => {
    const bytes = Buffer.concat(frames);
    const step = Math.ceil(bytes.length / mostWrites);
    for (let at = 0; at < bytes.length && !peer.ended; at += step) {
      await peer.write(bytes.subarray(at, at + step));
      await setImmediate();
    }
  },
  'in one packet': async (peer, frames) => { await peer.write(Buffer.concat([text(beat(before)), ...frames])); },
};

let people = 0;

/** A peer that has its welcome. */
export async function welcomed(server) {
  const peer = new Peer(server);
  assert.equal(await peer.open(), 101);
  await peer.write(text(JSON.stringify({ type: 'hello', id: 1, token: tokenFor(`peer-${++people}`) })));
  await peer.until(() => peer.record.length > 0);
  assert.deepEqual(peer.record.splice(0), ['welcome 1']);
  return peer;
}

/** Whether the server ends the connection after this line. */
const isClose = (line) => /^close( |$)/.test(line);

async function play(server, { send, expect, closes = false }, delivery) {
  const peer = await welcomed(server);
  try {
    peer.saidClose = closes;
    const expected = delivery === 'in one packet' ? [`heartbeatAck ${before}`, ...expect] : [...expect];
    const ends = isClose(expected.at(-1) ?? '');
    await deliveries[delivery](peer, typeof send === 'function' ? send() : send);
    if (ends) expected.push('end');
    else {
      await peer.write(text(beat(after)));
      expected.push(`heartbeatAck ${after}`);
    }
    await peer.until(() => peer.record.at(-1) === expected.at(-1) || (ends && peer.ended));
    // What was still on its way to a server that has closed makes the kernel reset the connection.
    const got = peer.record.map((line) => (line === 'reset' ? 'end' : line));
    assert.deepEqual(got, expected);
  } finally {
    peer.destroy();
  }
}

/**
 * A test of each case in each delivery.
 *
 * A case: `id`, `what`; `send`, its frames, or a function that makes them; `expect`, all that comes back, where a Close stands for the end of the connection,
 * too, and its absence for a connection that goes on; `closes`: the case itself sends a Close; `only`: these deliveries.
 */
export function playAll(held, cases) {
  for (const { id, what, only = Object.keys(deliveries), ...rest } of cases) {
    for (const delivery of only) {
      test(`${id} ${what}, ${delivery}`, async () => { await play(held.server, rest, delivery); });
    }
  }
}
