/** What the page asks over HTTP; all addresses are relative to the page. */

export interface Person {
  readonly userId: string;
  readonly name: string;
}

async function json(path: string, init?: RequestInit): Promise<unknown> {
  const answer = await fetch(path, init);
  if (!answer.ok) {
    throw new Error(`${path.split("?")[0]} answered ${answer.status}`);
  }
  return answer.json();
}

/** A token of the development server, which believes any name. */
export async function fetchToken(userId: string): Promise<string> {
  const answer = (await json(`demo/token?user=${encodeURIComponent(userId)}`)) as { token: string };
  return answer.token;
}

/** The people whom the server simulates; none where it does not. */
export async function fetchPeople(): Promise<Person[]> {
  try {
    return ((await json("demo/people")) as { people: Person[] }).people;
  } catch {
    return [];
  }
}

/**
 * The server hears nothing of the session's connection from now on, as if the network were gone. A
 * page alone cannot play that: its browser answers the server's Pings whatever the page does.
 */
export async function deafen(userId: string, sessionId: string): Promise<void> {
  const query = `user=${encodeURIComponent(userId)}&session=${encodeURIComponent(sessionId)}`;
  await fetch(`demo/deafen?${query}`, { method: "POST" }).catch(() => undefined);
}

/** Whom the user has blocked. */
export async function fetchBlocks(userId: string): Promise<string[]> {
  const token = await fetchToken(userId);
  const answer = (await json(`v1/users/${encodeURIComponent(userId)}/blocks`, {
    headers: { authorization: `Bearer ${token}` },
  })) as { users: string[] };
  return answer.users;
}

export function connectUrl(): string {
  const url = new URL("v1/connect", document.baseURI);
  url.search = "";
  url.hash = "";
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}
