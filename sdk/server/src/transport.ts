// One HTTP call, with what may be repeated repeated.
//
// Not fetch: URLs of the web platform take `%2E%2E` for "one up", and a user may be called `..`.

import http from "node:http";
import https from "node:https";

export type Method = "GET" | "PUT" | "POST" | "DELETE";

export interface Call {
  method: Method;
  /** With its query, percent-encoded. */
  path: string;
  body?: unknown;
  bearer?: string | undefined;
  headers?: Record<string, string>;
  /** False for what must not happen twice. */
  repeatable?: boolean;
}

/** The codes of api/openapi.yaml; `network` where there was no answer. */
export type PresenceErrorCode =
  | "badRequest"
  | "unauthorized"
  | "forbidden"
  | "notFound"
  | "tooLarge"
  | "limitExceeded"
  | "rateLimited"
  | "conflict"
  | "unavailable"
  | "internal"
  | "network";

/** A call that was refused, or that found no server. */
export class PresenceError extends Error {
  override readonly name = "PresenceError";

  constructor(
    readonly code: PresenceErrorCode,
    message: string,
    /** 0 where there was no answer. */
    readonly status: number,
    /** Whether the same call may succeed later. */
    readonly temporary: boolean,
    readonly retryAfterMs?: number,
    /** The bound that was exceeded. */
    readonly limit?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface TransportOptions {
  url: string;
  timeoutMs: number;
  retries: number;
  silenceMs: number;
}

const LONGEST_WAIT_MS = 5_000;

export class Transport {
  readonly #base: URL;
  readonly #agent: http.Agent;
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#base = new URL(options.url);
    if (this.#base.protocol !== "http:" && this.#base.protocol !== "https:") {
      throw new TypeError(`url begins with http:// or https://, not ${this.#base.protocol}`);
    }
    this.#options = options;
    const kept = { keepAlive: true, timeout: 30_000 }; // Below the 60 s after which a server closes.
    this.#agent = this.#base.protocol === "https:" ? new https.Agent(kept) : new http.Agent(kept);
  }

  get silenceMs(): number {
    return this.#options.silenceMs;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The body of the answer; undefined where there is none. */
  async text(call: Call): Promise<string> {
    for (let tried = 0; ; tried += 1) {
      try {
        const response = await this.#begin(call, this.#options.timeoutMs);
        const text = await textOf(response);
        if (isGood(response)) {
          return text;
        }
        throw errorOf(response.statusCode ?? 0, text);
      } catch (error) {
        const failure = asPresenceError(error);
        const wait = failure.retryAfterMs ?? 100 * 2 ** tried;
        const mayRepeat = call.repeatable !== false && failure.temporary;
        if (!mayRepeat || tried >= this.#options.retries || wait > LONGEST_WAIT_MS) {
          throw failure;
        }
        await new Promise((resolve) => setTimeout(resolve, wait * (1 + Math.random())));
      }
    }
  }

  async json<T>(call: Call): Promise<T> {
    const text = await this.text(call);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /** An answer without an end of its own, as it comes. */
  async stream(call: Call): Promise<http.IncomingMessage> {
    const response = await this.#begin(call, this.#options.timeoutMs).catch((error: unknown) => {
      throw asPresenceError(error);
    });
    if (!isGood(response)) {
      throw errorOf(response.statusCode ?? 0, await textOf(response));
    }
    response.socket.setTimeout(0);
    return response;
  }

  #begin(call: Call, timeoutMs: number): Promise<http.IncomingMessage> {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const begin = this.#base.protocol === "https:" ? https.request : http.request;
    return new Promise((resolve, reject) => {
      const request = begin(
        {
          agent: this.#agent,
          hostname: this.#base.hostname.replace(/^\[|\]$/g, ""),
          port: this.#base.port,
          method: call.method,
          path: this.#base.pathname.replace(/\/$/, "") + call.path,
          timeout: timeoutMs,
          headers: {
            ...(call.bearer === undefined ? {} : { authorization: `Bearer ${call.bearer}` }),
            ...(body === undefined
              ? {}
              : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
            ...call.headers,
          },
        },
        resolve,
      );
      request.on("error", reject);
      request.on("timeout", () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)));
      request.end(body);
    });
  }
}

const isGood = (response: http.IncomingMessage) =>
  response.statusCode !== undefined && response.statusCode >= 200 && response.statusCode < 300;

async function textOf(response: http.IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of response) {
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString("utf8");
}

export function asPresenceError(error: unknown): PresenceError {
  if (error instanceof PresenceError) {
    return error;
  }
  const message = error instanceof Error ? error.message : String(error);
  return new PresenceError("network", message, 0, true, undefined, undefined, { cause: error });
}

/** What is no error of the server (of a proxy, say) is judged by its status. */
function errorOf(status: number, text: string): PresenceError {
  try {
    const { error } = JSON.parse(text) as {
      error: {
        code: PresenceErrorCode;
        message: string;
        temporary: boolean;
        retryAfterMs?: number;
        limit?: number;
      };
    };
    const { code, message, temporary, retryAfterMs, limit } = error;
    return new PresenceError(code, message, status, temporary, retryAfterMs, limit);
  } catch {
    const temporary = status === 429 || status >= 500;
    return new PresenceError(temporary ? "unavailable" : "internal", `HTTP ${status}`, status, temporary);
  }
}

/** An id in a path or query: never normalised on the way, also where it is `.` or `..`. */
export function encoded(id: string): string {
  return encodeURIComponent(id).replaceAll(".", "%2E");
}

export function query(values: Record<string, string | number | undefined>): string {
  const pairs = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encoded(String(value))}`);
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}
