// 9 and 10: large messages, many messages. The largest is 128 KiB (`limits.messageBytes`), so larger ones than that,
// which the suite sends up to 16 MiB, are refused by their header.
import { beat, beatOf, binary, inPieces, odd, text } from '../lib/frames.mjs';

const ack = ['heartbeatAck 1'];
const most = 128 * 1024;
const tooLarge = ['close 1009 message_too_large'];
const KiB = 1024;
const large = [64 * KiB, 256 * KiB, 1024 * KiB, 4096 * KiB, 8192 * KiB, 16384 * KiB];
const name = (size) => (size < 1024 * KiB ? `${size / KiB} KiB` : `${size / KiB / 1024} MiB`);

const wholes = [
  ...large.map((size, i) => ({ id: `9.1.${i + 1}`, what: `a text of ${name(size)}`, only: ['frame by frame'], send: () => [text(beatOf(size, 1))], expect: size <= most ? ack : tooLarge })),
  ...large.map((size, i) => ({ id: `9.2.${i + 1}`, what: `a binary message of ${name(size)}`, only: ['frame by frame'], send: () => [binary(odd(size))], expect: ['close 1003 unsupported_data'] })),
  { id: '9.x.1', what: 'the largest text', send: () => [text(beatOf(most, 1))], expect: ack },
  { id: '9.x.2', what: 'a text one byte larger', send: () => [text(beatOf(most + 1, 1))], expect: tooLarge },
  { id: '9.x.3', what: 'the largest text in two fragments', send: () => inPieces(beatOf(most, 1), most - 1), expect: ack },
  { id: '9.x.4', what: 'one byte more in two fragments', send: () => inPieces(beatOf(most + 1, 1), most), expect: tooLarge },
  { id: '9.x.5', what: 'the header of a text of 2^63-1 bytes', send: () => [text('', { form: 8, length: (1n << 63n) - 1n })], expect: tooLarge },
];

const fragmentSizes = [64, 256, KiB, 4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, 1024 * KiB, 4096 * KiB];
// 64-byte fragments of 128 KiB would be twice as many frames as a message may have.
const inFragments = fragmentSizes.map((size, i) => {
  const whole = Math.min(most, size * 1024);
  return { id: `9.3.${i + 1}`, what: `the largest text in fragments of ${size} bytes`, only: ['frame by frame', 'in one packet'], send: () => inPieces(beatOf(whole, 1), size), expect: ack };
});
const tooLargeInFragments = fragmentSizes.slice(1).map((size, i) => ({
  id: `9.3.x.${i + 1}`, what: `a text too large in fragments of ${size} bytes`, only: ['frame by frame'], send: () => inPieces(beatOf(256 * KiB, 1), size), expect: tooLarge,
}));
const binaryInFragments = fragmentSizes.map((size, i) => ({
  id: `9.4.${i + 1}`, what: `a binary message in fragments of ${size} bytes`, only: ['frame by frame'],
  send: () => [binary(odd(Math.min(size, KiB)), { fin: false, length: size })], expect: ['close 1003 unsupported_data'],
}));

/** In writes of that size: the socket's pieces, not the message's. */
const chopped = [64, 128, 256, 512, 1024, 2048].flatMap((size, i) => {
  const pieces = (whole) => Array.from({ length: Math.ceil(whole.length / size) }, (_, j) => whole.subarray(j * size, (j + 1) * size));
  return [
    { id: `9.5.${i + 1}`, what: `the largest text in packets of ${size} bytes`, only: ['frame by frame'], send: () => pieces(text(beatOf(most, 1))), expect: ack },
    { id: `9.6.${i + 1}`, what: `a binary message in packets of ${size} bytes`, only: ['frame by frame'], send: () => pieces(binary(odd(64 * KiB))), expect: ['close 1003 unsupported_data'] },
  ];
});

const ids = Array.from({ length: 1000 }, (_, i) => i + 1);
const many = [0, 16, 64, 256, 1024, 4096].flatMap((size, i) => [
  { id: `9.7.${i + 1}`, what: `1,000 texts with ${size} bytes inside`, only: ['frame by frame', 'in one packet'],
    send: () => ids.map((id) => text(beat(id, 'x'.repeat(size)))), expect: ids.map((id) => `heartbeatAck ${id}`) },
  { id: `9.8.${i + 1}`, what: `1,000 binary messages of ${size} bytes: the first ends it`, only: ['in one packet'],
    send: () => ids.map(() => binary(odd(size))), expect: ['close 1003 unsupported_data'] },
]);

const automatic = { id: '10.1.1', what: 'a text of 65,536 bytes in fragments of 1,300', send: () => inPieces(beatOf(65536, 1), 1300), expect: ack };

export const sizes = [...wholes, ...inFragments, ...tooLargeInFragments, ...binaryInFragments, ...chopped, ...many, automatic];
