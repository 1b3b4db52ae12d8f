// A real Prometheus of a test's own, with the rules and the configuration that are shipped.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { freePort } from '../../integration/lib/redis.mjs';
import { until } from '../../integration/lib/server.mjs';
import { has, yaml } from './files.mjs';

export const hasPrometheus = has('prometheus');

export class Prometheus {
  /**
   * Looks at `targets` (`host:port`) each second.
   * @param patient  false: an alert fires as soon as its expression holds. How long it has to hold is what
   *                 `promtool test rules` is for.
   */
  static async start(targets, { patient = true } = {}) {
    const one = new Prometheus();
    one.folder = mkdtempSync(path.join(os.tmpdir(), 'presenced-prometheus-'));
    const rules = yaml('deploy/prometheus/alerts.yml');
    if (!patient) for (const rule of rules.groups.flatMap((group) => group.rules)) delete rule.for;
    writeFileSync(path.join(one.folder, 'alerts.yml'), stringify(rules));
    const config = yaml('deploy/prometheus/prometheus.yml');
    config.global = { scrape_interval: '1s', evaluation_interval: '1s' };
    config.rule_files = ['alerts.yml'];
    config.scrape_configs[0].static_configs[0].targets = targets;
    writeFileSync(path.join(one.folder, 'prometheus.yml'), stringify(config));
    const port = await freePort();
    one.url = `http://127.0.0.1:${port}`;
    one.child = spawn('prometheus', [`--config.file=${one.folder}/prometheus.yml`, `--storage.tsdb.path=${one.folder}/data`,
                                     `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' });
    one.ended = new Promise((resolve) => { one.child.on('exit', resolve); });
    await until(async () => (await one.query('up{job="presenced"}'))?.data?.result.length === targets.length, 'a scrape', 30_000);
    return one;
  }

  /** The answer of a call, or nothing while it starts. */
  async ask(what) {
    const answer = await fetch(`${this.url}/api/v1/${what}`).catch(() => undefined);
    return answer?.ok || answer?.status === 400 ? answer.json() : undefined;
  }

  query(expression) { return this.ask(`query?query=${encodeURIComponent(expression)}`); }

  /** Those that fire: their labels. */
  async firing() {
    const alerts = (await this.ask('alerts'))?.data.alerts ?? [];
    return alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels);
  }

  async dispose() {
    this.child.kill('SIGKILL');
    await this.ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
