import { PresenceClient } from "../src/client.js";
import type { ClientOptions } from "../src/options.js";
import { PresenceError } from "../src/codes.js";
import { pageEnvironment } from "../src/environment.js";
import type { ConnectionStatus } from "../src/link.js";
import { FakeServer } from "./fake_server.js";
import { VirtualClock } from "./virtual_clock.js";

/** An event target that counts its listeners. */
export class CountedTarget extends EventTarget {
  listeners = 0;

  override addEventListener(...args: Parameters<EventTarget["addEventListener"]>): void {
    this.listeners++;
    super.addEventListener(...args);
  }

  override removeEventListener(...args: Parameters<EventTarget["removeEventListener"]>): void {
    this.listeners--;
    super.removeEventListener(...args);
  }
}

class FakeDocument extends CountedTarget {
  visibilityState = "visible";
}

/** What all tabs of an origin share. */
export class FakeOrigin {
  readonly channels = new Set<{ name: string; onmessage: (() => void) | null }>();

  /** A BroadcastChannel: the other ends of the same name hear, the own one does not. */
  readonly channel = ((origin: FakeOrigin) =>
    class {
      onmessage: (() => void) | null = null;

      constructor(readonly name: string) {
        origin.channels.add(this);
      }

      postMessage(): void {
        for (const other of origin.channels) {
          if (other !== this && other.name === this.name) {
            queueMicrotask(() => other.onmessage?.());
          }
        }
      }

      close(): void {
        origin.channels.delete(this);
      }
    })(this);
}

/** A browser page as far as the client looks at it. */
export class FakePage extends CountedTarget {
  readonly document = new FakeDocument();
  readonly navigator = { onLine: true };
  readonly BroadcastChannel: FakeOrigin["channel"];

  /** `stored` is the tab's session storage: pages one after the other in a tab share it. */
  constructor(
    readonly origin = new FakeOrigin(),
    readonly stored = new Map<string, string>(),
  ) {
    super();
    this.BroadcastChannel = origin.channel;
  }

  readonly sessionStorage = {
    getItem: (key: string) => this.stored.get(key) ?? null,
    setItem: (key: string, value: string) => void this.stored.set(key, value),
    removeItem: (key: string) => void this.stored.delete(key),
  };

  fire(name: string): void {
    const target = ["freeze", "resume", "visibilitychange"].includes(name) ? this.document : this;
    target.dispatchEvent(new Event(name));
  }

  show(visibilityState: "visible" | "hidden"): void {
    this.document.visibilityState = visibilityState;
    this.fire("visibilitychange");
  }

  get allListeners(): number {
    return this.listeners + this.document.listeners;
  }
}

/** Numbers from 0 to 1, the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = (seed + 1) * 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One client, its server, its page and what it told the app. */
export class Bench {
  readonly clock: VirtualClock;
  readonly server: FakeServer;
  readonly page: FakePage;
  readonly errors: PresenceError[] = [];
  readonly statuses: ConnectionStatus[] = [];
  readonly changes: string[][] = [];
  tokens = 0;
  readonly client: PresenceClient;

  /** `beside`: in the same world as another one, in a page of its own. */
  constructor(
    options: Partial<ClientOptions> = {},
    seed = 1,
    beside?: { clock: VirtualClock; server: FakeServer; page: FakePage },
  ) {
    this.clock = beside?.clock ?? new VirtualClock();
    this.server = beside?.server ?? new FakeServer(this.clock);
    this.page = beside?.page ?? new FakePage();
    this.client = new PresenceClient({
      url: "ws://server/v1/connect",
      getToken: () => `token-${++this.tokens}`,
      transport: this.server.transport,
      clock: this.clock,
      random: randomFrom(seed),
      environment: pageEnvironment(this.page as never),
      ...options,
    });
    this.client.on("error", (error) => this.errors.push(error));
    this.client.on("connection", (status) => this.statuses.push(status));
    this.client.on("presence", (changed) => this.changes.push([...changed].sort()));
  }

  async connected(): Promise<this> {
    this.client.connect();
    await this.clock.advance(0);
    return this;
  }

  status(userId: string): string {
    const { status, stale } = this.client.presence(userId);
    return stale ? `${status} (stale)` : status;
  }
}
