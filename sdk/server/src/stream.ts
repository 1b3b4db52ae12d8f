import type { StreamEvent } from "./types.js";

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
