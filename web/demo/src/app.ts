import {
  PresenceClient,
  type DeclaredStatus,
  type PresenceError,
  type UserPresence,
} from "@presenced/client";
import { Beside } from "./beside.js";
import { Contacts } from "./contacts.js";
import { CustomStatusDialog } from "./custom_status.js";
import { h } from "../../common/dom.js";
import { Header } from "./header.js";
import { Lab, type Leaving } from "./lab.js";
import { Me } from "./me.js";
import { PrivacyDialog } from "./privacy.js";
import { RoomPanel } from "./rooms.js";
import { Roster } from "./roster.js";
import { connectUrl, deafen, fetchToken } from "./server.js";
import { Timeline, type Tone } from "./timeline.js";
import { seconds, statusText, STATUS_WORDS } from "./words.js";
import { Wire } from "./wire.js";

const SLEEP_MS = 10_000;
const DEAD_SPOT_MS = 5_000;
const DRAW_EVERY_MS = 200;
const TEXTS_EVERY_MS = 1_000;

/** The page of one signed-in person. */
export class App {
  readonly elements: HTMLElement[];
  readonly #userId: string;
  readonly #client: PresenceClient;
  readonly #wire: Wire;
  readonly #roster: Roster;
  readonly #contacts: Contacts;
  readonly #room: RoomPanel;
  readonly #beside: Beside;
  readonly #me: Me;
  readonly #lab: Lab;
  readonly #header: Header;
  readonly #timeline = new Timeline();
  readonly #unwatch = new Map<string, () => void>();
  /** What the timeline has told of each person; nothing is told of the first sight. */
  readonly #told = new Map<string, UserPresence>();
  readonly #timers: ReturnType<typeof setInterval>[] = [];

