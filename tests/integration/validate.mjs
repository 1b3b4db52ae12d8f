// Checks the documents of the outside contract against each other and against the rules for such
// documents: api/openapi.yaml as OpenAPI 3.1, protocol/protocol.json, protocol/examples/.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { parse } from 'yaml';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const problems = [];
const check = (holds, text) => { if (!holds) problems.push(text); };

const openapiText = readFileSync(path.join(root, 'api/openapi.yaml'), 'utf8');
const openapi = parse(openapiText);
const validation = await new Validator().validate(openapiText);
check(validation.valid, `api/openapi.yaml: ${JSON.stringify(validation.errors, null, 1)}`);
check(openapi.openapi === '3.1.0', 'api/openapi.yaml: must be OpenAPI 3.1');

const atPointer = (pointer) => pointer.slice(2).split('/').reduce(
  (node, part) => node?.[part.replaceAll('~1', '/').replaceAll('~0', '~')], openapi);
const operationIds = new Set();
const walk = (node, where) => {
  if (node === null || typeof node !== 'object') return;
  if (typeof node.$ref === 'string') {
    check(atPointer(node.$ref) !== undefined, `api/openapi.yaml: ${where} points to ${node.$ref}`);
  }
  if (typeof node.operationId === 'string') {
    check(!operationIds.has(node.operationId), `api/openapi.yaml: twice ${node.operationId}`);
    operationIds.add(node.operationId);
  }
  for (const [key, value] of Object.entries(node)) walk(value, `${where}/${key}`);
};
walk(openapi, '#');

const protocol = JSON.parse(readFileSync(path.join(root, 'protocol/protocol.json'), 'utf8'));
const errorCodes = protocol.errors.map((error) => error.code).sort();
check(JSON.stringify(errorCodes) ===
      JSON.stringify([...openapi.components.schemas.ErrorCode.enum].sort()),
      'the error codes of protocol.json and openapi.yaml differ');
for (const { code, action } of [...protocol.closeCodes, ...protocol.unknownCloseCodes]) {
  check(action in protocol.actions, `protocol.json: close code ${code} asks for ${action}`);
}
const same = (name, mine, theirs) => check(
  JSON.stringify([...mine].sort()) === JSON.stringify([...theirs].sort()),
  `${name}: one document has ${[...mine]}, the other ${[...theirs]}`);
const schemas = openapi.components.schemas;
same('protocol.json ownStatuses', protocol.ownStatuses, schemas.Presence.properties.status.enum);
same('declaredStatuses', protocol.declaredStatuses, schemas.Declared.enum);
same('deviceTypes', protocol.deviceTypes, schemas.DeviceType.enum);
same('privacyModes', protocol.privacyModes, schemas.Rule.properties.mode.enum);
same('lastSeenGranularities', protocol.lastSeenGranularities,
     schemas.Presence.properties.lastSeen.properties.granularity.enum);

const seen = { clientToServer: new Set(), serverToClient: new Set(), webhook: new Set() };
const webhookTypes = schemas.WebhookEvent.properties.type.enum;
const folder = path.join(root, 'protocol/examples');
for (const file of readdirSync(folder)) {
  const example = JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
  check(typeof example.description === 'string' && example.description.length > 0,
        `${file}: no description`);
  const known = { clientToServer: Object.keys(protocol.clientMessages),
                  serverToClient: protocol.serverMessages, webhook: webhookTypes }[example.direction];
  check(known !== undefined, `${file}: direction ${example.direction}`);
  for (const { type } of example.direction === 'webhook' ? example.message.events : [example.message]) {
    check(known?.includes(type), `${file}: type ${type}`);
    seen[example.direction]?.add(type);
  }
  const { properties, required } = schemas.WebhookEvent;
  for (const event of example.direction === 'webhook' ? example.message.events : []) {
    check(required.every((name) => name in event) && Object.keys(event).every((name) => name in properties),
          `${file}: fields ${Object.keys(event)}`);
  }
  if (example.message?.type === 'error') {
    const row = protocol.errors.find((error) => error.code === example.message.code);
    check(row?.temporary === example.message.temporary, `${file}: temporary is wrong`);
  }
}
for (const type of Object.keys(protocol.clientMessages)) {
  check(seen.clientToServer.has(type), `no example of client ${type}`);
}
for (const type of protocol.serverMessages) {
  check(seen.serverToClient.has(type), `no example of server ${type}`);
}
for (const type of webhookTypes) check(seen.webhook.has(type), `no example of webhook ${type}`);

// docs/field-cases.md names every case, and for each all test files that carry its id, wherever they are.
const page = path.join(root, 'docs/field-cases.md');
const trees = [
  [/^tests\/(integration|conformance|ops)\/test\/(.+)\.test\.mjs$/, '$1/$2'], [/^tests\/(browser)\/(.+)\.test\.mjs$/, '$1/$2'],
  [/^tests\/(unit|property|contract|simulation)\/(.+)\.(?:cc|h)$/, '$1/$2'], [/^sdk\/(client|react|server)\/test\/(.+)\.test\.(?:tsx?|mjs)$/, '$1/$2'],
];
const found = new Map();
for (const top of ['tests', 'sdk']) {
  for (const entry of readdirSync(path.join(root, top), { recursive: true })) {
    const file = `${top}/${entry}`;
    const tree = file.includes('node_modules') ? undefined : trees.find(([pattern]) => pattern.test(file));
    if (!tree) continue;
    for (const [, number] of readFileSync(path.join(root, file), 'utf8').matchAll(/F[oO][-_]?(\d{3})(?!\d)/g)) {
      found.set(`FO-${number}`, (found.get(`FO-${number}`) ?? new Set()).add(file.replace(...tree)));
    }
  }
}
const row = /^\| (FO-\d{3}) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm;
const listed = (id) => [...found.get(id) ?? []].sort().join(', ') || '–';
if (process.argv.includes('--renew')) {
  writeFileSync(page, readFileSync(page, 'utf8').replace(row, (_, id, what, tests, remark) => `| ${id} | ${what} | ${listed(id)} | ${remark} |`));
}
const cases = new Set();
for (const [, id, , tests, remark] of readFileSync(page, 'utf8').matchAll(row)) {
  check(!cases.has(id), `field-cases.md: twice ${id}`);
  cases.add(id);
  check(tests !== '–' || remark.startsWith('cannot apply: '), `field-cases.md: ${id} has no test and no reason`);
  check(tests === listed(id), `field-cases.md: ${id} is in ${listed(id)}, listed are ${tests} (npm run validate -- --renew)`);
}
check(cases.size === 113, `field-cases.md: ${cases.size} cases`);
for (const id of found.keys()) check(cases.has(id), `a test names ${id}, which is no case`);

if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
console.log(`contract documents hold: ${operationIds.size} calls, ${errorCodes.length} errors, ` +
            `${protocol.closeCodes.length} close codes`);
