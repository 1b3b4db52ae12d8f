// A real Redis Cluster of a test's own: three masters with a replica each, on loopback.
import { spawnSync } from 'node:child_process';
import { freePort, startRedis } from './redis.mjs';
import { until } from './server.mjs';

export const slotCount = 16_384;

/** The slot of a key: CRC16 (XMODEM) of its hash tag. */
export function slotOf(key) {
  const bytes = Buffer.from(key);
  const from = bytes.indexOf('{');
  const to = from < 0 ? -1 : bytes.indexOf('}', from + 1);
  const hashed = to > from + 1 ? bytes.subarray(from + 1, to) : bytes;
  let crc = 0;
  for (const byte of hashed) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % slotCount;
}

export class RedisCluster {
  /** `tls`, a file of the certificate and one of its key: all but these tests speak to it over TLS, its servers among themselves too. */
  static async start({ tls } = {}) {
    const cluster = new RedisCluster();
    cluster.tls = tls;
    const secured = async () => (tls ? ['--tls-port', await freePort(), '--tls-cert-file', tls.certificate, '--tls-key-file', tls.key,
                                        '--tls-ca-cert-file', tls.certificate, '--tls-auth-clients', 'no', '--tls-cluster', 'yes', '--tls-replication', 'yes'] : []);
    cluster.servers = await Promise.all(Array.from({ length: 6 }, async () => startRedis(
      ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1500', '--cluster-replica-validity-factor', '0', ...await secured()])));
    const made = spawnSync('redis-cli', [...tls ? ['--tls', '--cacert', tls.certificate] : [], '--cluster', 'create', ...cluster.addresses,
                                         '--cluster-replicas', '1', '--cluster-yes']);
    if (made.status !== 0) throw new Error(`redis-cli: ${made.stdout}${made.stderr}`);
    await cluster.whole();
    for (const one of cluster.servers) one.id = await one.command('CLUSTER', 'MYID');
    return cluster;
  }

  /** Where nodes reach its servers. */
  get addresses() { return this.servers.map((one) => `127.0.0.1:${this.tls ? one.options[one.options.indexOf('--tls-port') + 1] : one.port}`); }

  get url() { return `${this.tls ? 'rediss' : 'redis'}-cluster://${this.addresses.join(',')}${this.tls ? `?ca=${this.tls.certificate}` : ''}`; }

  get running() { return this.servers.filter((one) => one.running); }

  /** Waits until every server that runs sees all slots served and every replica is in step. */
  async whole(timeoutMs = 30_000) {
    await until(async () => {
      const each = await Promise.all(this.running.map(async (one) => {
        const info = await one.command('CLUSTER', 'INFO').catch(() => '');
        const role = await one.command('ROLE').catch(() => []);
        return /cluster_state:ok/.test(info) && /cluster_known_nodes:6/.test(info) &&
               /cluster_slots_ok:16384/.test(info) && (role[0] === 'master' || role[3] === 'connected') ? role[0] : undefined;
      }));
      return each.every(Boolean) && each.filter((role) => role === 'master').length === 3;
    }, 'a whole cluster', timeoutMs);
  }

  async masters() {
    const roles = await Promise.all(this.running.map((one) => one.command('ROLE').catch(() => [])));
    return this.running.filter((_, i) => roles[i]?.[0] === 'master');
  }

  async masterOf(slot) {
    const [asked] = await this.masters();
    const ranges = await asked.command('CLUSTER', 'SLOTS');
    const [, , [, port]] = ranges.find(([first, last]) => first <= slot && slot <= last);
    return this.servers.find((one) => one.port === port);
  }

  async replicasOf(master) {
    const roles = await Promise.all(this.running.map((one) => one.command('ROLE').catch(() => [])));
    return this.running.filter((_, i) => roles[i]?.[0] === 'slave' && roles[i][2] === master.port);
  }

  /** Moves a slot as redis-cli does it: key by key, while it is in use. */
  async moveSlot(slot, to) {
    const from = await this.masterOf(slot);
    if (from === to) return;
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
    for (;;) {
      const keys = await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 50);
      if (keys.length === 0) break;
      await from.command('MIGRATE', '127.0.0.1', to.port, '', 0, 5000, 'KEYS', ...keys.map((key) => Buffer.from(key, 'latin1')));
    }
    for (const one of [to, from, ...await this.masters()]) await one.command('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
  }

  async withoutTtl() {
    return (await Promise.all((await this.masters()).map((one) => one.withoutTtl()))).flat();
  }

  async dispose() { await Promise.all(this.servers.map((one) => one.dispose())); }
}
