/** What the page around the client does. */
export interface EnvironmentSignals {
  /** The network is back, or the page is shown again: look at the connection now. */
  woke(): void;
  /** The network is said to be gone. */
  wentOffline(): void;
  hidden(): void;
  /** The page is frozen or on its way out; no code may run for a long time. */
  putAway(): void;
}

/** The page, or nothing where there is none (Node, workers, React Native). */
export interface Environment {
  isOnline(): boolean;
  isVisible(): boolean;
  /** Starts to tell; the returned function ends it. */
  listen(signals: EnvironmentSignals): () => void;
  /** Where input events can be heard. */
  readonly inputTarget: EventTarget | undefined;
}

interface PageLike extends EventTarget {
  readonly document?: EventTarget & { readonly visibilityState?: string };
  readonly navigator?: { readonly onLine?: boolean };
}

/** Reads the global objects only when called, so that the module can be imported anywhere. */
export function pageEnvironment(page: PageLike = globalThis as unknown as PageLike): Environment {
  const document = page.document;
  const canListen = typeof page.addEventListener === "function";
  const isVisible = () => (document?.visibilityState ?? "visible") === "visible";
  return {
    isOnline: () => page.navigator?.onLine ?? true,
    isVisible,
    inputTarget: document && canListen ? page : undefined,
    listen(signals) {
      const wokeIfShown = () => {
        if (isVisible()) {
          signals.woke();
        }
      };
      const pairs: [EventTarget | undefined, string, () => void][] = [
        [page, "online", () => signals.woke()],
        [page, "offline", () => signals.wentOffline()],
        [page, "pageshow", wokeIfShown],
        [page, "pagehide", () => signals.putAway()],
        [document, "resume", wokeIfShown],
        [document, "freeze", () => signals.putAway()],
        [document, "visibilitychange", () => (isVisible() ? signals.woke() : signals.hidden())],
      ];
      const heard = canListen ? pairs.filter(([target]) => target !== undefined) : [];
      for (const [target, name, listener] of heard) {
        target?.addEventListener(name, listener);
      }
      return () => {
        for (const [target, name, listener] of heard) {
          target?.removeEventListener(name, listener);
        }
      };
    },
  };
}
