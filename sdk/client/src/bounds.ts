import { PresenceError } from "./codes.js";

const ID_BYTES = 128;

// Something to see; no control characters, direction controls or halves of surrogate pairs.
const ID =
  /^(?=.*[^\s\u200b-\u200d\u2060\u00ad])[^\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069]+$/u;

/** Length in UTF-8 of a text without halves of surrogate pairs. */
export function utf8Bytes(text: string): number {
  return encodeURI(text).replace(/%../g, "_").length;
}

/** Throws `badRequest` unless each is an id, so that one bad id does not refuse a whole request. */
export function checkIds(ids: Iterable<unknown>): void {
  for (const id of ids) {
    if (typeof id !== "string" || !ID.test(id) || utf8Bytes(id) > ID_BYTES) {
      const text = `not an id: ${JSON.stringify(id)}`;
      throw new PresenceError("badRequest", text, { limit: ID_BYTES });
    }
  }
}
