// 5: messages in fragments.
import { beat, binary, close, frame, last, more, ping, pong, start, text } from '../lib/frames.mjs';

const broken = 'close 1002 protocol_error';
const whole = beat(1, 'fragment1fragment2fragment3');
const [one, two, three, four, five] = [0, 10, 20, 30, 40].map((at, i) => whole.subarray(at, i === 4 ? undefined : at + 10));
const rest = whole.subarray(10);
const ack = ['heartbeatAck 1'];
const hello = `pong ${Buffer.from('ping payload').toString('hex')}`;
const knock = () => ping('ping payload');
const nothingToContinue = (fin) => frame(0, 'non-continuation payload', { fin });

export const fragments = [
  { id: '5.1', what: 'a ping in two fragments', send: [ping('frag', { fin: false }), last('ment')], expect: [broken] },
  { id: '5.2', what: 'a pong in two fragments', send: [pong('frag', { fin: false }), last('ment')], expect: [broken] },
  ...['5.3', '5.4', '5.5'].map((id, i) => ({
    id, what: 'a text in two fragments', only: [['frame by frame'], ['in one packet'], ['byte by byte']][i],
    send: [start(one), last(rest)], expect: ack,
  })),
  ...['5.6', '5.7', '5.8'].map((id, i) => ({
    id, what: 'a text in two fragments with a ping between them', only: [['frame by frame'], ['in one packet'], ['byte by byte']][i],
    send: [start(one), knock(), last(rest)], expect: [hello, ...ack],
  })),
  ...['5.9', '5.10', '5.11'].map((id, i) => ({
    id, what: 'the end of nothing, then a text', only: [['frame by frame'], ['in one packet'], ['byte by byte']][i],
    send: [nothingToContinue(true), text(whole)], expect: [broken],
  })),
  ...['5.12', '5.13', '5.14'].map((id, i) => ({
    id, what: 'a continuation of nothing, then a text', only: [['frame by frame'], ['in one packet'], ['byte by byte']][i],
    send: [nothingToContinue(false), text(whole)], expect: [broken],
  })),
  { id: '5.15', what: 'a text in two fragments, a continuation of nothing, a text', send: [start(one), last(rest), nothingToContinue(false), text(beat(2))], expect: [...ack, broken] },
  { id: '5.16', what: 'twice: a continuation of nothing, a text', send: [nothingToContinue(false), text(whole), nothingToContinue(false), text(whole)], expect: [broken] },
  { id: '5.17', what: 'twice: the end of nothing, a text', send: [nothingToContinue(true), text(whole), nothingToContinue(true), text(whole)], expect: [broken] },
  { id: '5.18', what: 'a text whose second fragment is a text', send: [start(one), text(rest)], expect: [broken] },
  ...['5.19', '5.20'].map((id) => ({
    id, what: 'a text in five fragments with pings between them',
    send: [start(one), more(two), knock(), more(three), more(four), knock(), last(five)], expect: [hello, hello, ...ack],
  })),
  { id: '5.x.1', what: 'a text whose fragments are empty but one', send: [start(''), more(''), more(whole), more(''), last('')], expect: ack },
  { id: '5.x.2', what: 'a fragment for each byte', send: [start(whole.subarray(0, 1)), ...[...whole.subarray(1)].map((byte) => more(Buffer.from([byte]))), last('')], expect: ack },
  { id: '5.x.3', what: 'a binary message inside a text', send: [start(one), binary('x')], expect: [broken] },
  { id: '5.x.4', what: 'a binary message in fragments', send: [binary('x', { fin: false }), last('y')], expect: ['close 1003 unsupported_data'] },
  { id: '5.x.5', what: 'a pong between fragments', send: [start(one), pong('x'), last(rest)], expect: ack },
  { id: '5.x.6', what: 'a Close in two fragments', send: [close(1000, '', { fin: false }), last('')], expect: [broken], closes: true },
  { id: '5.x.7', what: 'two texts in fragments, one after the other', send: [start(one), last(rest), start(beat(2).subarray(0, 5)), last(beat(2).subarray(5))], expect: [...ack, 'heartbeatAck 2'] },
  { id: '5.x.8', what: '1,024 frames', send: [start(whole), ...Array.from({ length: 1022 }, () => more('')), last('')], expect: ack },
  { id: '5.x.9', what: '1,025 frames', send: [start(whole), ...Array.from({ length: 1023 }, () => more('')), last('')], expect: ['close 1008 policy'] },
];
