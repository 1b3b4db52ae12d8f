// The presence that the servers here keep: who is connected, with what status, last heard of when, watched by whom.
// As much of presenced's protocol as a measurement needs, without its rules: no privacy, no devices, no grace.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** The user of a token signed with HS256 and the secret of `presenced serve --dev`; throws for any other. */
export function userOf(token) {
  const [head, body, signature] = token.split('.');
  const right = createHmac('sha256', 'dev').update(`${head}.${body}`).digest();
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== right.length || !timingSafeEqual(given, right)) throw new Error('bad signature');
  const { sub, exp } = JSON.parse(Buffer.from(body, 'base64url').toString());
  if (exp * 1000 < Date.now()) throw new Error('expired');
  return sub;
}

export class Presence {
  #users = new Map();
  #publish;

  /** @param publish  called with a user and the text that everyone who watches it is sent */
  constructor(publish) {
    this.#publish = publish;
  }

  #tell(user) {
    const { status, version } = this.#users.get(user);
    this.#publish(user, JSON.stringify({ type: 'update', users: [{ userId: user, status, version }] }));
  }

  attach(user) {
    const held = this.#users.get(user);
    this.#users.set(user, { status: 'online', version: (held?.version ?? 0) + 1, lastSeen: Date.now(), connections: (held?.connections ?? 0) + 1 });
    if (!held?.connections) this.#tell(user);
    return JSON.stringify({ type: 'welcome', userId: user, sessionId: user, resume: '', resumed: false });
  }

  beat(user) {
    this.#users.get(user).lastSeen = Date.now();
  }

  declare(user, status) {
    const held = this.#users.get(user);
    held.status = status;
    held.version += 1;
    this.#tell(user);
  }

  detach(user) {
    const held = this.#users.get(user);
    held.connections -= 1;
    if (held.connections === 0) {
      held.status = 'offline';
      held.version += 1;
      this.#tell(user);
    }
  }

  snapshot(users) {
    return JSON.stringify({
      type: 'snapshot',
      users: users.map((userId) => {
        const held = this.#users.get(userId);
        return { userId, status: held?.status ?? 'offline', version: held?.version ?? 0 };
      }),
    });
  }
}
