// One server for all cases of a file.
import { after, afterEach, before } from 'node:test';
import { startServer } from '../../integration/lib/server.mjs';

/** Beats so far apart that no Ping of the server's comes between what a case is about. */
const quiet = { 'heartbeat.interval': '30s', 'heartbeat.ttl': '100s' };

/** Gives a holder whose `server` is set when the first test runs. It has to outlive every case. */
export function holdServer() {
  const held = {};
  before(async () => { held.server = await startServer({ set: quiet }); });
  afterEach(() => {
    if (held.server.exit) throw new Error(`the server ended: ${JSON.stringify(held.server.exit)}\n${held.server.stderr.slice(-3000)}`);
  });
  after(async () => { await held.server?.dispose(); });
  return held;
}
