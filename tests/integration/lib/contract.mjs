// The shapes of what the server may send, read off docs/protocol.md.
import { assertSchema } from './rest.mjs';

const integer = (value) => Number.isSafeInteger(value) && value >= 0;
const text = (value) => typeof value === 'string' && value.length > 0;
const bool = (value) => typeof value === 'boolean';
const presences = (value) => Array.isArray(value);
const object = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

const roomMembers = (list) => Array.isArray(list) && list.every((one) => text(one.userId) &&
  ['online', 'away', 'busy', 'dnd', 'invisible', 'unknown'].includes(one.status) &&
  Object.keys(one).every((name) => ['userId', 'status', 'meta'].includes(name)) && (one.meta === undefined || object(one.meta)));

/** type -> [required fields, optional fields], each with its test. */
const messages = {
  welcome: [{ userId: text, sessionId: text, resume: text, resumed: bool, serverTime: integer,
              heartbeat: (h) => integer(h?.intervalMs) && integer(h?.ttlMs), graceMs: integer,
              limits: (l) => ['watch', 'messageBytes', 'customStatusText', 'sessions', 'roomMembers'].every((name) => integer(l?.[name])),
              health: (h) => ['ok', 'degraded', 'down'].includes(h?.store) && integer(h?.since) },
            { id: integer, expiresAt: integer }],
  health: [{ store: (s) => ['ok', 'degraded', 'down'].includes(s), since: integer }, {}],
  heartbeatAck: [{ serverTime: integer }, { id: integer }],
  snapshot: [{ users: presences, asOf: integer }, { id: integer, unchanged: integer, more: (m) => m === true }],
  update: [{ users: presences }, { more: (m) => m === true }],
  room: [{ room: text, count: integer, exact: bool }, { id: integer, members: roomMembers, more: (m) => m === true }],
  roomUpdate: [{ room: text, count: integer, exact: bool },
               { joined: roomMembers, changed: roomMembers, left: (list) => list.length > 0 && list.every(text), more: (m) => m === true }],
  signal: [{ from: text, kind: text, active: bool, expiresInMs: integer }, { room: text, data: () => true }],
  privacy: [{ online: object, lastSeen: object }, { id: integer }],
  ack: [{}, { id: integer, expiresAt: integer, appliedInMs: integer }],
  error: [{ code: text, message: text, temporary: bool }, { id: integer, retryAfterMs: integer, limit: integer }],
  tokenExpiring: [{ inMs: integer }, {}],
  reconnect: [{ afterMs: integer, reason: text }, {}],
};

const temporary = { badRequest: false, unauthorized: false, forbidden: false, notFound: false, tooLarge: false,
                    limitExceeded: false, rateLimited: true, conflict: true, unavailable: true, internal: true };
const presenceFields = new Set(['userId', 'status', 'version', 'since', 'customStatus', 'devices', 'lastSeen', 'declared']);

/** What is wrong with a presence, whoever it is for. */
export function breachesOfPresence(one) {
  const found = [];
  try { assertSchema('Presence', one); } catch (error) { found.push(error.message); return found; }
  const wrong = (text) => found.push(`${text}: ${JSON.stringify(one)}`);
  for (const field of Object.keys(one)) if (!presenceFields.has(field)) wrong(`field ${field}`);
  if (one.version === 0 && one.status !== 'unknown' && JSON.stringify(one) !== JSON.stringify(
    { userId: one.userId, status: 'offline', version: 0 })) wrong('version 0 with more');
  if (one.lastSeen && one.status !== 'offline') wrong('lastSeen of one who is not offline');
  if (one.since !== undefined && (!['away', 'busy', 'dnd'].includes(one.status) || one.since % 60000 !== 0)) wrong('since');
  if (one.status === 'offline' && (one.customStatus || one.devices)) wrong('offline with more');
  if (one.devices && JSON.stringify(one.devices) !== JSON.stringify([...new Set(one.devices)].sort())) wrong('devices');
  if (one.lastSeen) {
    const { granularity, at } = one.lastSeen;
    if ((at !== undefined) !== ['exact', 'recent'].includes(granularity)) wrong('lastSeen.at');
    if (granularity === 'recent' && at % 60000 !== 0) wrong('lastSeen.at uncut');
    if (at > Date.now() + 50) wrong('lastSeen in the future');
  }
  return found;
}

/** What is wrong with a message from the server. */
export function breachesOf(message) {
  const shape = messages[message?.type];
  if (!shape) return [`message of type ${message?.type}`];
  const found = [];
  const [required, optional] = shape;
  for (const [field, holds] of Object.entries(required)) {
    if (!holds(message[field])) found.push(`${message.type}.${field} is ${JSON.stringify(message[field])}`);
  }
  for (const [field, value] of Object.entries(message)) {
    if (field === 'type' || field in required) continue;
    if (!(field in optional)) found.push(`${message.type} has ${field}`);
    else if (!optional[field](value)) found.push(`${message.type}.${field} is ${JSON.stringify(value)}`);
  }
  if (message.type === 'error' && temporary[message.code] !== message.temporary) {
    found.push(`error ${message.code} with temporary ${message.temporary}`);
  }
  if (message.type === 'snapshot' || message.type === 'update') {
    for (const one of message.users ?? []) found.push(...breachesOfPresence(one));
  }
  return found;
}
