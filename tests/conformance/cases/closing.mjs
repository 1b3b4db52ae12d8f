// 7: the closing handshake.
import { beat, beatOf, close, frame, last, ping, start, text } from '../lib/frames.mjs';

const ack = 'heartbeatAck 1';
const broken = 'close 1002 protocol_error';
const closed = (rest) => ({ ...rest, closes: true });

const order = [
  { id: '7.1.1', what: 'a text, then a Close', send: [text(beat(1)), close(1000)], expect: [ack, 'close 1000'] },
  { id: '7.1.2', what: 'two Closes', send: [close(1000), close(1000)], expect: ['close 1000'] },
  { id: '7.1.3', what: 'a ping after the Close', send: [close(1000), ping('late')], expect: ['close 1000'] },
  { id: '7.1.4', what: 'a text after the Close', send: [close(1000), text(beat(1))], expect: ['close 1000'] },
  { id: '7.1.5', what: 'a Close inside a fragmented text', send: [start(beat(1).subarray(0, 9)), close(1000), last(beat(1).subarray(9))], expect: ['close 1000'] },
  { id: '7.1.6', what: 'a large text, a ping, a Close', send: [text(beatOf(131072, 1)), ping('p'), close(1000)], expect: [ack, 'pong 70', 'close 1000'] },
  { id: '7.1.x', what: 'broken frames after the Close', send: [close(1000), frame(3, 'x'), text('{', { mask: false })], expect: ['close 1000'] },
];

const payloads = [
  { id: '7.3.1', what: 'a Close without payload', send: [close()], expect: ['close'] },
  { id: '7.3.2', what: 'a Close of one byte', send: [frame(8, 'a')], expect: [broken] },
  { id: '7.3.3', what: 'a Close with a code', send: [close(1000)], expect: ['close 1000'] },
  { id: '7.3.4', what: 'a Close with code and reason', send: [close(1000, 'Hello World!')], expect: ['close 1000'] },
  { id: '7.3.5', what: 'a Close with the longest reason', send: [close(1000, '*'.repeat(123))], expect: ['close 1000'] },
  { id: '7.3.6', what: 'a Close with a reason of 124 bytes', send: [close(1000, '*'.repeat(124))], expect: [broken] },
  { id: '7.5.1', what: 'a Close whose reason is not UTF-8', send: [close(1000, Buffer.from('cebae1bdb9cf83cebceda080', 'hex'))], expect: ['close 1007 invalid_utf8'] },
  { id: '7.5.x', what: 'a Close whose reason is cut inside a character', send: [close(1000, Buffer.from('e282', 'hex'))], expect: ['close 1007 invalid_utf8'] },
];

const valid = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999, 1012, 1013, 1014];
const invalid = [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999];
const codes = [
  ...valid.map((code, i) => ({ id: `7.7.${i + 1}`, what: `the valid code ${code}`, send: [close(code)], expect: [`close ${code}`] })),
  ...invalid.map((code, i) => ({ id: `7.9.${i + 1}`, what: `the invalid code ${code}`, send: [close(code)], expect: [broken] })),
  { id: '7.13.1', what: 'the undefined code 5000', send: [close(5000)], expect: [broken] },
  { id: '7.13.2', what: 'the undefined code 65535', send: [close(65535)], expect: [broken] },
];

export const closing = [...order, ...payloads, ...codes].map(closed);
