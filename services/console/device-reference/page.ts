import { readFileSync } from 'node:fs';
import { deviceTopic } from '@odograph/contracts/topics';
import { type Guard, viewerPages } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { pageStyle } from '@odograph/http/openapi';
import { servePages } from '@odograph/http/page-policy';
import { platformVersion } from '@odograph/runtime/platform-version';
import { type Broker, describeDevices, type MessageSchema, topics } from './document.ts';

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;

/** The bounds of numbers, texts and arrays; without those that only keep values finite. */
function boundsOf(schema: MessageSchema): string[] {
  const texts = [
    ['minimum', 'from *'],
    ['maximum', 'to *'],
    ['maxLength', 'up to * characters'],
    ['maxItems', 'up to *'],
  ] as const;
  return texts.flatMap(([keyword, text]) => {
    const bound = schema[keyword];
    return typeof bound !== 'number' || Math.abs(bound) >= 1e12 ? [] : [text.replace('*', String(bound))];
  });
}

/** Writes what a value must be, as a developer of firmware would ask for it. */
function ruleOf(schema: MessageSchema): string {
  const { type = 'string or other', anyOf, items } = schema;
  if (anyOf?.every((one) => 'const' in one)) return `one of ${anyOf.map((one) => String(one.const)).join(', ')}`;
  if (anyOf) return anyOf.map(ruleOf).join(' or ');
  if (schema.enum) return `one of ${schema.enum.map(String).join(', ')}`;
  const name = items ? `array of ${items.type ?? 'value'}s` : type;
  return [name, ...boundsOf(schema)].join(' ');
}

interface Row {
  readonly path: string;
  readonly schema: MessageSchema;
  readonly isRequired: boolean;
}

/** Lists the members of a payload; those of objects and arrays follow their parent. */
function rowsOf(schema: MessageSchema, path = ''): Row[] {
  const { properties = {}, required = [], items, anyOf } = schema;
  if (items) return rowsOf(items, `${path}[]`);
  if (anyOf?.[0]?.properties) return rowsOf(anyOf[0], path);
  return Object.entries(properties).flatMap(([name, member]): Row[] => {
    const at = path === '' ? name : `${path}.${name}`;
    return [{ path: at, schema: member, isRequired: required.includes(name) }, ...rowsOf(member, at)];
  });
}

function tableOf(payload: MessageSchema): string {
  const rows = rowsOf(payload);
  const hasKeys = rows.some(({ schema }) => 'x-cbor-key' in schema);
  const cells = ({ path, schema, isRequired }: Row) => [
    code(path) + (isRequired ? ' <b>required</b>' : ''),
    ...(hasKeys ? [typeof schema['x-cbor-key'] === 'number' ? String(schema['x-cbor-key']) : ''] : []),
    escapeHtml(ruleOf(schema)),
    escapeHtml(schema.description ?? ''),
  ];
  const head = ['member', ...(hasKeys ? ['number'] : []), 'value', 'meaning'];
  const line = (tag: string, all: readonly string[]) =>
    `<tr>${all.map((one) => `<${tag}>${one}</${tag}>`).join('')}</tr>`;
  const body = rows.map((row) => line('td', cells(row))).join('\n');
  return `<div class="table"><table>${line('th', head)}\n${body}</table></div>`;
}

function sectionOf(topic: (typeof topics)[number]): string {
  const { channel, action, summary, qos, isRetained, messages } = topic;
  const written = Object.values(messages).map((message) => {
    const examples = (message.examples ?? []).map(
      ({ name, payload }) => `<p>${escapeHtml(name)}:</p><pre>${escapeHtml(JSON.stringify(payload, null, 2))}</pre>`,
    );
    return `<details><summary>${escapeHtml(message.title)} <small>${message.contentType}</small></summary>
<p>${escapeHtml(message.summary)}</p>${tableOf(message.payload)}${examples.join('')}</details>`;
  });
  return `<section id="${channel}"><h2>${action === 'send' ? 'Publish' : 'Subscribe'} ${code(deviceTopic('{deviceId}', channel))}</h2>
<p>${escapeHtml(summary)}</p><p><small>QoS ${qos}, ${isRetained ? 'retained' : 'not retained'}</small></p>${written.join('\n')}</section>`;
}

/** Writes the page for people. @param style the content of its style sheet */
export function writePage(style: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Odograph: devices</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${style}</style></head>
<body><main><h1>Devices</h1>
<p>What a device sends and receives over MQTT 3.1.1. Client id and username are the device id, the password is the device secret; over TLS a client
certificate may take their place. For programs: <a href="/docs/asyncapi.json">AsyncAPI 3.0</a>. See also the <a href="/docs">HTTP interface</a>.</p>
${topics.map(sectionOf).join('\n')}
</main></body></html>
`;
}

/**
 * Serves the AsyncAPI document of the device side at /docs/asyncapi.json, to anyone like that of the HTTP interface, and a
 * page for people at /docs/devices.
 */
export async function deviceReference(http: Http, guard: Guard, broker: Broker): Promise<void> {
  const document = JSON.stringify(describeDevices(broker, platformVersion()));
  http.get('/docs/asyncapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(document),
  );
  const page = writePage(pageStyle + readFileSync(new URL('page.css', import.meta.url), 'utf8'));
  await viewerPages(http, guard, [
    (scope) => {
      servePages(scope);
      scope.get('/docs/devices', async (_request, reply) => reply.type('text/html; charset=utf-8').send(page));
    },
  ]);
}
