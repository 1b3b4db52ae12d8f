// What a receiver of webhooks does first: see that a call comes from the server (Standard Webhooks).

import { createHmac, timingSafeEqual } from "node:crypto";
import type { WebhookEvent } from "./types.js";

/** A call that is not to be believed: answer it with 400 and do nothing. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

export interface WebhookCall {
  /** As it came, byte for byte: not parsed and written again. */
  body: string | Uint8Array;
  /** Of Node, of fetch, or an object with names in lower case. */
  headers: Headers | Record<string, string | string[] | undefined>;
  /** What `webhooks.secret` holds: `whsec_…`; both during a rotation. */
  secrets: string | string[];
  /** How old a call may be, and how far ahead; 300 by default. */
  toleranceSeconds?: number;
  /** Milliseconds since the Unix epoch. */
  now?: number;
}

export interface VerifiedWebhook {
  /** Of the call; the same when it is tried again. */
  id: string;
  events: WebhookEvent[];
}

/** The events of a call that is signed by one of the secrets and fresh; else throws a WebhookError. */
export function verifyWebhook(call: WebhookCall): VerifiedWebhook {
  const { toleranceSeconds = 300, now = Date.now() } = call;
  const body = Buffer.from(call.body as Uint8Array);
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(
    (name) => headerOf(call.headers, name),
  ) as [string, string, string];
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookError("webhook-timestamp is no number of seconds");
  }
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookError("webhook-timestamp is too far from now");
  }
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const given = signatures
    .split(" ")
    .filter((one) => one.startsWith("v1,"))
    .map((one) => Buffer.from(one.slice(3), "base64"));
  const good = [call.secrets]
    .flat()
    .map((secret) => createHmac("sha256", keyOf(secret)).update(signed).digest())
    .some((wanted) => given.some((one) => one.length === wanted.length && timingSafeEqual(one, wanted)));
  if (!good) {
    throw new WebhookError("no signature is by a secret that is known here");
  }
  const { events } = JSON.parse(body.toString("utf8")) as { events: WebhookEvent[] };
  return { id, events };
}

function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  if (!secret.startsWith("whsec_") || key.length < 24) {
    throw new TypeError("a secret of webhooks is whsec_ and base64 of 24 bytes or more");
  }
  return key;
}

function headerOf(headers: WebhookCall["headers"], name: string): string {
  const value =
    typeof (headers as Headers).get === "function"
      ? (headers as Headers).get(name)
      : (headers as Record<string, string | string[] | undefined>)[name];
  if (typeof value !== "string" || value === "") {
    throw new WebhookError(`${name} is missing`);
  }
  return value;
}
