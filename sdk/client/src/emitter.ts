type Listener<T> = (value: T) => void;

/** Typed events. A listener that throws is reported and hinders nobody else. */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>();

  /** Adds a listener; the returned function takes it away. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    // Wrapped, so that the same function added twice is called twice and removed one at a time.
    const own: Listener<Events[Name]> = (value) => listener(value);
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set);
    set.add(own as Listener<never>);
    return () => {
      set.delete(own as Listener<never>);
    };
  }

  emit<Name extends keyof Events>(name: Name, value: Events[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      callSafely(() => (listener as Listener<Events[Name]>)(value));
    }
  }

  clear(): void {
    this.#listeners.clear();
  }
}

/** Calls the app's code; what it throws goes to the app's own error handler, not up our stack. */
export function callSafely(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
