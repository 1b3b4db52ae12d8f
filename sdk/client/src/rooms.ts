import { freeze, isSame } from "./frozen.js";
import type {
  JoinOptions,
  RoomMember,
  RoomView,
  ServerMessage,
  WirePresence,
} from "./protocol.js";
import { Store } from "./store.js";
import { Subscriptions, type Asker } from "./subscriptions.js";
import type { Batch } from "./views.js";

/** What is held about one room; members only where the server lists them. */
interface Held {
  readonly count: number;
  readonly exact: boolean;
  readonly members: Map<string, RoomMember> | undefined;
}

/** Who is in the rooms that the app has joined, or how many. */
export class Rooms extends Store<Held, RoomView> {
  constructor(
    batch: Batch,
    isWanted: (room: string) => boolean,
    onChanged: (changed: ReadonlySet<string>) => void,
  ) {
    super(batch, isWanted, look, onChanged);
  }

  /** Takes the whole of a room: the answer to a join, or what replaces all that was held. */
  take({ room, count, exact, members }: ServerMessage & { type: "room" }): void {
    const before = this.get(room)?.members;
    const listed = members && new Map<string, RoomMember>();
    members?.forEach((member) => put(listed, member, before));
    this.put(room, { count, exact, members: listed });
  }

  /** Takes a difference. Who leaves and joins in one message is there: it was a change. */
  update({
    room,
    count,
    exact,
    joined,
    changed,
    left,
  }: ServerMessage & { type: "roomUpdate" }): void {
    if (this.isConfirmed(room)) {
      const members = this.get(room)?.members;
      left?.forEach((userId) => members?.delete(userId));
      joined?.forEach((member) => put(members, member));
      // A change of somebody who is not there would bring back whoever has left.
      changed?.forEach((member) => members?.has(member.userId) && put(members, member));
      this.put(room, { count, exact, members });
    }
  }

  /** The status of a watched member comes by the watch alone; that it came or went, by the room. */
  applyUpdate(users: readonly WirePresence[]): void {
    for (const room of this.keys()) {
      const members = this.get(room)?.members;
      users.forEach(({ userId, status }) => {
        const member = members?.get(userId);
        if (member) {
          put(members, { ...member, status });
          this.views.touch(room);
        }
      });
    }
  }
}

/** The rooms that the app has joined. What the server tells of them goes into `rooms`. */
export function joinList(asker: Asker, rooms: () => Rooms): Subscriptions<JoinOptions> {
  const list = new Subscriptions<JoinOptions>(asker, {
    most: () => Infinity,
    ask: (names, _mode, _limits, failed) => {
      for (const room of names) {
        asker.ask(
          { type: "join", room, ...list.terms(room) },
          (message) => message.type === "room" && rooms().take(message),
          (error) => failed([room], error),
        );
      }
    },
    ends: (names) => names.map((room) => ({ type: "leave", room })),
    onReleased: () => rooms().tidy(),
    choose: (all) => all.filter(({ observe }) => !observe).at(-1),
  });
  return list;
}

function look(room: string, held: Held | undefined, stale: boolean): RoomView {
  const members = held?.members;
  return freeze({
    room,
    exact: false,
    stale,
    ...(held && { count: held.count, exact: held.exact }),
    ...(members && { members: [...members.values()] }),
  });
}

/** A member that looks as before stays the same object. */
function put(
  members: Map<string, RoomMember> | undefined,
  member: RoomMember,
  before = members,
): void {
  const old = before?.get(member.userId);
  members?.set(member.userId, old && isSame(old, member) ? old : freeze(member));
}
