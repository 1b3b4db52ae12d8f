import { Views, type Batch } from "./views.js";

interface Entry<Data> {
  held: Data;
  /** True once this connection told, or confirmed, what is held. */
  isConfirmed: boolean;
  /** Not confirmed for longer than the ttl: shown as not known until the server tells anew. */
  isTooOld: boolean;
}

/** Data by key as the server told it, how far it can be believed, and what the app is shown of it. */
export class Store<Data, View> {
  readonly #entries = new Map<string, Entry<Data>>();
  readonly #isWanted: (key: string) => boolean;
  #isDoubted = false;
  readonly views: Views<View>;

  /** `look` makes a view; without data nothing is known, or if stale no more. */
  constructor(
    batch: Batch,
    isWanted: (key: string) => boolean,
    look: (key: string, data: Data | undefined, stale: boolean) => View,
    onChanged: (changed: ReadonlySet<string>) => void,
  ) {
    this.#isWanted = isWanted;
    this.views = new Views(
      batch,
      (key) => {
        const entry = this.#entries.get(key);
        return entry && !entry.isTooOld
          ? look(key, entry.held, this.#isDoubted || !entry.isConfirmed)
          : look(key, undefined, !!entry);
      },
      (key) => this.#entries.has(key),
      onChanged,
    );
  }

  get(key: string): Data | undefined {
    return this.#entries.get(key)?.held;
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  isConfirmed(key: string): boolean {
    return this.#entries.get(key)?.isConfirmed ?? false;
  }

  /** Takes what the server told now, if the app still wants it. */
  put(key: string, data: Data): void {
    if (this.#isWanted(key)) {
      this.#entries.set(key, { held: data, isConfirmed: true, isTooOld: false });
      this.views.touch(key);
    }
  }

  /** The page slept: all is stale until the server has answered. */
  doubt(isDoubted: boolean): void {
    if (this.#isDoubted !== isDoubted) {
      this.#isDoubted = isDoubted;
      this.touchAll();
    }
  }

  /** From now on all is stale. */
  linkDown(): void {
    this.#isDoubted = false;
    this.#change((entry) => (entry.isConfirmed = false));
  }

  /** What no connection has confirmed is too old to be shown. */
  tooOld(): void {
    this.#change((entry) => (entry.isTooOld = !entry.isConfirmed));
  }

  touchAll(): void {
    this.#change(() => {});
  }

  /** Drops what is no longer wanted. */
  tidy(): void {
    for (const key of this.#entries.keys()) {
      if (!this.#isWanted(key)) {
        this.#entries.delete(key);
        this.views.touch(key);
      }
    }
  }

  /** Drops everything, as for another user. */
  reset(): void {
    this.touchAll();
    this.#entries.clear();
    this.#isDoubted = false;
  }

  #change(change: (entry: Entry<Data>) => void): void {
    for (const [key, entry] of this.#entries) {
      change(entry);
      this.views.touch(key);
    }
  }
}
