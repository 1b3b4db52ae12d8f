// node watch.mjs TOKEN USER... tells when they come and go, until Ctrl-C.
import { PresenceClient, webSocketTransport } from "@presenced/client";
import WebSocket from "ws";

const [token, ...people] = process.argv.slice(2);
const client = new PresenceClient({
  url: process.env.PRESENCED_URL ?? "ws://127.0.0.1:8080/v1/connect",
  getToken: () => token,
  device: { type: "bot" },
  observe: true, // It looks and does not count as somebody who is here.
  transport: webSocketTransport(WebSocket),
});

client.on("presence", (changed) => {
  for (const userId of changed) {
    console.log(`${userId}: ${client.presence(userId).status}`);
  }
});
client.on("error", (error) => console.error(error.code, error.message));
client.watch(people);
client.connect();

process.once("SIGINT", () => {
  client.signOut();
  client.destroy();
});
