// Every case of sizes in the table, against one server: see README.md.
import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { sizes } from '../cases/sizes.mjs';
import { holdServer } from '../lib/held.mjs';
import { playAll } from '../lib/play.mjs';

const held = holdServer();
let heldBefore;

describe('FO-094 sizes', { concurrency: 2 }, () => {
  before(() => { heldBefore = held.server.residentBytes(); });
  playAll(held, sizes);
  after(() => {
    const grown = held.server.residentBytes() - heldBefore;
    assert.ok(grown < 32e6, `messages of up to 16 MiB were refused, and ${grown} bytes more are held`);
  });
});
