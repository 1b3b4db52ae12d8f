import { fetchPeople, type Person } from "./server.js";
import { nameFromId } from "./words.js";

const ALWAYS: readonly string[] = ["alice", "bob", "carol"];

/** Who is on the list: the simulated people, three names for visitors, and whom the user added. */
export class Roster {
  readonly #names = new Map<string, string>();
  readonly #storageKey: string;
  #added: string[];

  constructor(readonly me: string) {
    this.#storageKey = `presenced-demo:added:${me}`;
    this.#added = JSON.parse(sessionStorage.getItem(this.#storageKey) ?? "[]") as string[];
  }

  async load(): Promise<void> {
    this.#take(await fetchPeople());
    for (const userId of [...ALWAYS, ...this.#added]) {
      this.#take([{ userId, name: nameFromId(userId) }]);
    }
    this.#names.delete(this.me);
  }

  get ids(): string[] {
    return [...this.#names.keys()];
  }

  name(userId: string): string {
    return this.#names.get(userId) ?? nameFromId(userId);
  }

  /** False where the person is on the list already. */
  add(userId: string): boolean {
    if (userId === this.me || this.#names.has(userId)) {
      return false;
    }
    this.#names.set(userId, nameFromId(userId));
    this.#added.push(userId);
    this.#save();
    return true;
  }

  remove(userId: string): void {
    this.#names.delete(userId);
    this.#added = this.#added.filter((other) => other !== userId);
    this.#save();
  }

  #take(people: readonly Person[]): void {
    for (const { userId, name } of people) {
      if (!this.#names.has(userId)) {
        this.#names.set(userId, name);
      }
    }
  }

  #save(): void {
    sessionStorage.setItem(this.#storageKey, JSON.stringify(this.#added));
  }
}
