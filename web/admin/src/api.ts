/** A refusal of the server, or none at all (`status` 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export interface Failure {
  readonly at: number;
  readonly path: string;
  readonly message: string;
}

const MOST_FAILURES = 100;

/** The server's HTTP calls with an API key. The page lies in a folder below the server's root. */
export class Api {
  /** Newest first; what the server merely does not have is not in it. */
  readonly failures: Failure[] = [];
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  async get<Body>(path: string): Promise<Body> {
    return (await this.#call("GET", path)).json() as Promise<Body>;
  }

  async text(path: string): Promise<string> {
    return (await this.#call("GET", path)).text();
  }

  async delete(path: string): Promise<void> {
    await this.#call("DELETE", path);
  }

  /** Undefined where the server has no such call; other failures are thrown. */
  async find<Value>(read: Promise<Value>): Promise<Value | undefined> {
    try {
      return await read;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) {
        return undefined;
      }
      throw error;
    }
  }

  async #call(method: string, path: string): Promise<Response> {
    const url = new URL(`../${path}`, document.baseURI);
    const headers = { authorization: `Bearer ${this.#key}` };
    let answer: Response;
    try {
      answer = await fetch(url, { method, headers, cache: "no-store" });
    } catch {
      throw this.#failed(new ApiError(0, "the server cannot be reached"), path);
    }
    // A server that is not ready says so with 503 and a body that is worth reading.
    if (!answer.ok && path !== "readyz") {
      const body = (await answer.json().catch(() => ({}))) as { error?: { message?: string } };
      const text = body.error?.message ?? `the server answered ${answer.status}`;
      throw this.#failed(new ApiError(answer.status, text), path);
    }
    return answer;
  }

  #failed(error: ApiError, path: string): ApiError {
    if (error.status !== 404) {
      this.failures.unshift({ at: Date.now(), path, message: error.message });
      this.failures.length = Math.min(this.failures.length, MOST_FAILURES);
    }
    return error;
  }
}

export interface Stats {
  readonly asOf: number;
  readonly exact?: boolean;
  readonly users?: {
    readonly online?: number;
    readonly byStatus?: Readonly<Record<string, number>>;
    readonly byDevice?: Readonly<Record<string, number>>;
  };
  readonly sessions?: Readonly<Record<string, number>>;
  readonly connections?: Readonly<Record<string, number>>;
  readonly nodes?: unknown;
}

export interface Session {
  readonly sessionId: string;
  readonly device: { readonly type: string; readonly name?: string };
  readonly status?: string;
  readonly activity: string;
  readonly observing: boolean;
  readonly state: string;
  readonly connectedAt: number;
  readonly lastHeartbeatAt?: number;
  readonly graceUntil?: number;
}

export interface Explanation {
  readonly view: object;
  readonly merge: { readonly policy: string; readonly declared: object; readonly result: string };
  readonly rules: readonly {
    readonly attribute: string;
    readonly check: string;
    readonly passes: boolean;
    readonly why: string;
  }[];
}

export interface RoomPage {
  readonly room: string;
  readonly count: number;
  readonly publicCount?: number;
  readonly exact: boolean;
  readonly members: readonly { readonly userId: string; readonly status: string }[];
  readonly next?: string;
}
