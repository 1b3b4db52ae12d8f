import { Timer } from "./clock.js";
import type { Emitter } from "./emitter.js";
import { freeze } from "./frozen.js";
import type { ClientEvents } from "./options.js";
import { PresenceMap } from "./presence_map.js";
import type { JoinOptions, Limits, ServerMessage } from "./protocol.js";
import { joinList, Rooms } from "./rooms.js";
import type { ServerClock } from "./server_clock.js";
import type { Asker, Subscriptions } from "./subscriptions.js";
import { Typing } from "./typing.js";
import { makeBatch, type Batch } from "./views.js";
import { watchList } from "./watch_list.js";

/**
 * What the app wants to know of others, and what the server told: users, rooms, who is typing.
 * Goes through connections without starting one.
 */
export class Known {
  readonly userStore: PresenceMap;
  readonly watches: Subscriptions;
  readonly roomStore: Rooms;
  readonly joins: Subscriptions<JoinOptions>;
  readonly typists: Typing;
  readonly #emitter: Emitter<ClientEvents>;
  readonly #batch: Batch;
  /** Runs while the link is down; at its end nothing that was known may be shown any more. */
  readonly #ttlTimer: Timer;

  constructor(
    asker: Asker,
    serverClock: ServerClock,
    batchMs: number,
    emitter: Emitter<ClientEvents>,
  ) {
    const { clock } = asker;
    this.#emitter = emitter;
    this.#batch = makeBatch(clock, batchMs);
    this.#ttlTimer = new Timer(clock);
    this.watches = watchList(asker, () => this.userStore);
    this.joins = joinList(asker, () => this.roomStore);
    this.userStore = new PresenceMap(
      clock,
      serverClock,
      this.#batch,
      (userId) => this.watches.isWanted(userId),
      (changed) => emitter.emit("presence", changed),
    );
    this.roomStore = new Rooms(
      this.#batch,
      (room) => this.joins.isWanted(room),
      (changed) => emitter.emit("room", changed),
    );
    this.typists = new Typing(clock, this.#batch, asker.tell);
  }

  /** A new connection: everything is asked for again. */
  connected(limits: Limits): void {
    this.#ttlTimer.stop();
    this.watches.connected(limits);
    this.joins.connected(limits);
  }

  disconnected(): void {
    this.watches.disconnected();
    this.joins.disconnected();
  }

  /** While the link is in doubt, so is what it told. */
  doubt(isDoubted: boolean): void {
    this.userStore.doubt(isDoubted);
    this.roomStore.doubt(isDoubted);
  }

  /** A connection that was ready is gone: all is stale, and not known once `ttlMs` are over. */
  linkDown(ttlMs: number): void {
    this.typists.reset();
    this.userStore.linkDown();
    this.roomStore.linkDown();
    this.#ttlTimer.start(ttlMs, () => {
      this.userStore.tooOld();
      this.roomStore.tooOld();
    });
  }

  /** Takes what it understands of a message without request. `self` is the own user. */
  hear(message: ServerMessage, self: string | undefined): void {
    switch (message.type) {
      case "update":
        this.userStore.applyUpdate(message.users);
        this.roomStore.applyUpdate(message.users);
        break;
      case "room":
        this.roomStore.take(message);
        break;
      case "roomUpdate":
        this.roomStore.update(message);
        this.typists.left(message.room, message.left);
        break;
      case "signal":
        // Another device of the same person is nobody else who types.
        if (message.from !== self) {
          this.typists.hear(message);
        }
        this.#emitter.emit("signal", freeze(message));
        break;
      default:
        break;
    }
  }

  /** Another user's token: nothing of what the former one saw may be shown. */
  forgetSeen(): void {
    this.userStore.reset();
    this.roomStore.reset();
  }

  /** Nobody is signed in: nothing is wanted, nothing is known. */
  reset(): void {
    this.#ttlTimer.stop();
    this.watches.reset();
    this.joins.reset();
    this.forgetSeen();
  }

  /** Nobody is called any more. */
  stop(): void {
    this.reset();
    this.#batch.stop();
    this.userStore.views.stop();
    this.roomStore.views.stop();
    this.typists.stop();
  }
}
