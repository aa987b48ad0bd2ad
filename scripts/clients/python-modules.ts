// openapi-python-client is not used: it needs Python where the platform is built, and its calls have neither pages, nor
// events, nor retries, nor sign-in. The modules here only name the operations; clients/python/odograph/client.py does the rest.

interface Schema {
  readonly $ref?: string;
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Described {
  readonly operationId: string;
  readonly summary?: string;
  readonly parameters?: readonly {
    readonly in: Place;
    readonly name: string;
    readonly schema: Schema;
    readonly required?: boolean;
    readonly 'x-alternative'?: boolean;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly headers?: object; readonly content?: Content }>>;
}

/** The part of an OpenAPI document that is read here. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const head = '"""Generated; do not edit."""\n\nfrom __future__ import annotations\n\n';
/** `self` is no keyword, but the first parameter of every method. */
const keywords = new Set(
  `False None True and as assert async await break class continue def del elif else except finally for from global if
  import in is lambda nonlocal not or pass raise return self try while with yield`.split(/\s+/),
);
const literals = new Map<unknown, string>([
  [null, 'None'],
  [true, 'True'],
  [false, 'False'],
]);
const scalars: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};

/** Writes a literal of Python. */
const quote = (value: unknown): string => literals.get(value) ?? JSON.stringify(value);
const nameOfReference = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);
function union(kinds: readonly string[]): string {
  const [first = 'Any', ...others] = new Set(kinds);
  return others.length === 0 ? first : `Union[${[first, ...others].join(', ')}]`;
}
const hasMembers = ({ properties = {} }: Schema): boolean => Object.keys(properties).length > 0;

/** `getVehicleById` becomes `get_vehicle_by_id`, `from` becomes `from_`. */
function snakeCase(name: string): string {
  const words = name
    .replaceAll(/\W+/g, '_')
    .replaceAll(/(?<=[a-z0-9])([A-Z])/g, '_$1')
    .toLowerCase();
  return keywords.has(words) ? `${words}_` : words;
}

const capitalize = (name: string): string => name.replaceAll(/(?:^|[\W_]+)(\w?)/g, (_, first) => first.toUpperCase());

/** The types of the document: a TypedDict for each object with members. */
class Models {
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #classes = new Map<string, string>();
  readonly #aliases = new Map<string, string>();

  constructor(schemas: Readonly<Record<string, Schema>>) {
    this.#schemas = schemas;
    for (const [name, schema] of Object.entries(schemas)) {
      if (hasMembers(schema)) this.#addClass(name, schema);
      else this.#aliases.set(name, `${name} = ${this.typeOf(schema, name)}`);
    }
  }

  #addClass(name: string, { properties = {}, required = [] }: Schema): string {
    const members = Object.entries(properties).map(([member, schema]): [name: string, type: string] => {
      const type = this.typeOf(schema, name + capitalize(member));
      return [member, required.includes(member) ? type : `NotRequired[${type}]`];
    });
    const isClass = members.every(([member]) => /^[A-Za-z_]\w*$/.test(member) && !keywords.has(member));
    if (isClass) {
      this.#classes.set(
        name,
        `class ${name}(TypedDict):\n${members.map(([one, type]) => `    ${one}: ${type}\n`).join('')}`,
      );
    } else {
      const lines = members.map(([one, type]) => `    ${quote(one)}: ${quote(type)},\n`);
      this.#aliases.set(name, `${name} = TypedDict(${quote(name)}, {\n${lines.join('')}})`);
    }
    return name;
  }

  /** Returns the type of a value. @param name of the class, if it is an object with members */
  typeOf(schema: Schema, name: string): string {
    if (schema.$ref !== undefined) return nameOfReference(schema.$ref);
    const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
    if (values) return `Literal[${values.map(quote).join(', ')}]`;
    if (schema.anyOf) return union(schema.anyOf.map((one, index) => this.typeOf(one, `${name}${index || ''}`)));
    if (schema.type === 'array') return `List[${this.typeOf(schema.items ?? {}, `${name}Item`)}]`;
    if (schema.type !== 'object') return scalars[String(schema.type)] ?? 'Any';
    if (hasMembers(schema)) return this.#addClass(name, schema);
    const { additionalProperties: members } = schema;
    return `Dict[str, ${typeof members === 'object' ? this.typeOf(members, `${name}Value`) : 'Any'}]`;
  }

  /** Returns the type of the items of a page, which is a list or has members that are lists. */
  itemsOf(page: Schema, name: string): string {
    const owner = page.$ref === undefined ? name : nameOfReference(page.$ref);
    const schema = page.$ref === undefined ? page : (this.#schemas[owner] ?? {});
    const lists = schema.type === 'array' ? [['', schema] as const] : Object.entries(schema.properties ?? {});
    const items = lists
      .filter(([, { type }]) => type === 'array')
      .map(([member, { items: item = {} }]) => this.typeOf(item, `${owner}${capitalize(member)}Item`));
    return union(items);
  }

  write(): string {
    const imports = 'from typing import Any, Dict, List, Literal, NotRequired, TypedDict, Union\n\n';
    // Aliases are evaluated when the module is loaded, so they follow the classes.
    return `${head}${imports}${[...this.#classes.values(), ...this.#aliases.values()].join('\n\n')}\n`;
  }
}

