import type { IncomingMessage } from "node:http";
import type { StreamEvent } from "./types.js";

/** What comes, until nothing came for so long while somebody waited for it: that throws. */
export async function* heardWithin(
  silenceMs: number,
  response: IncomingMessage,
): AsyncGenerator<Uint8Array | string, void> {
  const parts = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array | string>;
  for (;;) {
    const silent = () => response.destroy(new Error(`nothing heard for ${silenceMs} ms`));
    const timer = setTimeout(silent, silenceMs);
    const part = await parts.next().finally(() => clearTimeout(timer));
    if (part.done) {
      return;
    }
    yield part.value;
  }
}

/** The events of a text/event-stream that bear data; comments are for the proxies between. */
export async function* readEvents(
  bytes: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<StreamEvent, void> {
  const decoder = new TextDecoder();
  let pending = "";
  for await (const part of bytes) {
    pending += typeof part === "string" ? part : decoder.decode(part, { stream: true });
    for (let end = pending.indexOf("\n\n"); end >= 0; end = pending.indexOf("\n\n")) {
      const event = eventOf(pending.slice(0, end));
      pending = pending.slice(end + 2);
      if (event) {
        yield event;
      }
    }
  }
}

function eventOf(block: string): StreamEvent | undefined {
  let id: string | undefined;
  let data: string | undefined;
  for (const line of block.split("\n")) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field === "id") {
      id = value;
    } else if (field === "data") {
      data = value;
    }
  }
  if (data === undefined) {
    return undefined;
  }
  return { ...(id === undefined ? {} : { id }), ...(JSON.parse(data) as StreamEvent) };
}
