import { systemClock, type Clock } from "./clock.js";

/** Runs in the worker: a timer for each number, told back when it is due. */
const WORKER_SOURCE = `const timers = new Map();
onmessage = ({ data: [id, delay] }) => {
  clearTimeout(timers.get(id));
  timers.delete(id);
  if (delay >= 0) {
    timers.set(id, setTimeout(() => { timers.delete(id); postMessage(id); }, delay));
  }
};`;

/**
 * A clock whose timers run in a worker, since browsers hold back those of a hidden page to one wake-up
 * a minute. Needed only where the server's ttl is so short that its Pings, which a browser answers by
 * itself, cannot be counted on; `stop` ends the worker.
 *
 * The page's policy must allow `worker-src blob:`; where there are no workers it is the system clock.
 */
export function workerClock(): Clock & { stop(): void } {
  if (typeof Worker === "undefined") {
    return { ...systemClock, stop: () => {} };
  }
  const url = URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" }));
  const worker = new Worker(url);
  URL.revokeObjectURL(url);
  const pending = new Map<number, () => void>();
  let lastId = 0;
  worker.onmessage = ({ data }: MessageEvent<number>) => {
    const run = pending.get(data);
    pending.delete(data);
    run?.();
  };
  return {
    now: systemClock.now,
    setTimer(run, delayMs) {
      const id = ++lastId;
      pending.set(id, run);
      worker.postMessage([id, Math.max(0, delayMs)]);
      return id;
    },
    clearTimer(handle) {
      if (pending.delete(handle as number)) {
        worker.postMessage([handle, -1]);
      }
    },
    stop() {
      pending.clear();
      worker.terminate();
    },
  };
}
