/* reference-schema - a JSON schema as nested lists of fields. */
import {h} from '../dom.js';
import {prose} from '../components/prose.js';

const DEPTH_MAX = 6;

/* resolve(x): x, or the target of its $ref merged with the members beside the $ref. */
export function resolver(api) {
  return function resolve(given) {
    if (given?.$ref === undefined)
      return given ?? {};
    const {$ref, ...beside} = given;
    const target = $ref.replace(/^#\//, '').split('/').reduce((part, name) => part[name], api);

    return {...resolve(target), ...beside};
  };
}

export function exampleOf(media) {
  if (media === undefined)
    return undefined;
  return media.example ?? Object.values(media.examples ?? {})[0]?.value;
}

export function typeOf(schema) {
  if (schema.const !== undefined)
    return JSON.stringify(schema.const);
  if (schema.enum)
    return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const type = Array.isArray(schema.type) ? schema.type.join(' or ') : schema.type;

  return schema.format ? `${type}, ${schema.format}` : type ?? 'any';
}

function bounds(schema) {
  const parts = [];

  for (const [low, high, unit] of [['minLength', 'maxLength', ' characters'],
                                   ['minimum', 'maximum', ''], ['minItems', 'maxItems', ' items'],
                                   ['minProperties', 'maxProperties', ' keys']]) {
    if (schema[low] !== undefined && schema[high] !== undefined)
      parts.push(`${schema[low]} to ${schema[high]}${unit}`);
    else if (schema[high] !== undefined)
      parts.push(`at most ${schema[high]}${unit}`);
    else if (schema[low] !== undefined)
      parts.push(`at least ${schema[low]}${unit}`);
  }
  if (schema.default !== undefined)
    parts.push(`default ${JSON.stringify(schema.default)}`);
  return parts.join(', ');
}

/* Alternatives; `null` appears as a word among the types. */
function alternatives(schema, resolve) {
  return (schema.oneOf ?? schema.anyOf ?? []).map(resolve).filter((one) => one.type || one.properties ||
    one.const !== undefined || one.enum || one.oneOf);
}

function typeWords(schema, resolve) {
  const others = schema.type === undefined && !schema.enum && schema.const === undefined
    ? alternatives(schema, resolve) : [];

  return others.length > 0 ? others.map((one) => typeWords(one, resolve)).join(' or ') : typeOf(schema);
}

/* The schemas whose fields are listed below a field. */
function inner(schema, resolve) {
  if (schema.properties)
    return [schema];
  if (schema.type === 'array' && schema.items)
    return inner(resolve(schema.items), resolve);
  return alternatives(schema, resolve).flatMap((one) => inner(one, resolve));
}

function field(name, given, isRequired, resolve, depth) {
  const schema = resolve(given), limits = bounds(schema);
  const below = depth < DEPTH_MAX ? inner(schema, resolve) : [];

  return [
    h('dt', null, h('code', null, name), ' ',
      h('span', {class: 'muted small'}, typeWords(schema, resolve), isRequired ? ', required' : '',
        limits && `, ${limits}`)),
    h('dd', null, schema.description && prose(schema.description),
      below.map((one) => fields(one, resolve, depth + 1))),
  ];
}

function fields(schema, resolve, depth) {
  const required = new Set(schema.required ?? []);

  return h('dl', {class: 'schema'}, Object.entries(schema.properties).map(([name, given]) =>
    field(name, given, required.has(name), resolve, depth)));
}

export function schemaView(given, resolve) {
  const schema = resolve(given), listed = inner(schema, resolve);

  return h('div', null, schema.description && prose(schema.description),
           listed.length > 0 ? listed.map((one) => fields(one, resolve, 0))
             : h('p', {class: 'muted'}, typeWords(schema, resolve)));
}
