// Every case of frames in the table, against one server: see README.md.
import { describe } from 'node:test';
import { closing } from '../cases/closing.mjs';
import { fragments } from '../cases/fragments.mjs';
import { framing } from '../cases/framing.mjs';
import { holdServer } from '../lib/held.mjs';
import { playAll } from '../lib/play.mjs';

const held = holdServer();

describe('FO-095 framing, pings, reserved bits, opcodes', { concurrency: 4 }, () => playAll(held, framing));
describe('FO-095 fragments', { concurrency: 4 }, () => playAll(held, fragments));
describe('FO-096 closing', { concurrency: 4 }, () => playAll(held, closing));
