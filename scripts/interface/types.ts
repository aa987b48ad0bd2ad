/** The part of an OpenAPI document that is read here. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly paths: Readonly<Record<string, object>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

interface Content {
  readonly examples?: Readonly<Record<string, unknown>>;
}

type Answers = Readonly<Record<string, { readonly content?: { readonly 'application/json'?: Content } }>>;

interface Operation {
  readonly parameters?: readonly { readonly name: string }[];
  readonly responses: Answers;
}

const head = '// Generated from the OpenAPI document by scripts/interface. Do not edit.\n\n';
const annotations = /^(?:description|summary|example|examples|title|tags)$/;

/** Headers that every answer has are of no use in a type. */
const isCommonHeader = (member: unknown): boolean => String(Object(member).$ref).startsWith('#/components/headers/');

/** Leaves out what types do not show, but for the summary of an operation. */
function essential(value: unknown, key = ''): unknown {
  // Parameters of a body may be given in the query as well; typed clients do not.
  if (Array.isArray(value)) return value.filter((one) => !Object(one)['x-alternative']).map((one) => essential(one));
  if (typeof value !== 'object' || value === null) return value;
  const isNamed = key === 'properties' || key === 'paths' || key === 'schemas';
  const isOperation = 'operationId' in value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => isNamed || (isOperation && name === 'summary') || !annotations.test(name))
      .filter(([, member]) => !isCommonHeader(member))
      .map(([name, member]) => [name, essential(member, isNamed ? '' : name)]),
  );
}

/** The codes that an answer lists; each has an example of its own. */
const codesOf = ([status, answer]: [string, Answers[string]]): string[] =>
  Number(status) < 400 ? [] : Object.keys(answer.content?.['application/json']?.examples ?? {});

const failure = { $ref: '#/components/schemas/Failure' };

/** Gathers the failures of an operation, which differ only by their codes, in one answer. */
function simplify({ responses, ...operation }: Operation): object {
  const answers = Object.entries(responses);
  const codes = [...new Set(answers.flatMap(codesOf))].sort();
  const error = { type: 'object', required: ['error'], properties: { error: { enum: codes } } };
  const refusal = { content: { 'application/json': { schema: { allOf: [failure, error] } } } };
  return {
    ...operation,
    responses: {
      ...Object.fromEntries(answers.filter(([status]) => Number(status) < 400)),
      ...(codes.length > 0 && { default: refusal }),
    },
  };
}

function operationsOf(document: OpenApiDocument): [path: string, method: string, operation: Operation][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as Readonly<Record<string, Operation>>).map(
      ([method, operation]): [string, string, Operation] => [path, method, operation],
    ),
  );
}

/** Keeps what types show of a document; the failures of an operation become one answer. */
export function reduceDocument(document: OpenApiDocument): unknown {
  const operations = operationsOf(document);
  const paths: Record<string, Record<string, object>> = {};
  for (const [path, method, operation] of operations) {
    paths[path] = { ...paths[path], [method]: simplify(operation) };
  }
  const codes = new Set(operations.flatMap(([, , { responses }]) => Object.entries(responses).flatMap(codesOf)));
  const text = { type: 'string' };
  const Failure = {
    type: 'object',
    required: ['error', 'message'],
    properties: { error: { enum: [...codes].sort() }, message: text, field: text, reason: text, oldest: text },
  };
  const schemas = { ...document.components.schemas, Failure };
  return essential({ openapi: document.openapi, info: document.info, paths, components: { schemas } });
}

/** Writes the paths whose POST takes an idempotency key. */
export function writeKeyedPaths(document: OpenApiDocument): string {
  const keyed = operationsOf(document)
    .filter(([, , { parameters = [] }]) => parameters.some(({ name }) => name === 'Idempotency-Key'))
    .map(([path]) => `  '${path}',\n`);
  return `${head}export const keyedPaths: readonly string[] = [\n${keyed.sort().join('')}];\n`;
}
