// HTTP calls, with each answer held against api/openapi.yaml.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { root } from './server.mjs';
import { tokenFor } from './tokens.mjs';

export const openapi = parse(readFileSync(path.join(root, 'api/openapi.yaml'), 'utf8'));
const ajv = new Ajv2020.default({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(openapi, 'openapi.yaml');
const compiled = new Map();

const pointer = (parts) => parts.map((part) => encodeURIComponent(
  part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');

function validatorOf(parts) {
  const ref = `openapi.yaml#/${pointer(parts)}`;
  if (!compiled.has(ref)) compiled.set(ref, ajv.compile({ $ref: ref }));
  return compiled.get(ref);
}

/** Checks `value` against a component schema. */
export function assertSchema(name, value) {
  const validate = validatorOf(['components', 'schemas', name]);
  assert.ok(validate(value), `${JSON.stringify(value)} is no ${name}: ${ajv.errorsText(validate.errors)}`);
}

const templates = Object.keys(openapi.paths).map((template) => ({
  template, pattern: new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Holds an answer against the contract; silent about paths that the contract does not have. */
function check(method, target, answer) {
  const found = templates.find(({ pattern }) => pattern.test(target.split('?')[0]));
  const operation = found && openapi.paths[found.template][method.toLowerCase()];
  if (!operation || method === 'OPTIONS') return;
  let parts = ['paths', found.template, method.toLowerCase(), 'responses', String(answer.status)];
  let response = operation.responses[answer.status];
  assert.ok(response, `${method} ${target}: the contract has no status ${answer.status}: ${answer.text}`);
  if (response.$ref) {
    parts = response.$ref.slice(2).split('/');
    response = openapi.components.responses[parts[2]];
  }
  if (answer.status === 204 || answer.status === 304) {
    assert.equal(answer.text, '', `${method} ${target}: ${answer.status} with a body`);
    return;
  }
  const type = Object.keys(response.content)[0];
  assert.ok(answer.headers['content-type']?.startsWith(type),
            `${method} ${target}: content type ${answer.headers['content-type']}`);
  if (type !== 'application/json') return;
  const validate = validatorOf([...parts, 'content', type, 'schema']);
  assert.ok(validate(answer.json), `${method} ${target}: ${answer.text}: ${ajv.errorsText(validate.errors)}`);
}

/**
 * One call. `as`: a user id (by a token), or nothing for the back end; `token`: any credential;
 * `body`: sent as JSON; `raw`: sent as it is.
 */
export async function call(server, method, target, { as, token, body, raw, headers = {}, anonymous = false } = {}) {
  const credential = token ?? (as === undefined ? server.key ?? 'dev' : tokenFor(as, {}, { secret: server.secret }));
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const answer = await new Promise((resolve, reject) => {
    const request = http.request({
      host: '127.0.0.1', port: server.port, method, path: target, agent: false, timeout: 10_000,
      headers: {
        ...(anonymous ? {} : { authorization: `Bearer ${credential}` }),
        ...(payload === undefined ? {} : { 'content-type': 'application/json',
                                           'content-length': Buffer.byteLength(payload) }),
        ...headers,
      },
    }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => resolve({
        status: response.statusCode, headers: response.headers, text: Buffer.concat(parts).toString() }));
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error(`${method} ${target}: no answer in 10 s`)));
    request.on('error', reject);
    request.end(payload);
  });
  try { answer.json = JSON.parse(answer.text); } catch { answer.json = undefined; }
  check(method, target, answer);
  return answer;
}

export const userPath = (user, rest) => `/v1/users/${encodeURIComponent(user).replaceAll('.', '%2E')}${rest}`;

/** The presence of `user` as `viewer` (or a back end) sees it. */
export async function readPresence(server, user, viewer) {
  const answer = await call(server, 'GET', userPath(user, '/presence'), { as: viewer });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

export async function listSessions(server, user) {
  const answer = await call(server, 'GET', userPath(user, '/sessions'));
  assert.equal(answer.status, 200, answer.text);
  return answer.json.sessions;
}

/** A call that must succeed; gives its JSON. */
export async function done(server, method, target, options) {
  const answer = await call(server, method, target, options);
  assert.ok(answer.status === 200 || answer.status === 204, `${method} ${target}: ${answer.status} ${answer.text}`);
  return answer.json;
}

/** Asserts an error answer. */
export function assertError(answer, status, code) {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.json?.error?.code, code, answer.text);
}
