import { PresenceClient } from "@presenced/client";
import {
  LastSeen,
  PresenceDot,
  PresenceProvider,
  useMyStatus,
  usePresence,
  useRoom,
  useTyping,
} from "@presenced/react";
import { createRoot } from "react-dom/client";

const given = new URLSearchParams(location.search);
const people = (given.get("people") ?? "ana,bo").split(",");
const client = new PresenceClient({
  url: given.get("server") ?? "ws://127.0.0.1:8080/v1/connect",
  getToken: () => given.get("token"),
});

function Person({ userId }) {
  const { status, customStatus } = usePresence(userId);
  return (
    <li>
      <PresenceDot userId={userId} /> {userId}: {status} {customStatus?.text} <LastSeen userId={userId} />
    </li>
  );
}

function Me() {
  const { presence, setStatus } = useMyStatus();
  return <button onClick={() => setStatus({ status: "busy" })}>I am {presence.status}</button>;
}

function Room({ room }) {
  const { count } = useRoom(room);
  const [typing, setTyping] = useTyping({ room });
  return (
    <p>
      {count ?? "?"} in {room} <input aria-label="Say" onInput={() => setTyping()} /> {typing.join(", ")}
    </p>
  );
}

createRoot(document.getElementById("app")).render(
  <PresenceProvider client={client}>
    <Me />
    <ul>
      {people.map((userId) => (
        <Person key={userId} userId={userId} />
      ))}
    </ul>
    <Room room="lobby" />
  </PresenceProvider>,
);
