import type { Transport } from "./transport.js";

interface WebSocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number): void;
}

type WebSocketConstructor = new (url: string, subprotocol: string) => WebSocketLike;

/** Over a WebSocket of the platform, or of a package such as `ws` that looks the same. */
export function webSocketTransport(constructor?: WebSocketConstructor): Transport {
  return (url, subprotocol, handlers) => {
    const found = constructor ?? (globalThis.WebSocket as unknown as WebSocketConstructor);
    const socket = new found(url, subprotocol);
    socket.onopen = () => handlers.opened();
    socket.onmessage = (event: { data: unknown }) => {
      if (typeof event.data === "string") {
        handlers.received(event.data);
      }
    };
    socket.onclose = (event: { code: number; reason: string }) =>
      handlers.closed(event.code, event.reason);
    // A close follows each error. Without a listener some implementations would throw.
    socket.onerror = () => {};
    return {
      send: (text) => socket.send(text),
      close: () => {
        socket.onopen = socket.onmessage = socket.onclose = null;
        // Any reserved code would throw; why it ends is nothing that the server asks.
        socket.close(1000);
      },
    };
  };
}
