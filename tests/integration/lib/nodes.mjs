// Several nodes of the real binary on one store, and what the tests of them ask again and again.
import assert from 'node:assert/strict';
import { watcher } from './client.mjs';
import { delay, startServer, until } from './server.mjs';

export class Nodes {
  constructor(set) { this.set = { 'database.url': 'memory:', ...set }; this.all = []; }

  async start({ set = {}, ...options } = {}) {
    const node = await startServer({ ...options, set: { ...this.set, ...set } });
    this.all.push(node);
    return node;
  }

  startMany(count, options) { return Promise.all(Array.from({ length: count }, () => this.start(options))); }

  /** kill -9, meant. */
  async kill(node) { node.killedByTest = true; await node.kill(); }

  /** Ends all; none may have ended by itself. */
  async dispose() {
    for (const node of this.all.splice(0)) {
      if (!node.killedByTest) assert.equal(node.exit, undefined, node.stderr.slice(-3000));
      await node.dispose();
    }
  }
}

/** What `w` was told about `user`, status by status. */
export const statuses = (w, user) => w.told(user).map((one) => one.status);

/** Whom of `users` any of the watchers was ever told to be offline, by name. */
export const shownOffline = (watchers, users) => users.filter((user) => watchers.some((w) => statuses(w, user).includes('offline')));

/**
 * Waits until all watchers, and people who come to look on each of the nodes, hold what `wanted` says
 * (a map from user to status), with one version a user. Who looked on while the store lost something may
 * hold a lower one than who comes later: what is stated again is raised, and not told where nothing changed.
 */
export async function allAgree(nodes, watchers, wanted, timeoutMs = 10_000) {
  const end = Date.now() + timeoutMs;
  const users = [...wanted.keys()];
  const wrong = (w) => users.filter((user) => w.state.get(user)?.status !== wanted.get(user));
  const listed = (w) => wrong(w).slice(0, 5).map((user) => `${user} is ${w.state.get(user)?.status}, not ${wanted.get(user)}`);
  await until(() => watchers.every((w) => wrong(w).length === 0), 'the watchers to agree', timeoutMs)
    .catch((error) => { throw new Error(`${error.message}: ${JSON.stringify(watchers.map(listed))}`); });
  const versions = (w) => users.map((user) => w.state.get(user).version);
  for (;;) {
    const late = await Promise.all(nodes.map((node) => watcher(node, users, { name: 'late' })));
    const problems = late.flatMap(listed);
    const newest = versions(late[0]);
    if (late.some((w) => JSON.stringify(versions(w)) !== JSON.stringify(newest))) problems.push('versions differ between nodes');
    if (watchers.some((w) => versions(w).some((version, i) => version > newest[i]))) problems.push('a watcher holds a newer version');
    if (problems.length === 0) return;
    if (Date.now() > end) throw new Error(`after ${timeoutMs} ms: ${JSON.stringify(problems.slice(0, 9))}`);
    await delay(100);
  }
}

/** People who change their session's status over and over, and remember what was acknowledged. */
export class Changers {
  constructor(clients) { this.clients = clients; this.said = new Map(clients.map((one) => [one.user, 'online'])); this.refused = 0; }

  begin(everyMs = 300) {
    this.going = true;
    this.done = Promise.all(this.clients.map(async (client, i) => {
      await delay((i * 37) % everyMs);
      for (let turn = 0; this.going; turn++) {
        const status = ['busy', 'away', 'online', 'dnd'][(turn + i) % 4];
        const answer = await client.request({ type: 'status', scope: 'session', status }, 15_000);
        if (answer.type === 'ack') this.said.set(client.user, status); else this.refused += 1;
        await delay(everyMs);
      }
    }));
  }

  async end() { this.going = false; await this.done; return this.said; }
}
