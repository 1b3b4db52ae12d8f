// 6: text is UTF-8. The sequences are those of Markus Kuhn's stress test, in the order in which Autobahn numbers them.
import { beat, last, more, start, text } from '../lib/frames.mjs';

const ack = ['heartbeatAck 1'];
const invalid = ['close 1007 invalid_utf8'];
const bytes = (hex) => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const kosme = bytes('ceba e1bdb9 cf83 cebc ceb5');
const wrong = Buffer.concat([kosme, bytes('eda080'), Buffer.from('edited')]);

/** A message whose string is cut before those bytes of it. */
const cutIn = (inside, ...cuts) => {
  const message = beat(1, inside);
  const from = message.indexOf(inside);
  const edges = [0, ...cuts.map((cut) => from + cut), message.length];
  const pieces = edges.slice(1).map((edge, i) => message.subarray(edges[i], edge));
  return pieces.map((piece, i) => (i === 0 ? start : i === pieces.length - 1 ? last : more)(piece));
};
const every = Array.from({ length: kosme.length - 1 }, (_, i) => i + 1);
const mixed = Buffer.from('Hello-µ@ßöäüàá-UTF-8!!');

const pieces = [
  { id: '6.1.1', what: 'an empty text', send: [text('')], expect: ['error - badRequest'] },
  { id: '6.1.2', what: 'three empty fragments', send: [start(''), more(''), last('')], expect: ['error - badRequest'] },
  { id: '6.1.3', what: 'three fragments, only the second not empty', send: [start(''), more(beat(1)), last('')], expect: ack },
  { id: '6.2.1', what: 'valid text', send: [text(beat(1, mixed))], expect: ack },
  { id: '6.2.2', what: 'valid text cut between characters', send: cutIn(mixed, 11), expect: ack },
  { id: '6.2.3', what: 'valid text cut at every byte', send: cutIn(mixed, ...Array.from({ length: mixed.length - 1 }, (_, i) => i + 1)), expect: ack },
  { id: '6.2.4', what: 'valid text of long characters cut at every byte', send: cutIn(kosme, ...every), expect: ack },
  { id: '6.3.1', what: 'invalid text', send: [text(beat(1, wrong))], expect: invalid },
  { id: '6.3.2', what: 'invalid text cut at every byte', send: cutIn(wrong, ...Array.from({ length: wrong.length - 1 }, (_, i) => i + 1)), expect: invalid },
  // Told with the fragment that shows it, though the message never ends.
  { id: '6.4.1', what: 'invalid text in the second of three fragments, before the third', send: [start(kosme), more(bytes('f4908080'))], expect: invalid },
  { id: '6.4.2', what: 'the same, where the fault is in the second byte of a character', send: [start(Buffer.concat([kosme, bytes('f4')])), more(bytes('90'))], expect: invalid },
  // Inside a frame it is told when the frame is whole.
  { id: '6.4.3', what: 'invalid text within one frame', send: [text(beat(1, bytes('f4908080')))], expect: invalid },
  { id: '6.4.4', what: 'invalid text within one frame, by its second byte', send: [text(beat(1, bytes('f490')))], expect: invalid },
];

/** Hexadecimal, `!` before what is not UTF-8. */
const missing = ['c0', 'e080', 'f08080', 'f8808080', 'fc80808080', 'df', 'efbf', 'f7bfbf', 'fbbfbfbf', 'fdbfbfbfbf'];
const run = (from, below, between = '') => Array.from({ length: below - from }, (_, i) => (from + i).toString(16) + between).join('');
const planes = ['f0', 'f1', 'f2', 'f3', 'f4'].flatMap((first) => ['8f', '9f', 'af', 'bf'].map((second) => first + second))
  .filter((head) => head !== 'f08f' && (!head.startsWith('f4') || head === 'f48f'));
const sequences = {
  'some valid sequences': ['68656c6c6f24776f726c64', '68656c6c6fc2a2776f726c64', '68656c6c6fe282ac776f726c64', '68656c6c6ff0a4ada2776f726c64', kosme.toString('hex')],
  'prefixes of a text': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((size) => ([2, 5, 7, 9, 11].includes(size) ? '' : '!') + kosme.subarray(0, size).toString('hex')),
  'the first sequence of each length': ['00', 'c280', 'e0a080', 'f0908080'],
  'the first of 5 and 6 bytes': ['!f888808080', '!fc8480808080'],
  'the last of each length': ['7f', 'dfbf', 'efbfbf', 'f48fbfbf'],
  'the last of 4, 5 and 6 bytes': ['!f7bfbfbf', '!fbbfbfbfbf', '!fdbfbfbfbfbf'],
  'other boundaries': ['ed9fbf', 'ee8080', 'efbfbd', 'f48fbfbf', '!f4908080'],
  'unexpected continuations': ['!80', '!bf', '!80bf', '!80bf80', '!80bf80bf', '!80bf80bf80', '!80bf80bf80bf', `!${run(0x80, 0xbf)}`],
  'lonely starts': [[0xc0, 0xdf], [0xe0, 0xef], [0xf0, 0xf7], [0xf8, 0xfb], [0xfc, 0xfd]].map(([from, below]) => `!${run(from, below, '20')}`),
  'the last continuation missing': missing.map((one) => `!${one}`),
  'incomplete sequences in a row': [`!${missing.join('')}`],
  'impossible bytes': ['!fe', '!ff', '!fefeffff'],
  'overlong ASCII': ['!c0af', '!e080af', '!f08080af', '!f8808080af', '!fc80808080af'],
  'the longest overlong': ['!c1bf', '!e09fbf', '!f08fbfbf', '!f887bfbfbf', '!fc83bfbfbfbf'],
  'an overlong NUL': ['!c080', '!e08080', '!f0808080', '!f880808080', '!fc8080808080'],
  'single surrogates': ['!eda080', '!edadbf', '!edae80', '!edafbf', '!edb080', '!edbe80', '!edbfbf'],
  'surrogates in pairs': ['eda080', 'edadbf', 'edae80', 'edafbf'].flatMap((high) => ['edb080', 'edbfbf'].map((low) => `!${high}${low}`)),
  'non-characters, which are valid': ['efbfbe', 'efbfbf', ...planes.flatMap((head) => [`${head}bfbe`, `${head}bfbf`])],
  specials: ['efbfb9', 'efbfba', 'efbfbb', 'efbfbc', 'efbfbd', 'efbfbe', 'efbfbf'],
};

const stress = Object.entries(sequences).flatMap(([what, list], i) => list.map((hex, j) => {
  const isValid = !hex.startsWith('!');
  const inside = bytes(isValid ? hex : hex.slice(1));
  // JSON has no bare NUL inside a string, so that text is whole and no message.
  const good = inside.includes(0) ? ['error - badRequest'] : ack;
  return { id: `6.${i + 5}.${j + 1}`, what: `${what}: ${inside.toString('hex').slice(0, 40)}`, send: [text(beat(1, inside))], expect: isValid ? good : invalid };
}));

export const texts = [...pieces, ...stress];
