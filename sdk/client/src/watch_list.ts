import { utf8Bytes } from "./bounds.js";
import type { Limits } from "./protocol.js";

/** Room in a message for what is not a user: type, id, mode and brackets. */
const ENVELOPE_BYTES = 256;
/** Bytes of a user beside the id, which stands in the list and in `known`. */
const PER_USER_BYTES = 32;

/** Requests to watch the users, each within the server's bounds. */
export function watchRequests(
  userIds: readonly string[],
  limits: Limits,
  firstMode: "set" | "add",
  knownVersion: (userId: string) => number,
) {
  return chunks(userIds, limits).map((users, index) => {
    const versions = users.map((userId): [string, number] => [userId, knownVersion(userId)]);
    const known = versions.filter(([, version]) => version > 0);
    return {
      type: "watch",
      users,
      mode: index > 0 ? "add" : firstMode,
      // `fromEntries` makes of an id such as __proto__ a member like any other.
      known: known.length > 0 ? Object.fromEntries(known) : undefined,
    };
  });
}

/** Cuts a list so that a message with each part stays within the server's bounds. */
export function chunks(userIds: readonly string[], limits: Limits): string[][] {
  const all: string[][] = [];
  let bytesLeft = 0;
  for (const userId of userIds) {
    const bytes = 2 * utf8Bytes(JSON.stringify(userId)) + PER_USER_BYTES;
    bytesLeft -= bytes;
    if (bytesLeft < 0 || (all.at(-1)?.length ?? 0) >= limits.watch) {
      all.push([]);
      bytesLeft = limits.messageBytes - ENVELOPE_BYTES - bytes;
    }
    all.at(-1)?.push(userId);
  }
  return all;
}
