import { utf8Bytes } from "./bounds.js";
import type { PresenceMap } from "./presence_map.js";
import type { Limits } from "./protocol.js";
import { Subscriptions, type Asker } from "./subscriptions.js";

/** Room in a message for what is not a user: type, id, mode and brackets. */
const ENVELOPE_BYTES = 256;
/** Bytes of a user beside the id, which stands in the list and in `known`. */
const PER_USER_BYTES = 32;

/** The users that the app watches. What the server tells of them goes into the map. */
export function watchList(asker: Asker, map: () => PresenceMap): Subscriptions {
  return new Subscriptions(asker, {
    most: (limits) => limits.watch,
    ask: (userIds, firstMode, limits, failed) => {
      const mark = map().updateCount;
      chunks(userIds, limits).forEach((users, index) => {
        const versions = users.map((userId) => [userId, map().knownVersion(userId)] as const);
        const known = versions.filter(([, version]) => version > 0);
        const request = {
          type: "watch",
          users,
          mode: index > 0 ? "add" : firstMode,
          // `fromEntries` makes of an id such as __proto__ a member like any other.
          known: known.length > 0 ? Object.fromEntries(known) : undefined,
        };
        asker.ask(
          request,
          (message) =>
            message.type === "snapshot" && map().applySnapshot(message.users, users, mark),
          (error) => failed(users, error),
        );
      });
    },
    ends: (userIds, limits) =>
      chunks(userIds, limits).map((users) => ({ type: "unwatch", users })),
    onReleased: () => map().tidy(),
  });
}

/** Cuts a list so that a message with each part stays within the server's bounds. */
function chunks(userIds: readonly string[], limits: Limits): string[][] {
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
