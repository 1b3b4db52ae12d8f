import type { Clock } from "./clock.js";

/** The server's time, by what it told last. This machine's clock may be wrong by years. */
export interface ServerClock {
  set(serverTime: number): void;
  now(): number;
}

export function makeServerClock(clock: Clock): ServerClock {
  let offsetMs = 0;
  return {
    set: (serverTime) => (offsetMs = serverTime - clock.now()),
    now: () => clock.now() + offsetMs,
  };
}
