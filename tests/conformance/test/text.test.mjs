// Every case of UTF-8 in the table, against one server: see README.md.
import { describe } from 'node:test';
import { texts } from '../cases/text.mjs';
import { holdServer } from '../lib/held.mjs';
import { playAll } from '../lib/play.mjs';

const held = holdServer();

describe('UTF-8', { concurrency: 4 }, () => playAll(held, texts));
