import { Timer, type Clock } from "./clock.js";
import type { Emitter } from "./emitter.js";
import type { ClientEvents } from "./options.js";

const WITHIN_MS = 15_000;

/** Resolves once an attempt to connect is over, whichever way, and after 15 s in any case. */
export function settled(clock: Clock, emitter: Emitter<ClientEvents>): Promise<void> {
  return new Promise((resolve) => {
    const timer = new Timer(clock);
    const done = () => {
      timer.stop();
      unlisten();
      resolve();
    };
    const unlisten = emitter.on("connection", ({ state }) => state !== "connecting" && done());
    timer.start(WITHIN_MS, done);
  });
}
