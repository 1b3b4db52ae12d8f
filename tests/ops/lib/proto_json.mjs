// Holds JSON (or YAML) against Protocol Buffers' definitions, as the program does that reads it: names of fields, kinds, words.
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import protobuf from 'protobufjs';

const require = createRequire(import.meta.url);
const folderOf = (name) => path.dirname(require.resolve(`${name}/package.json`));

/** Envoy's own definitions, with all that they import. */
export async function envoyTypes(...files) {
  const deps = path.join(folderOf('@grpc/grpc-js-xds'), 'deps');
  const folders = [...readdirSync(deps).map((name) => path.join(deps, name)), folderOf('protobufjs')];
  const root = new protobuf.Root();
  root.resolvePath = (origin, target) => {
    const found = folders.map((folder) => path.join(folder, target)).find(existsSync);
    if (!found) throw new Error(`${origin} imports ${target}, which is not there`);
    return found;
  };
  await root.load(files, { keepCase: true });
  return root;
}

const wrapped = { BoolValue: 'bool', UInt32Value: 'uint32', UInt64Value: 'uint64', Int32Value: 'int32', Int64Value: 'int64', DoubleValue: 'double',
                  FloatValue: 'float', StringValue: 'string' };
const kinds = { bool: 'boolean', string: 'string', bytes: 'string' };

class Checker {
  constructor(root) { this.root = root; this.problems = []; this.seen = 0; }

  say(where, what) { this.problems.push(`${where}: ${what}`); }

  scalar(kind, value, where) {
    const wanted = kinds[kind] ?? 'number';
    if (typeof value !== wanted) this.say(where, `${JSON.stringify(value)} is no ${wanted}`);
  }

  message(type, value, where) {
    const name = type.fullName.replace(/^\.google\.protobuf\./, '');
    if (name in wrapped) return this.scalar(wrapped[name], value, where);
    if (name === 'Duration') return /^\d+(\.\d+)?s$/.test(value) ? undefined : this.say(where, `${value} is no duration`);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return this.say(where, `is no ${type.name}`);
    if (name === 'Any') {
      const { '@type': url, ...rest } = value;
      const inner = /^type\.googleapis\.com\/(\S+)$/.exec(url)?.[1];
      try { return this.message(this.root.lookupType(inner), rest, where); } catch { return this.say(where, `${url} is no type`); }
    }
    const chosen = new Map();
    for (const [key, one] of Object.entries(value)) {
      const field = type.fields[key];
      if (!field) { this.say(where, `${type.name} has no ${key}`); continue; }
      this.seen += 1;
      const union = field.partOf && !field.options?.proto3_optional ? field.partOf.name : undefined;
      if (union && chosen.has(union)) this.say(where, `${key} beside ${chosen.get(union)}`);
      if (union) chosen.set(union, key);
      this.field(field.resolve(), one, `${where}.${key}`);
    }
    return undefined;
  }

  field(field, value, where) {
    if (field.map) return Object.entries(value).forEach(([key, one]) => this.one(field, one, `${where}[${key}]`));
    if (!field.repeated) return this.one(field, value, where);
    if (!Array.isArray(value)) return this.say(where, 'is no list');
    return value.forEach((one, index) => this.one(field, one, `${where}[${index}]`));
  }

  one(field, value, where) {
    const type = field.resolvedType;
    if (type instanceof protobuf.Type) return this.message(type, value, where);
    if (type instanceof protobuf.Enum) return value in type.values ? undefined : this.say(where, `${value} is none of ${type.name}`);
    return this.scalar(field.type, value, where);
  }
}

/** { problems, seen }: what of `value` is no `type` of `root`, and how many fields it has. */
export function checkAgainst(root, type, value) {
  const checker = new Checker(root);
  checker.message(root.lookupType(type), value, type);
  return { problems: checker.problems, seen: checker.seen };
}
