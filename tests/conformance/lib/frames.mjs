// Frames as a client sends them, and such as none should.

/** Masks in turn, the same in each run; a mask of zeros is one, too. */
const masks = [[0x37, 0xfa, 0x21, 0x3d], [0, 0, 0, 0], [0xff, 0xff, 0xff, 0xff], [0x80, 0, 0x7f, 1]];
let masked = 0;

/**
 * One frame.
 *
 * @param form    bytes of the length beside the first seven bits (0, 2, 8): else the shortest
 * @param length  what the header says, where that is not the truth
 */
export function frame(opcode, payload = '', { fin = true, rsv = 0, mask = true, form, length } = {}) {
  const body = Buffer.from(payload);
  const size = BigInt(length ?? body.length);
  const bytes = form ?? (size < 126n ? 0 : size < 65536n ? 2 : 8);
  const head = Buffer.alloc(2 + bytes);
  head[0] = (fin ? 0x80 : 0) | (rsv << 4) | opcode;
  head[1] = (mask ? 0x80 : 0) | { 0: Number(size), 2: 126, 8: 127 }[bytes];
  if (bytes === 2) head.writeUInt16BE(Number(size), 2);
  if (bytes === 8) head.writeBigUInt64BE(size, 2);
  if (!mask) return Buffer.concat([head, body]);
  const key = masks[masked++ % masks.length];
  const whole = Buffer.concat([head, Buffer.from(key), body]);
  for (let i = head.length + 4, j = 0; i < whole.length; ++i, ++j) whole[i] ^= key[j & 3];
  return whole;
}

export const text = (payload, options) => frame(1, payload, options);
export const start = (payload) => frame(1, payload, { fin: false });
export const more = (payload) => frame(0, payload, { fin: false });
export const last = (payload) => frame(0, payload);
export const binary = (payload, options) => frame(2, payload, options);
export const ping = (payload, options) => frame(9, payload, options);
export const pong = (payload, options) => frame(10, payload, options);

/** A Close; without a code it is empty. */
export function close(code, reason = '', options) {
  if (code === undefined) return frame(8, '', options);
  const two = Buffer.alloc(2);
  two.writeUInt16BE(code);
  return frame(8, Buffer.concat([two, Buffer.from(reason)]), options);
}

/** Random-looking bytes, the same in each run. */
export function odd(size) {
  const bytes = Buffer.alloc(size);
  for (let i = 0; i < size; ++i) bytes[i] = (i * 167 + 254) & 255;
  return bytes;
}

/** A message that is answered: `heartbeatAck` with its id. `inside` are the bytes of a string in it. */
export const beat = (id, inside = '') => Buffer.concat([
  Buffer.from(`{"type":"heartbeat","id":${id},"inside":"`), Buffer.from(inside), Buffer.from('"}')]);

/** The same, of exactly so many bytes. */
export const beatOf = (size, id) => beat(id, 'x'.repeat(size - beat(id).length));

/** A message in pieces of that size: a start, continuations, an end. */
export function inPieces(message, size) {
  const cut = [];
  for (let at = 0; at < message.length; at += size) cut.push(message.subarray(at, at + size));
  return cut.map((piece, i) => frame(i === 0 ? 1 : 0, piece, { fin: i === cut.length - 1 }));
}
