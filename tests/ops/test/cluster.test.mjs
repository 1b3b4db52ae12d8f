// `./dev cluster`: all of it on one machine, and nothing of it afterwards.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { hasPostgres } from '../../integration/lib/postgres.mjs';
import { until } from '../../integration/lib/server.mjs';
import { freePortsInARow } from '../lib/documents.mjs';
import { root } from '../lib/files.mjs';

const binary = process.env.PRESENCED_BIN ?? path.join(root, 'build/release/bin/presenced');
let folder;
before(() => { folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-dev-cluster-')); });
after(() => rmSync(folder, { recursive: true, force: true }));

/** Processes whose command line names the folder. */
const left = () => spawnSync('ps', ['-eo', 'args']).stdout.toString().split('\n').filter((line) => line.includes(`${folder}/presenced-cluster.`));

test('dev cluster: three nodes that know each other, each with the demo page; Ctrl-C ends all and leaves nothing', { skip: !hasPostgres && 'no PostgreSQL here', timeout: 120_000 }, async () => {
  const port = await freePortsInARow(3);
  spawnSync('chmod', ['755', folder]);  // For the user that PostgreSQL runs as.
  const script = spawn('bash', ['tools/cluster.sh', binary], { cwd: root, env: { ...process.env, TMPDIR: folder, FIRST_PORT: String(port) } });
  let said = '';
  for (const stream of [script.stdout, script.stderr]) stream.on('data', (bytes) => { said += bytes; });
  const exited = new Promise((resolve) => { script.once('exit', (code) => resolve(code)); });
  try {
    await until(() => /^ready cluster$/m.test(said), 'the cluster', 60_000).catch((error) => { throw new Error(`${error.message}: ${said.slice(-2000)}`); });
    for (let i = 0; i < 3; i++) {
      const at = `http://127.0.0.1:${port + i}`;
      const page = await fetch(`${at}/`);
      assert.equal(page.status, 200);
      assert.match(page.headers.get('content-type'), /text\/html/);
      await until(async () => {
        const stats = await (await fetch(`${at}/v1/stats`, { headers: { authorization: 'Bearer dev' } })).json();
        return stats.nodes === 3 && stats.exact;
      }, 'three nodes', 10_000);
    }
    assert.ok(left().some((line) => line.startsWith('redis-server') || line.includes('postgres')), 'what is looked for is not found');
  } finally {
    script.kill('SIGINT');
  }
  assert.equal(await exited, 130, said.slice(-2000));
  assert.deepEqual(left(), []);
  assert.deepEqual(existsSync(folder) ? readdirSync(folder) : [], []);
});
