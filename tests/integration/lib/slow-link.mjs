// A gate in TCP that lets only so many bytes a second through, each way and on each connection, as a thin line would.
import net from 'node:net';

const turnMs = 20;

/** Carries from one socket to the other; what it cannot send yet stays with the sender. */
class Lane {
  constructor(gate, from, to) { Object.assign(this, { gate, from, to }); from.pause(); }

  turn() {
    let left = Math.ceil(this.gate.bytesPerSecond * turnMs / 1000);
    // At most that much is taken out of the socket, so that its window closes and the sender feels it.
    while (left > 0 && this.to.writableLength < 65_536) {
      const piece = this.from.read(Math.min(left, this.from.readableLength) || undefined);
      if (piece === null) return;
      left -= piece.length;
      this.gate.carried += piece.length;
      this.to.write(piece);
    }
  }
}

export class SlowLink {
  /** @param port  of loopback, where what comes in is sent on. */
  static async start(port, bytesPerSecond) {
    const gate = new SlowLink();
    Object.assign(gate, { bytesPerSecond, carried: 0, lanes: new Set(), sockets: new Set() });
    gate.server = net.createServer({ highWaterMark: 4096 }, (near) => {
      const far = net.connect({ port, host: '127.0.0.1', highWaterMark: 4096 });
      const lanes = [new Lane(gate, near, far), new Lane(gate, far, near)];
      for (const lane of lanes) gate.lanes.add(lane);
      const end = () => {
        for (const lane of lanes) gate.lanes.delete(lane);
        for (const socket of [near, far]) { socket.destroy(); gate.sockets.delete(socket); }
      };
      for (const socket of [near, far]) { gate.sockets.add(socket); socket.setNoDelay(true); socket.on('close', end).on('error', end); }
    });
    await new Promise((resolve) => { gate.server.listen(0, '127.0.0.1', resolve); });
    gate.port = gate.server.address().port;
    gate.timer = setInterval(() => { for (const lane of gate.lanes) lane.turn(); }, turnMs);
    return gate;
  }

  get redisUrl() { return `redis://127.0.0.1:${this.port}`; }
  get wsUrl() { return `ws://127.0.0.1:${this.port}/v1/connect`; }

  async dispose() {
    clearInterval(this.timer);
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => { this.server.close(resolve); });
  }
}