type Place = 'path' | 'query' | 'header' | 'body';

interface Argument {
  readonly place: Place;
  /** As in the document. */
  readonly given: string;
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
}

function argumentsOf(described: Described, models: Models): Argument[] {
  const title = capitalize(described.operationId);
  const argument = (place: Place, given: string, schema: Schema, isRequired: boolean): Argument => ({
    ...{ place, given, isRequired },
    name: snakeCase(given),
    type: models.typeOf(schema, title + capitalize(given)),
  });
  const body = described.requestBody?.content['application/json']?.schema ?? {};
  return [
    ...(described.parameters ?? [])
      .filter((one) => !one['x-alternative'])
      .map((one) => argument(one.in, one.name, one.schema, one.required === true)),
    ...Object.entries(body.properties ?? {}).map(([name, schema]) =>
      argument('body', name, schema, body.required?.includes(name) === true),
    ),
  ];
}

/** Writes the parameters of a method: those of the path by position, the others by keyword, required ones first. */
function signature(all: readonly Argument[]): string {
  const one = new Map<string, Argument>();
  for (const argument of all) if (!one.has(argument.name) || argument.isRequired) one.set(argument.name, argument);
  const positional = [...one.values()].filter(({ place }) => place === 'path');
  const named = [...one.values()].filter(({ place }) => place !== 'path');
  const sorted = [...named.filter(({ isRequired }) => isRequired), ...named.filter(({ isRequired }) => !isRequired)];
  return [
    'self',
    ...positional.map(({ name, type }) => `${name}: ${type}`),
    ...(named.length > 0 ? ['*'] : []),
    ...sorted.map(({ name, type, isRequired }) =>
      isRequired ? `${name}: ${type}` : `${name}: Optional[${type}] = None`,
    ),
  ].join(', ');
}

/** Writes the arguments of the call that a method makes. */
function callOf(path: string, method: string, all: readonly Argument[]): string {
  const members = (place: Place) =>
    all
      .filter((one) => one.place === place)
      .map(({ given, name }) => `${quote(given)}: ${given === 'Idempotency-Key' ? `${name} or new_key()` : name}`);
  const parts = [`f"${path.replaceAll(/\{(\w+)\}/g, (_, name) => `{in_path(${snakeCase(name)})}`)}"`];
  for (const [place, keyword] of [
    ['query', 'query'],
    ['body', 'body'],
    ['header', 'headers'],
  ] as const) {
    const given = members(place);
    if (given.length > 0 || (place === 'body' && method !== 'get')) parts.push(`${keyword}={${given.join(', ')}}`);
  }
  return parts.join(', ');
}

/** Writes the method of an operation, and two more for a list in pages. */
function writeOperation(path: string, method: string, described: Described, models: Models): string[] {
  const all = argumentsOf(described, models);
  const name = snakeCase(described.operationId);
  const title = `${capitalize(described.operationId)}Answer`;
  const summary = `${(described.summary ?? name).replace(/\.$/, '')}.`;
  const { headers = {}, content = {} } = described.responses['200'] ?? {};
  const page = content['application/json']?.schema ?? {};
  const call = callOf(path, method, all);
  const write = (methodName: string, answer: string, start: string, text: string) =>
    `    def ${methodName}(${signature(all)}) -> ${answer}:\n` +
    `        """${text.replaceAll('\\', '\\\\')}"""\n        return ${start}${call})\n`;
  if ('text/event-stream' in content) return [write(name, 'Iterator[Dict[str, Any]]', 'self._events(', summary)];
  const isJson = Object.keys(content).join() === 'application/json';
  const answer = isJson ? models.typeOf(page, title) : 'Any';
  const methods = [write(name, answer, `self._call("${method.toUpperCase()}", `, summary)];
  if (!('Link' in headers)) return methods;
  const about = summary.charAt(0).toLowerCase() + summary.slice(1);
  const item = models.itemsOf(page, title);
  return [
    ...methods,
    write(`${name}_pages`, `Iterator[${answer}]`, 'self._pages(', `Reads page by page to the end: ${about}`),
    write(`${name}_items`, `Iterator[${item}]`, 'self._items(', `Reads the items to the end: ${about}`),
  ];
}

/** Writes the modules of the Python client that follow from the OpenAPI document, by their names. */
export function writeModules({ paths, components }: OpenApiDocument): Readonly<Record<string, string>> {
  const models = new Models(components.schemas);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, described]) => writeOperation(path, method, described, models)),
  );
  const imports = `# mypy: disable-error-code=no-any-return
${head}from typing import Any, Dict, Iterator, List, Literal, Optional, Union

from .client import Client, in_path, new_key
from .models import *


class Operations(Client):
    """Each operation of the interface."""

`;
  return { 'models.py': models.write(), 'operations.py': imports + operations.join('\n') };
}