  constructor(userId: string, onSwitch: () => void) {
    this.#userId = userId;
    this.#roster = new Roster(userId);
    this.#wire = new Wire({
      sent: (type) => this.#sent(type),
      received: (type) => type === "heartbeatAck" && this.#lab.answered(),
    });
    this.#client = this.#makeClient();
    this.#lab = new Lab(this.#client, {
      drop: () => this.#drop(),
      sleep: () => this.#sleep(),
      lose: () => this.#lose(),
      close: () => this.#close(),
      signOut: () => this.#signOut(),
      reconnect: () => this.#reconnect(),
      gone: (text) => this.#timeline.add(text, "bad"),
    });
    this.#beside = new Beside(userId);
    this.#header = new Header(this.#client, this.#lab, this.#beside.button, onSwitch);
    this.#room = new RoomPanel(this.#client, this.#roster, (error) =>
      this.#fail(error as PresenceError, "It was not said"),
    );
    const custom = new CustomStatusDialog(this.#client, userId, async (customStatus) => {
      await this.#client.setStatus({ customStatus });
      this.#timeline.add(
        customStatus ? "You set your status text" : "You cleared your status text",
      );
    });
    const privacy = new PrivacyDialog(
      this.#client,
      this.#roster,
      async (online, lastSeen) => {
        await this.#client.setPrivacy({ online, lastSeen });
        this.#timeline.add("You changed who may see you; it is in force now");
      },
      (other) => this.#unblock(other),
    );
    this.#me = new Me(this.#client, userId, {
      setStatus: (status, end) => this.#setStatus(status, end),
      editCustomStatus: () => custom.open(),
      editPrivacy: () => this.#try(privacy.open(), "Your rules could not be read"),
    });
    this.#contacts = new Contacts(this.#client, this.#roster, {
      block: (other) => this.#block(other),
      add: (other) => this.#add(other),
      remove: (other) => this.#remove(other),
    });
    this.elements = [
      this.#header.element,
      h(
        "main",
        { class: "columns" },
        this.#me.element,
        this.#contacts.element,
        this.#room.element,
        h("div", { class: "right" }, this.#lab.element, this.#timeline.element),
      ),
      custom.element,
      privacy.element,
    ];
  }

  async start(): Promise<void> {
    document.title = `${this.#userId} · presenced demo`;
    this.#listen();
    this.#timers.push(setInterval(() => this.#drawFast(), DRAW_EVERY_MS));
    this.#timers.push(setInterval(() => this.#draw(), TEXTS_EVERY_MS));
    this.#draw();
    await this.#roster.load();
    this.#watchAll();
    this.#room.enter();
    this.#client.connect();
    this.#draw();
  }

  /** The person leaves the page for good. */
  end(): void {
    this.#beside.close();
    this.#timers.forEach((timer) => clearInterval(timer));
    this.#client.signOut();
    this.#client.destroy();
    this.#wire.mend();
  }

  #makeClient(): PresenceClient {
    const idleSeconds = Number(new URLSearchParams(location.search).get("idle"));
    const isPhone = matchMedia("(pointer: coarse)").matches && innerWidth < 700;
    return new PresenceClient({
      url: connectUrl(),
      getToken: () => fetchToken(this.#userId),
      device: { type: isPhone ? "mobile" : "web" },
      transport: this.#wire.transport,
      resumeKey: this.#userId,
      ...(idleSeconds > 0 ? { idleAfterMs: idleSeconds * 1_000 } : {}),
    });
  }

  #listen(): void {
    this.#client.on("presence", (changed) => {
      for (const userId of changed) {
        this.#tellChange(userId);
      }
      this.#draw();
    });
    this.#client.on("connection", ({ state, reason, closeCode, retryAt }) => {
      if (state === "ready") {
        this.#lab.leave(undefined);
      } else if (this.#lab.leaving === undefined && retryAt !== undefined) {
        const code = closeCode === undefined ? "" : ` (${closeCode})`;
        const wait = seconds(Math.max(0, retryAt - Date.now()));
        this.#timeline.add(`Connection lost: ${reason ?? ""}${code}. Next try in ${wait}`, "warn");
      }
      this.#drawFast();
    });
    this.#client.on("session", ({ resumed, heartbeat, graceMs }) => {
      const beats = `heartbeat ${seconds(heartbeat.intervalMs)}, ttl ${seconds(heartbeat.ttlMs)}`;
      const times = `${beats}, grace ${seconds(graceMs)}`;
      this.#timeline.add(
        resumed ? "Connected: your session goes on" : `Connected: a new session (${times})`,
        "good",
      );
    });
    let isStoreWell = true;
    this.#client.on("health", ({ store }) => {
      // That all is well is news only after it was not.
      if (store !== "ok" || !isStoreWell) {
        this.#timeline.add(`The server's store is ${store}`, store === "ok" ? "good" : "bad");
      }
      isStoreWell = store === "ok";
    });
    this.#client.on("error", (error) => this.#fail(error));
  }

  #sent(type: string): void {
    if (type !== "bye") {
      this.#lab.beat();
    }
  }

  #watchAll(): void {
    for (const userId of [this.#userId, ...this.#roster.ids]) {
      if (!this.#unwatch.has(userId)) {
        this.#unwatch.set(userId, this.#client.watch(userId));
      }
    }
  }

  #draw(): void {
    this.#contacts.show();
    this.#room.show();
    this.#me.show();
    this.#drawFast();
  }

  #drawFast(): void {
    this.#lab.show();
    this.#header.show();
  }

  #tellChange(userId: string): void {
    const presence = this.#client.presence(userId);
    const before = this.#told.get(userId);
    if (presence.stale || (presence.status === "unknown" && before === undefined)) {
      return;
    }
    this.#told.set(userId, presence);
    if (userId === this.#userId && presence.declared !== undefined) {
      this.#me.showDeclared(presence.declared.status);
    }
    if (before === undefined) {
      return;
    }
    const who = userId === this.#userId ? "You are" : `${this.#roster.name(userId)} is`;
    if (before.status !== presence.status) {
      const detail = presence.status === "offline" ? lastSeenNote(presence, this.#client) : "";
      const { status } = presence;
      const word = status === "dnd" ? "not to be disturbed" : STATUS_WORDS[status].toLowerCase();
      this.#timeline.add(`${who} ${word}${detail}`, toneOf(presence));
    }
    const said = presence.customStatus;
    if (said !== undefined && JSON.stringify(said) !== JSON.stringify(before.customStatus)) {
      const text = [said.emoji, said.text].filter(Boolean).join(" ");
      const name = userId === this.#userId ? "You say" : `${this.#roster.name(userId)} says`;
      this.#timeline.add(`${name}: ${text}`);
    }
  }

  // --- What the buttons do ---

  #drop(): void {
    this.#wire.cut();
    const session = this.#wire.session;
    if (session !== undefined) {
      void deafen(this.#userId, session);
    }
    this.#lab.leave("dropped");
    this.#timeline.add(
      "The network is gone. The server has not been told and waits for a heartbeat",
      "bad",
    );
  }

  /** No code of the page runs and nothing comes through; then it wakes and asks who is there. */
  #sleep(): void {
    this.#wire.hold();
    const session = this.#wire.session;
    if (session !== undefined) {
      void deafen(this.#userId, session);
    }
    this.#lab.leave("asleep");
    this.#timeline.add("The machine sleeps. Nothing runs here, and the server hears nothing", "warn");
    this.#backIn(SLEEP_MS, "Awake: is the old connection still alive?");
  }

  #lose(): void {
    this.#wire.hold();
    this.#lab.leave("lost");
    this.#timeline.add("A dead spot: nothing gets through, nobody has been told", "warn");
    this.#backIn(DEAD_SPOT_MS, "The network is back");
  }

  #backIn(ms: number, text: string): void {
    setTimeout(() => {
      if (this.#lab.leaving === "asleep" || this.#lab.leaving === "lost") {
        this.#timeline.add(text);
        this.#lab.leave(undefined);
        this.#wire.mend();
        // What a browser says when it is back.
        dispatchEvent(new Event("online"));
      }
    }, ms);
  }

  #close(): void {
    this.#client.disconnect();
    this.#left(
      "closed",
      "Closed without goodbye. The session stays in grace; come back and nobody notices",
    );
  }

  #signOut(): void {
    this.#client.signOut();
    this.#unwatch.clear();
    this.#told.clear();
    this.#left("signedOut", "Signed out with a goodbye");
  }

  #left(how: Leaving, text: string): void {
    this.#lab.leave(how);
    this.#timeline.add(text, "warn");
    this.#draw();
  }

  #reconnect(): void {
    this.#wire.mend();
    this.#lab.leave(undefined);
    this.#watchAll();
    this.#room.enter();
    this.#client.reconnectNow();
  }

  #add(userId: string): void {
    if (userId === "" || this.#unwatch.has(userId)) {
      return;
    }
    try {
      this.#unwatch.set(userId, this.#client.watch(userId));
      this.#roster.add(userId);
    } catch (error) {
      this.#fail(error as PresenceError);
    }
    this.#draw();
  }

  #remove(userId: string): void {
    this.#roster.remove(userId);
    this.#unwatch.get(userId)?.();
    this.#unwatch.delete(userId);
    this.#told.delete(userId);
    this.#draw();
  }

  #block(userId: string): void {
    const done = this.#client.block([userId]).then(() => {
      this.#timeline.add(`You blocked ${this.#roster.name(userId)}: neither of you sees the other`);
    });
    this.#try(done, "Nobody was blocked");
  }

  #setStatus(status: DeclaredStatus, end: { expiresInMs?: number }): void {
    this.#client.setStatus({ status, ...end }).catch((error: PresenceError) => {
      this.#me.showDeclared(this.#told.get(this.#userId)?.declared?.status ?? "auto");
      this.#fail(error, "Your status was not set");
    });
  }

  async #unblock(userId: string): Promise<void> {
    await this.#client.unblock([userId]);
    this.#timeline.add(`You no longer block ${this.#roster.name(userId)}`);
  }

  #try(done: Promise<unknown>, whatFailed: string): void {
    done.catch((error: PresenceError) => this.#fail(error, whatFailed));
  }

  #fail(error: PresenceError, whatFailed?: string): void {
    const text = `${error.message} (${error.code})`;
    this.#timeline.add(whatFailed === undefined ? text : `${whatFailed}: ${text}`, "bad");
  }
}

function lastSeenNote(presence: UserPresence, client: PresenceClient): string {
  return presence.lastSeen === undefined
    ? ""
    : `, ${statusText(presence, client.serverNow()).toLowerCase()}`;
}

function toneOf({ status }: UserPresence): Tone {
  return status === "online" ? "good" : status === "unknown" ? "bad" : "plain";
}
