// A cable between a browser and the server that can be cut: from then on bytes vanish in both
// directions, and neither side is told, as when a phone leaves the network.

import { connect, createServer } from "node:net";

/** Listens on a free port and forwards to `url`. */
export async function layCable(url) {
  const target = new URL(url);
  const pairs = new Set();
  let isCut = false;
  const server = createServer((near) => {
    near.on("error", () => {});
    if (isCut) {
      pairs.add([near]);
      near.resume();
      return;
    }
    const far = connect(Number(target.port), target.hostname);
    const pair = [near, far];
    pairs.add(pair);
    far.on("error", () => {});
    for (const [from, to] of [pair, [far, near]]) {
      from.on("data", (bytes) => !isCut && to.write(bytes));
      from.on("close", () => !isCut && to.destroy());
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut: () => (isCut = true),
    /** New connections go through again; those that were cut stay dead. */
    mend: () => {
      for (const socket of [...pairs].flat()) {
        socket.destroy();
      }
      pairs.clear();
      isCut = false;
    },
    close: () => {
      for (const socket of [...pairs].flat()) {
        socket.destroy();
      }
      server.close();
    },
  };
}
