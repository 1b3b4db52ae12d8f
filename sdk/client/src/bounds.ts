import { PresenceError } from "./codes.js";
import type { CustomStatusChange, StatusChange } from "./protocol.js";

const ID_BYTES = 128;
const TEXT_BYTES = 1024;
const EMOJI_CODE_POINTS = 16;
const EMOJI_BYTES = 64;

// Control characters and direction controls, as PROTOCOL says.
const FORBIDDEN_IN_ID = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const BLANK = /^[\s\u200b-\u200d\u2060\u00ad\ufeff]*$/;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Length in UTF-8, without making the bytes. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) as number;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

function refuse(message: string, limit?: number): never {
  throw new PresenceError("badRequest", message, limit === undefined ? {} : { limit });
}

/** Throws `badRequest` unless each is an id, so that one bad id does not refuse a whole request. */
export function checkIds(ids: Iterable<unknown>): void {
  for (const id of ids) {
    if (typeof id !== "string") {
      refuse("a user id must be a string");
    }
    if (BLANK.test(id) || FORBIDDEN_IN_ID.test(id) || LONE_SURROGATE.test(id)) {
      refuse("a user id must not be blank or hold control characters");
    }
    if (utf8Bytes(id) > ID_BYTES) {
      refuse(`a user id has at most ${ID_BYTES} bytes`, ID_BYTES);
    }
  }
}

/** Throws `badRequest` with the bound where the server would refuse. Nothing is cut or replaced. */
export function checkStatusChange(change: StatusChange, textLimit: number): void {
  checkExpiry(change, "status");
  if (change.customStatus) {
    checkCustomStatus(change.customStatus, textLimit);
  }
}

function checkCustomStatus(change: CustomStatusChange, textLimit: number): void {
  checkText(change.text, "text", textLimit, TEXT_BYTES);
  checkText(change.emoji, "emoji", EMOJI_CODE_POINTS, EMOJI_BYTES);
  if (!change.text && !change.emoji) {
    refuse("a custom status needs a text or an emoji; null takes it away");
  }
  checkExpiry(change, "customStatus");
}

function checkText(text: unknown, name: string, mostPoints: number, mostBytes: number): void {
  if (text === undefined) {
    return;
  }
  if (typeof text !== "string") {
    refuse(`${name} must be a string`);
  }
  if (LONE_SURROGATE.test(text) || text.includes("\0")) {
    refuse(`${name} holds half a surrogate pair or a null character`);
  }
  const points = [...text].length;
  if (points > mostPoints) {
    refuse(`${name} has ${points} code points, at most ${mostPoints}`, mostPoints);
  }
  const bytes = utf8Bytes(text);
  if (bytes > mostBytes) {
    refuse(`${name} has ${bytes} bytes, at most ${mostBytes}`, mostBytes);
  }
}

function checkExpiry(change: { expiresAt?: unknown; expiresInMs?: unknown }, name: string): void {
  if (change.expiresAt !== undefined && change.expiresInMs !== undefined) {
    refuse(`${name}: expiresAt or expiresInMs, not both`);
  }
  for (const value of [change.expiresAt, change.expiresInMs]) {
    if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) > 0)) {
      refuse(`${name}: an end must be a positive whole number of milliseconds`);
    }
  }
}
