// What every test file needs: a server for the file, and clean hands after each test.
import { after, afterEach, before } from 'node:test';
import { endClients } from './client.mjs';
import { startServer } from './server.mjs';

/** Whether tests may take minutes: `./dev test --all` says so, else they are cut down. (PRESENCED_… are keys of the server.) */
export const long = process.env.LONG_TESTS === '1';

/** Starts one server for all tests of a file; gives a holder whose `server` is set by then. */
export function withServer(options = {}) {
  const holder = {};
  before(async () => { holder.server = await startServer(options); });
  afterEach(() => {
    endClients();
    if (holder.server?.exit) {
      throw new Error(`the server ended: ${JSON.stringify(holder.server.exit)}\n${holder.server.stderr.slice(-3000)}`);
    }
  });
  after(async () => { await holder.server?.dispose(); });
  return holder;
}
