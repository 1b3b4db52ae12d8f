type Listener<T> = (value: T) => void;

/** Typed events. A listener that throws is reported and hinders nobody else. */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>();

  /** Adds a listener; the returned function takes it away. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    // Wrapped, so that the same function added twice is called twice and removed one at a time.
    const own: Listener<never> = (value) => listener(value);
    const set = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, set.add(own));
    return () => {
      set.delete(own);
      if (set.size === 0 && this.#listeners.get(name) === set) {
        this.#listeners.delete(name);
      }
    };
  }

  hasListener(name: keyof Events): boolean {
    return this.#listeners.has(name);
  }

  emit<Name extends keyof Events>(name: Name, value: Events[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        (listener as Listener<Events[Name]>)(value);
      } catch (error) {
        // Goes to the app's own error handler, not up our stack.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  reset(): void {
    this.#listeners.clear();
  }
}
