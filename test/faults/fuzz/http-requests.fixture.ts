import { type Agent, request as httpRequest } from 'node:http';
import fc, { type Arbitrary } from 'fast-check';
import type { Operation } from './operations.fixture.ts';
import { anyValue, type KnownValues, nastyStrings, valuesFor } from './values.fixture.ts';

export interface FuzzedRequest {
  readonly method: string;
  /** As in the request line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

export interface FuzzedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** Writes a value as a parameter of a path or query. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** A lone surrogate cannot be percent-encoded; only bodies contain them. */
function encoded(value: unknown): string {
  return encodeURIComponent(Buffer.from(asText(value).slice(0, 3000)).toString());
}

const rawSegments = ['%00', '%ff%fe', '%c0%af', '%ed%a0%80', '%2e%2e', '%', '%zz', ';', '*', 'a'.repeat(300)];

function pathOf({ path, parameters }: Operation, known: KnownValues): Arbitrary<string> {
  const parts = path.split('/').slice(1);
  return fc
    .tuple(
      ...parts.map((part): Arbitrary<string> => {
        const name = /^\{(.+)\}$/.exec(part)?.[1];
        if (name === undefined) return fc.constant(part);
        const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
        return fc.oneof(
          // An empty segment would change the path.
          {
            weight: 9,
            arbitrary: valuesFor(parameter?.schema ?? {}, known, name).map((value) => encoded(value) || '-'),
          },
          { weight: 1, arbitrary: fc.constantFrom(...rawSegments) },
        );
      }),
    )
    .map((segments) => `/${segments.join('/')}`);
}

function queryOf({ parameters }: Operation, known: KnownValues): Arbitrary<string> {
  const inQuery = parameters.filter((one) => one.in === 'query');
  const pairs = inQuery.map((one) => {
    const pair = valuesFor(one.schema, known, one.name).map((value) => [`${one.name}=${encoded(value)}`]);
    return fc.oneof({ weight: 5, arbitrary: pair }, { weight: one.required ? 1 : 4, arbitrary: fc.constant([]) });
  });
  const extra = fc.oneof(
    { weight: 12, arbitrary: fc.constant<string[]>([]) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(['__proto__=1'], ['a[b]=1', 'a=2'], ['%ff=%fe'], ['id=1', 'id=2'], ['&&==']),
    },
  );
  return fc.tuple(...pairs, extra).map((lists) => lists.flat().join('&'));
}

const rawBodies: readonly Buffer[] = [
  Buffer.from(''),
  Buffer.from('{'),
  Buffer.from('nul'),
  Buffer.from('{"a":1}{"b":2}'),
  Buffer.from('{"__proto__":{"x":1}}'),
  Buffer.from('{"constructor":{"prototype":{"x":1}}}'),
  Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
  Buffer.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from(`${'['.repeat(50_000)}${']'.repeat(50_000)}`),
  Buffer.from(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`),
  Buffer.from(`{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":${index}`).join(',')}}`),
  Buffer.from(`{"id":${'9'.repeat(20_000)}}`),
  Buffer.from(`{"limit":1e${'9'.repeat(50)},"from":-1e999}`),
  Buffer.from('\ufeff{}'),
  Buffer.alloc(1024 * 1024 + 1, 0x20),
];

/** Writes lone surrogates unescaped, which JSON allows. */
function bodyOf({ body }: Operation, known: KnownValues): Arbitrary<Buffer | undefined> {
  const json = (value: unknown) => Buffer.from(JSON.stringify(value) ?? '');
  return fc.oneof(
    { weight: 12, arbitrary: body === undefined ? fc.constant(undefined) : valuesFor(body, known).map(json) },
    { weight: 1, arbitrary: fc.constantFrom(...rawBodies) },
    { weight: 1, arbitrary: anyValue.map(json) },
  );
}

/** Chooses the credentials: mostly valid ones, otherwise none or an invalid token. */
function credentialsOf(path: string, tokens: readonly string[], adminToken: string) {
  const right = path.startsWith('/v1/x/admin')
    ? [{ authorization: `Bearer ${adminToken}` }]
    : tokens.map((token) => ({ 'x-service-token': token }));
  const wrong: Record<string, string>[] = [
    {},
    { 'x-service-token': "' or 1=1 --" },
    { 'x-service-token': 'x'.repeat(4000) },
    { authorization: 'Basic OmFkbWlu' },
    { authorization: 'Bearer' },
  ];
  return fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom<Record<string, string>>(...right) },
    { weight: 1, arbitrary: fc.constantFrom(...wrong) },
  );
}

const headerSets: readonly Readonly<Record<string, string>>[] = [
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-type': 'multipart/form-data; boundary=x' },
  { 'content-type': 'application/x-www-form-urlencoded' },
  { 'content-type': ';' },
  { accept: 'application/xml', 'accept-encoding': 'x' },
  { 'idempotency-key': 'k'.repeat(2000) },
  { 'idempotency-key': '\u00ff' },
  { 'if-none-match': '*', range: 'bytes=9-1' },
  { 'x-forwarded-for': nastyStrings.filter((text) => /^[ -~]+$/.test(text))[0] ?? '' },
  { 'content-encoding': 'gzip' },
  { 'x-http-method-override': 'DELETE', 'accept-language': 'x'.repeat(3000) },
];

/** Generates requests of one operation. */
export function requestsOf(
  operation: Operation,
  { known, tokens, adminToken }: { known: KnownValues; tokens: readonly string[]; adminToken: string },
): Arbitrary<FuzzedRequest> {
  const headers = fc.oneof(
    { weight: 12, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.constantFrom(...headerSets) },
  );
  return fc
    .record({
      path: pathOf(operation, known),
      query: queryOf(operation, known),
      body: operation.method === 'GET' ? fc.constant(undefined) : bodyOf(operation, known),
      credentials: credentialsOf(operation.path, tokens, adminToken),
      headers,
    })
    .map(({ path, query, body, credentials, headers: more }) => ({
      method: operation.method,
      path: query === '' ? path : `${path}?${query}`,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...credentials, ...more },
      body,
    }));
}

/** Sends a request unchanged. Of a stream, which never ends, only the beginning is read. */
export function send(
  baseUrl: string,
  agent: Agent,
  { method, path, headers, body }: FuzzedRequest,
): Promise<FuzzedAnswer> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    // Node.js omits the length of a DELETE request.
    const length = body === undefined ? {} : { 'content-length': body.length };
    const sent = { agent, hostname, port, method, path, headers: { ...length, ...headers } };
    const request = httpRequest(sent, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      const contentType = String(response.headers['content-type'] ?? '');
      const answer = () =>
        resolve({ status: response.statusCode ?? 0, contentType, text: Buffer.concat(chunks).toString() });
      response.on('end', answer);
      if (!contentType.startsWith('text/event-stream')) return;
      response.once('data', () => {
        answer();
        request.destroy();
      });
    });
    request.on('error', reject);
    request.setTimeout(30_000, () => request.destroy(new Error('no answer in 30 s')));
    request.end(body);
  });
}
