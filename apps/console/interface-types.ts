import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTypescript, { astToString, type OpenAPI3 } from 'openapi-typescript';

export type OpenApiDocument = OpenAPI3;

const sources = join(import.meta.dirname, 'src');
const head = '// Made from the OpenAPI document of the platform: npm run console:types. Do not edit.\n\n';

/** Finds the paths of the interface that the console names in its sources. */
function usedPaths(): Set<string> {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter(
    (name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'),
  );
  const texts = files.map((name) => readFileSync(join(sources, name), 'utf8'));
  return new Set(
    texts.flatMap((text) => [...text.matchAll(/'(\/(?:v1\/|health)[^'?]*)'/g)].map(([, path = '']) => path)),
  );
}

/** Without what types do not show: descriptions, examples, and answers that are failures, which are alike. */
function essential(value: unknown, key = ''): unknown {
  // Parameters of a body may be given in the query as well; the console does not.
  if (Array.isArray(value)) return value.filter((one) => !Object(one)['x-alternative']).map((one) => essential(one));
  if (typeof value !== 'object' || value === null) return value;
  const isNamed = key === 'properties' || key === 'paths' || key === 'schemas';
  const left = (name: string) =>
    isNamed ||
    !(/^(?:description|summary|example|examples|title|tags)$/.test(name) || (key === 'responses' && !/^2/.test(name)));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      left(name) ? [[name, essential(member, isNamed ? '' : name)]] : [],
    ),
  );
}

/** Keeps the schemas that others of the document refer to. */
function withoutUnused(document: OpenAPI3): OpenAPI3 {
  const schemas = document.components?.schemas ?? {};
  const used = new Set<string>();
  const follow = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      follow(schemas[name]);
    }
  };
  follow(document.paths);
  const kept = Object.entries(schemas).filter(([name]) => used.has(name));
  return { ...document, components: { schemas: Object.fromEntries(kept) } };
}

/**
 * Writes the types of the routes that the console calls.
 * @throws when the console names a path that the document does not have
 */
export async function writeInterfaceTypes(document: OpenApiDocument): Promise<string> {
  const paths = document.paths ?? {};
  const used = [...usedPaths()].sort();
  const unknown = used.filter((path) => !(path in paths));
  if (unknown.length > 0) throw new Error(`the interface has no path ${unknown.join(', ')}`);
  const narrow = { ...document, paths: Object.fromEntries(used.map((path) => [path, paths[path]])) };
  const types = await openapiTypescript(withoutUnused(essential(narrow) as OpenAPI3), { alphabetize: true });
  return head + astToString(types);
}

/** The routes whose bodies the console makes forms of. */
const forms = ['/v1/x/alarm-rules', '/v1/x/geofences'];

interface Schema {
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly [fact: string]: unknown;
}

interface Body {
  readonly content: { readonly 'application/json': { readonly schema: Schema } };
}

const facts = ['minimum', 'maximum', 'minLength', 'maxLength', 'enum'];

/** What the schema of a body says of each field, those of nested objects by their path. */
function limitsOf({ properties = {} }: Schema, path = ''): [name: string, limits: object][] {
  return Object.entries(properties).flatMap(([name, declared]) => {
    // The other one is null, for a field that is left out.
    const field = declared.anyOf?.[0] ?? declared;
    const known = Object.entries(field).filter(([fact]) => facts.includes(fact));
    const own: [string, object][] = known.length > 0 ? [[`${path}${name}`, Object.fromEntries(known)]] : [];
    return [...own, ...limitsOf(field, `${path}${name}.`)];
  });
}

/** Writes the limits of the fields that the console has forms for. */
export function writeLimits(document: OpenApiDocument): string {
  const limits = forms.map((path) => {
    const item = Object(document.paths?.[path]) as { readonly post: { readonly requestBody: Body } };
    return [path, Object.fromEntries(limitsOf(item.post.requestBody.content['application/json'].schema))];
  });
  return `${head}export const limits = ${JSON.stringify(Object.fromEntries(limits), null, 2)} as const;\n`;
}
