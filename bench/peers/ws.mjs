// Presence on `ws`, as its README has it: no compression, a ping every 30 s for those that have been silent.
import { WebSocketServer } from 'ws';
import { Presence, userOf } from './presence.mjs';

const watchers = new Map();
const presence = new Presence((user, text) => {
  for (const socket of watchers.get(user) ?? []) socket.send(text);
});

function handle(socket, message) {
  switch (message.type) {
    case 'hello':
      socket.user = userOf(message.token);
      socket.send(presence.attach(socket.user));
      break;
    case 'heartbeat':
      presence.beat(socket.user);
      break;
    case 'status':
      presence.declare(socket.user, message.status);
      break;
    case 'watch':
      for (const user of message.users) {
        if (!watchers.has(user)) watchers.set(user, new Set());
        watchers.get(user).add(socket);
      }
      socket.watched = message.users;
      socket.send(presence.snapshot(message.users));
      break;
  }
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false, maxPayload: 131_072, backlog: 4096 });
server.on('connection', (socket) => {
  socket.isAlive = true;
  socket.on('message', (data) => handle(socket, JSON.parse(data)));
  socket.on('pong', () => {
    socket.isAlive = true;
    presence.beat(socket.user);
  });
  socket.on('close', () => {
    for (const user of socket.watched ?? []) watchers.get(user).delete(socket);
    if (socket.user) presence.detach(socket.user);
  });
  socket.on('error', () => {});
});
setInterval(() => {
  for (const socket of server.clients) {
    if (!socket.isAlive) socket.terminate();
    else {
      socket.isAlive = false;
      socket.ping();
    }
  }
}, 30_000);
server.on('listening', () => console.log(`ready http://127.0.0.1:${server.address().port}`));
