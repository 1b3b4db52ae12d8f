// Presence on uWebSockets with its own topics: the fastest way it has to tell many of one change.
import uWS from 'uwebsockets';
import { Presence, userOf } from './presence.mjs';

const app = uWS.App();
const presence = new Presence((user, text) => app.publish(user, text));
const decoder = new TextDecoder();

app.ws('/*', {
  compression: uWS.DISABLED,
  maxPayloadLength: 131_072,
  idleTimeout: 120,
  sendPingsAutomatically: true,
  message: (socket, bytes) => {
    const message = JSON.parse(decoder.decode(bytes));
    const data = socket.getUserData();
    switch (message.type) {
      case 'hello':
        data.user = userOf(message.token);
        socket.send(presence.attach(data.user));
        break;
      case 'heartbeat':
        presence.beat(data.user);
        break;
      case 'status':
        presence.declare(data.user, message.status);
        break;
      case 'watch':
        for (const user of message.users) socket.subscribe(user);
        socket.send(presence.snapshot(message.users));
        break;
    }
  },
  pong: (socket) => presence.beat(socket.getUserData().user),
  close: (socket) => {
    const { user } = socket.getUserData();
    if (user) presence.detach(user);
  },
});
app.listen('127.0.0.1', 0, (socket) => {
  console.log(`ready http://127.0.0.1:${uWS.us_socket_local_port(socket)}`);
});
