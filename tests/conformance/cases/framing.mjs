// 1 to 4: lengths, pings, reserved bits, opcodes.
import { beat, beatOf, binary, close, frame, inPieces, odd, ping, pong, text } from '../lib/frames.mjs';

const ack = (id) => `heartbeatAck ${id}`;
const answered = (payload = '') => `pong ${Buffer.from(payload).toString('hex')}`.trim();
const broken = 'close 1002 protocol_error';
const sizes = [0, 125, 126, 127, 128, 65535, 65536];

const lengths = [
  ...sizes.map((size, i) => ({
    id: `1.1.${i + 1}`, what: `a text of ${size} bytes`,
    send: [text(size === 0 ? '' : beatOf(size, 7))], expect: [size === 0 ? 'error - badRequest' : ack(7)],
  })),
  { id: '1.1.8', what: 'a text of 65536 bytes in fragments of 997', send: inPieces(beatOf(65536, 7), 997), expect: [ack(7)] },
  ...[...sizes, 65536].map((size, i) => ({
    id: `1.2.${i + 1}`, what: `a binary message of ${size} bytes`, send: [binary(odd(size))], expect: ['close 1003 unsupported_data'],
  })),
  // RFC 6455, 5.2: "the minimal number of bytes MUST be used to encode the length".
  { id: '1.x.1', what: 'two bytes of length where none would do', send: [text(beat(7), { form: 2 })], expect: [broken] },
  { id: '1.x.2', what: 'eight bytes of length where two would do', send: [text(beatOf(300, 7), { form: 8 })], expect: [broken] },
  { id: '1.x.3', what: 'a length with its highest bit set', send: [text('', { form: 8, length: 1n << 63n })], expect: [broken] },
  { id: '1.x.4', what: 'a text without a mask', send: [text(beat(7), { mask: false })], expect: [broken] },
  { id: '1.x.5', what: 'a ping without a mask', send: [ping('', { mask: false })], expect: [broken] },
  { id: '1.x.6', what: 'a Close without a mask', send: [close(1000, '', { mask: false })], expect: [broken] },
  { id: '1.x.7', what: 'masks of each kind', send: [1, 2, 3, 4, 5].map((id) => text(beat(id))), expect: [1, 2, 3, 4, 5].map(ack) },
];

const tenPings = Array.from({ length: 10 }, (_, i) => `payload-${i}`);
const pings = [
  { id: '2.1', what: 'a ping without payload', send: [ping()], expect: [answered()] },
  { id: '2.2', what: 'a ping with text', send: [ping('Hello, world!')], expect: [answered('Hello, world!')] },
  { id: '2.3', what: 'a ping with bytes that are no text', send: [ping(odd(7))], expect: [answered(odd(7))] },
  { id: '2.4', what: 'a ping of 125 bytes', send: [ping(odd(125))], expect: [answered(odd(125))] },
  { id: '2.5', what: 'a ping of 126 bytes', send: [ping(odd(126))], expect: [broken] },
  { id: '2.6', what: 'a ping of 125 bytes, in crumbs', send: [ping(odd(125))], expect: [answered(odd(125))] },
  { id: '2.7', what: 'a pong that nobody asked for', send: [pong()], expect: [] },
  { id: '2.8', what: 'a pong with payload that nobody asked for', send: [pong('unasked')], expect: [] },
  { id: '2.9', what: 'such a pong, then a ping', send: [pong('unasked'), ping('asked')], expect: [answered('asked')] },
  { id: '2.10', what: 'ten pings', send: tenPings.map((one) => ping(one)), expect: tenPings.map(answered) },
  { id: '2.11', what: 'ten pings, in crumbs', send: tenPings.map((one) => ping(one)), expect: tenPings.map(answered) },
  { id: '2.x.1', what: 'a ping of 65,536 bytes', send: [ping(odd(65536))], expect: [broken] },
  { id: '2.x.2', what: 'a ping whose length stands in two bytes', send: [ping('short', { form: 2 })], expect: [broken] },
  { id: '2.x.3', what: 'a pong of 126 bytes', send: [pong(odd(126))], expect: [broken] },
  { id: '2.x.4', what: 'pings between messages are answered in their place',
    send: [ping('a'), text(beat(1)), ping('b'), ping('c'), text(beat(2)), ping('d')],
    expect: [answered('a'), ack(1), answered('b'), answered('c'), ack(2), answered('d')] },
];

const reserved = [
  { id: '3.1', what: 'a text with RSV 1', send: [text(beat(1), { rsv: 1 })], expect: [broken] },
  { id: '3.2', what: 'a text, then one with RSV 2, then a ping', send: [text(beat(1)), text(beat(2), { rsv: 2 }), ping()], expect: [ack(1), broken] },
  { id: '3.3', what: 'a text, then one with RSV 3, then a ping', send: [text(beat(1)), text(beat(2), { rsv: 3 }), ping()], expect: [ack(1), broken] },
  { id: '3.4', what: 'a text, then one with RSV 4, then a ping', send: [text(beat(1)), text(beat(2), { rsv: 4 }), ping()], expect: [ack(1), broken] },
  { id: '3.5', what: 'a binary message with RSV 5', send: [binary(odd(8), { rsv: 5 })], expect: [broken] },
  { id: '3.6', what: 'a ping with RSV 6', send: [ping('x', { rsv: 6 })], expect: [broken] },
  { id: '3.7', what: 'a Close with RSV 7', send: [close(1000, '', { rsv: 7 })], expect: [broken], closes: true },
  { id: '3.x.1', what: 'a continuation with RSV 1', send: [frame(1, beat(1).subarray(0, 9), { fin: false }), frame(0, beat(1).subarray(9), { rsv: 1 })], expect: [broken] },
];

const opcodes = [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode, i) => {
  const withPayload = i % 5 === 1 || i % 5 >= 3;
  const afterText = i % 5 >= 2;
  const odd_ = frame(opcode, withPayload ? 'payload' : '');
  return {
    id: `4.${i < 5 ? 1 : 2}.${1 + (i % 5)}`,
    what: `${afterText ? 'a text, then ' : ''}opcode ${opcode} ${withPayload ? 'with' : 'without'} payload${afterText ? ', then a ping' : ''}`,
    send: afterText ? [text(beat(1)), odd_, ping()] : [odd_], expect: afterText ? [ack(1), broken] : [broken],
  };
});

export const framing = [...lengths, ...pings, ...reserved, ...opcodes];
