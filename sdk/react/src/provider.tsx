import { PresenceClient, type ClientOptions } from "@presenced/client";
import { createContext, useContext, useEffect, useRef, useState, type ReactNode } from "react";

/** Null: no provider above. Undefined: its client is not made yet, as on a server. */
const Context = createContext<PresenceClient | null | undefined>(null);

/** How many mounted providers keep a client connected. */
const holds = new Map<PresenceClient, number>();

/** Connects the client; once nobody holds it any more, `end` is called. */
function hold(client: PresenceClient, end: () => void): () => void {
  holds.set(client, (holds.get(client) ?? 0) + 1);
  client.connect();
  return () => {
    holds.set(client, (holds.get(client) ?? 1) - 1);
    // Strict Mode, or a change of pages, mounts again at once: that is no end.
    setTimeout(() => {
      if (holds.get(client) === 0) {
        holds.delete(client);
        end();
      }
    });
  };
}

export interface PresenceProviderProps {
  /** A client of the app's own. It is connected while the provider is mounted. */
  client?: PresenceClient;
  /** Or what a client is made of, once, in the browser alone; it is destroyed on unmount. */
  options?: ClientOptions;
  children?: ReactNode;
}

/** Gives a client to the hooks below it. */
export function PresenceProvider({ client, options, children }: PresenceProviderProps) {
  const [made, setMade] = useState<PresenceClient>();
  const own = useRef<PresenceClient | undefined>(undefined);
  useEffect(() => {
    if (client) {
      return hold(client, () => client.disconnect());
    }
    const mine = (own.current ??= new PresenceClient(options as ClientOptions));
    setMade(mine);
    return hold(mine, () => {
      mine.destroy();
      own.current = undefined;
    });
    // Other options for the same client would be another client: give the provider a key for that.
  }, [client]);
  return <Context.Provider value={client ?? made}>{children}</Context.Provider>;
}

/** The client of the provider above; undefined on a server and in the first render. */
export function usePresenceClient(): PresenceClient | undefined {
  const client = useContext(Context);
  if (client === null) {
    throw new Error("there is no <PresenceProvider> above");
  }
  return client;
}
