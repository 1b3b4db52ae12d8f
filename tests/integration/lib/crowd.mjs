// Thousands of light clients in a process of their own, so that the test that looks on is not held up by
// them: bare sockets that say hello, beat by Pongs without a Ping, and keep only what a resume needs.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const worker = fileURLToPath(new URL('crowd-worker.mjs', import.meta.url));
const open = new Set();

export class Crowd {
  constructor() {
    this.child = fork(worker, { serialization: 'advanced' });
    this.calls = new Map();
    this.ended = new Map();  // user -> close code; 0: the connection was lost
    this.nextCall = 1;
    this.child.on('message', (message) => {
      if (message.ended) { this.ended.set(message.ended, message.code); return; }
      const call = this.calls.get(message.call);
      this.calls.delete(message.call);
      if (message.error) call.reject(new Error(message.error)); else call.resolve(message.value);
    });
    this.gone = new Promise((resolve) => {
      this.child.once('exit', (code, signal) => {
        for (const { reject } of this.calls.values()) reject(new Error(`the crowd ended: ${code ?? signal}`));
        open.delete(this);
        resolve();
      });
    });
    open.add(this);
  }

  ask(what, fields) {
    const call = this.nextCall++;
    return new Promise((resolve, reject) => {
      this.calls.set(call, { resolve, reject });
      this.child.send({ call, what, ...fields });
    });
  }

  /**
   * Opens a connection for each of `users`, `atOnce` of them at a time, and lets each beat.
   * @param resume  user -> what an earlier welcome gave
   * @return  user -> {resume, resumed, at}, or {error, retryAfterMs, tookMs} for who was refused
   */
  async attach(server, users, { resume = new Map(), beatEveryMs = 700, atOnce = 50, perSecond } = {}) {
    return this.ask('attach', { port: server.port, users, resume, beatEveryMs, atOnce, perSecond });
  }

  /** All say goodbye, `perSecond` of them; gives user -> when it was said. */
  async bye(users, { perSecond = 1000 } = {}) { return this.ask('bye', { users, perSecond }); }

  async dispose() {
    this.child.kill('SIGKILL');
    await this.gone;
  }
}

/** For afterEach. */
export async function endCrowds() { for (const one of [...open]) await one.dispose(); }
