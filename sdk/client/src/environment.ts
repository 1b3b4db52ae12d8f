/** What the page around the client does. */
export interface EnvironmentSignals {
  /** The network is back, or the page is shown again: look at the connection now. */
  woke(): void;
  /** The network is said to be gone. */
  wentOffline(): void;
  hidden(): void;
  /** The page is frozen, or on its way out (`isLeaving`); no code may run for a long time. */
  putAway(isLeaving?: boolean): void;
}

/** A way to the other tabs of the same origin. */
export interface Channel {
  /** Lets the other ends hear something. */
  post(): void;
  close(): void;
}

/** The page, or nothing where there is none (Node, workers, React Native). */
export interface Environment {
  isOnline(): boolean;
  isVisible(): boolean;
  /** Starts to tell; the returned function ends it. */
  listen(signals: EnvironmentSignals): () => void;
  /** Where input events can be heard. */
  readonly inputTarget: EventTarget | undefined;
  /** The other tabs, where there can be any. */
  openChannel?(name: string, heard: () => void): Channel | undefined;
  /** Keeps a short text over a reload of this tab; without one it is taken out. */
  stash?(key: string, text?: string): string | undefined;
}

interface PageLike extends Partial<EventTarget> {
  readonly document?: EventTarget & { readonly visibilityState?: string };
  readonly navigator?: { readonly onLine?: boolean };
  readonly sessionStorage?: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  readonly BroadcastChannel?: new (name: string) => {
    onmessage: unknown;
    postMessage(data: unknown): void;
    close(): void;
  };
}

/** Reads the global objects only when called, so that the module can be imported anywhere. */
export function pageEnvironment(page: PageLike = globalThis as unknown as PageLike): Environment {
  const document = page.document;
  const isVisible = () => document?.visibilityState !== "hidden";
  return {
    isOnline: () => page.navigator?.onLine ?? true,
    isVisible,
    inputTarget: document && page.addEventListener ? (page as EventTarget) : undefined,
    listen(signals) {
      const wokeIfShown = () => isVisible() && signals.woke();
      const pairs: [Partial<EventTarget> | undefined, string, () => unknown][] = [
        [page, "online", () => signals.woke()],
        [page, "offline", () => signals.wentOffline()],
        [page, "pageshow", wokeIfShown],
        [page, "pagehide", () => signals.putAway(true)],
        [document, "resume", wokeIfShown],
        [document, "freeze", () => signals.putAway()],
        [document, "visibilitychange", () => (isVisible() ? signals.woke() : signals.hidden())],
      ];
      pairs.forEach(([target, name, listener]) => target?.addEventListener?.(name, listener));
      return () =>
        pairs.forEach(([target, name, listener]) => target?.removeEventListener?.(name, listener));
    },
    openChannel(name, heard) {
      if (!page.BroadcastChannel) {
        return undefined;
      }
      const channel = new page.BroadcastChannel(name);
      channel.onmessage = heard;
      return { post: () => channel.postMessage(0), close: () => channel.close() };
    },
    stash(key, text) {
      // Storage that is forbidden throws, even when only looked at; and where there is none.
      try {
        const storage = page.sessionStorage as Storage;
        const held = storage.getItem(key) ?? undefined;
        if (text === undefined) {
          storage.removeItem(key);
        } else {
          storage.setItem(key, text);
        }
        return held;
      } catch {
        return undefined;
      }
    },
  };
}
