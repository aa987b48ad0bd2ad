import { readFileSync } from 'node:fs';
import { cborNames } from '@odograph/codec/native/cbor';
import { AcknowledgementMessage, CommandMessage } from '@odograph/contracts/commands';
import { maximumPacketBytes, maximumReadingsPerUpload, TelemetryReading } from '@odograph/contracts/telemetry';
import {
  type DeviceChannel,
  deviceIdPattern,
  deviceTopic,
  KeyListMessage,
  RejectMessage,
} from '@odograph/contracts/topics';
import { type Guard, viewerPages } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { pageStyle } from '@odograph/http/openapi';
import { servePages } from '@odograph/http/page-policy';
import { platformVersion } from '@odograph/runtime/platform-version';

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

/** A JSON Schema; TypeBox writes no other keywords for these messages. */
interface MessageSchema {
  readonly [keyword: string]: unknown;
  readonly type?: string | undefined;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, MessageSchema>>;
  readonly required?: readonly string[];
  readonly items?: MessageSchema;
  readonly anyOf?: readonly MessageSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
}

interface Message {
  readonly title: string;
  readonly summary: string;
  readonly contentType: string;
  readonly payload: MessageSchema;
  readonly examples?: readonly { readonly name: string; readonly payload: unknown }[];
}

interface Topic {
  readonly channel: DeviceChannel;
  readonly operation: string;
  /** From the device's side. */
  readonly action: 'send' | 'receive';
  readonly summary: string;
  readonly qos: 0 | 1;
  readonly isRetained: boolean;
  readonly messages: Readonly<Record<string, Message>>;
}

const asJson = (schema: object): MessageSchema => JSON.parse(JSON.stringify(schema));

/** The members that an object has in CBOR only, by the kind of the object. */
const cborMembers: Readonly<Record<string, MessageSchema>> = {
  latitudeE7: { type: 'integer', description: 'latitude in 10⁻⁷ degrees, in place of latitude' },
  longitudeE7: { type: 'integer', description: 'longitude in 10⁻⁷ degrees, in place of longitude' },
};

/** Members that may have another type in CBOR; their pattern applies to text only. */
const cborForms: Readonly<Record<string, string>> = {
  'frames.id': 'in CBOR also a number, with 0x80000000 added for an extended id',
  'frames.data': 'in CBOR also bytes',
};

/** Adds to each member of the objects of a reading the number that may stand for its name in CBOR, `x-cbor-key`. */
function withCborKeys(schema: MessageSchema, kind: string): MessageSchema {
  if (schema.items) return { ...schema, items: withCborKeys(schema.items, kind) };
  const names = cborNames.get(kind);
  if (!schema.properties || !names) return schema;
  const all = names.map((name, key): [string, MessageSchema] => {
    const member = withCborKeys(schema.properties?.[name] ?? cborMembers[name] ?? {}, name);
    const form = cborForms[`${kind}.${name}`];
    return [name, { ...member, ...(form !== undefined && { type: undefined, description: form }), 'x-cbor-key': key }];
  });
  const { required = [], ...rest } = schema;
  // A position may be given in either form.
  const needed = kind === 'location' ? [] : required;
  return { ...rest, properties: Object.fromEntries(all), ...(needed.length > 0 && { required: needed }) };
}

const reading = asJson(TelemetryReading);
const oneOrMore = (one: MessageSchema): MessageSchema => ({
  anyOf: [one, { type: 'array', items: one, maxItems: maximumReadingsPerUpload }],
});

const example = {
  timestamp: 1_763_712_000.25,
  sequence: 4711,
  location: { latitude: 48.8566, longitude: 2.3522, angle: 90, altitude: 35, speed: 52, satellites: 9 },
  status: { ignition: true, movement: true, mileage: 12_345.6, autonomy: 310 },
  can: [{ key: 'engine_rpm', value: '2100' }],
  electric: { soc: 80, soh: 97, current: -12.3, voltage: 390.2, energy: 41.2 },
};

const json = 'application/json';

/** The topics of a device (docs/device-protocol.md). */
export const topics: readonly Topic[] = [
  {
    ...{ channel: 'telemetry', operation: 'uploadReadings', action: 'send', qos: 1, isRetained: false },
    summary: 'Upload readings. The PUBACK means that the platform has them on disk; repeat them until it arrives.',
    messages: {
      readingsAsJson: {
        ...{ title: 'Readings in JSON', summary: 'one reading or an array of readings', contentType: json },
        payload: oneOrMore(reading),
        examples: [{ name: 'driving', payload: example }],
      },
      readingsAsCbor: {
        title: 'Readings in CBOR',
        summary: 'the same in CBOR (RFC 8949), where the number x-cbor-key may stand for the name of a member',
        contentType: 'application/cbor',
        payload: oneOrMore(withCborKeys(reading, 'reading')),
      },
    },
  },
  {
    ...{ channel: 'commands', operation: 'receiveCommand', action: 'receive', qos: 0, isRetained: false },
    summary: 'Receive a command. Commands arrive only during a session; none is kept for later.',
    messages: {
      command: {
        ...{ title: 'Command', summary: 'the action and its deadline', contentType: json },
        payload: asJson(CommandMessage),
        examples: [{ name: 'lock', payload: { id: '5b0c', action: 'LOCK', expiresAt: 1_763_712_010 } }],
      },
    },
  },
  {
    ...{ channel: 'acks', operation: 'acknowledge', action: 'send', qos: 1, isRetained: false },
    summary: 'Acknowledge a command or a key list. A late acknowledgement is still recorded.',
    messages: {
      acknowledgement: {
        ...{ title: 'Acknowledgement', contentType: json },
        summary: 'whether the command with this id was carried out, or the key list `keys:{version}` is in use',
        payload: asJson(AcknowledgementMessage),
        examples: [
          { name: 'locked', payload: { id: '5b0c', ok: true, status: 'CLOSED' } },
          { name: 'refused', payload: { id: '5b0c', ok: false, reason: 'a door is open' } },
        ],
      },
    },
  },
  {
    ...{ channel: 'keys', operation: 'receiveKeyList', action: 'receive', qos: 1, isRetained: true },
    summary: 'Receive the key list: revoked and suspended Bluetooth authorizations. A newer list replaces it entirely.',
    messages: {
      keyList: {
        ...{ title: 'Key list', summary: 'complete, versioned and signed', contentType: json },
        payload: asJson(KeyListMessage),
      },
    },
  },
  {
    ...{ channel: 'rejects', operation: 'receiveReject', action: 'receive', qos: 0, isRetained: false },
    summary: 'Receive the reasons why an upload went to quarantine; for development, without guaranteed delivery.',
    messages: {
      reject: {
        ...{ title: 'Reject', summary: 'the faults of one upload', contentType: json },
        payload: asJson(RejectMessage),
      },
    },
  },
];

/** The endpoints of devices, from the settings. */
interface Broker {
  readonly port: number;
  /** Undefined without a certificate. */
  readonly tlsPort: number | undefined;
}

const security = [{ $ref: '#/components/securitySchemes/deviceSecret' }];

function serversOf({ port, tlsPort }: Broker): object {
  const variables = { hostname: { default: 'localhost', description: 'name or address of the platform' } };
  const common = { protocolVersion: '3.1.1', variables };
  return {
    mqtt: {
      ...{ host: `{hostname}:${port}`, protocol: 'mqtt', ...common, security },
      description: 'without TLS, which exposes the device secret to the network',
    },
    ...(tlsPort !== undefined && {
      mqtts: {
        ...{ host: `{hostname}:${tlsPort}`, protocol: 'mqtts', ...common },
        security: [...security, { $ref: '#/components/securitySchemes/clientCertificate' }],
        description: 'with TLS',
      },
    }),
  };
}

const bindingVersion = '0.2.0';

/** Writes the AsyncAPI 3.0 document of the device side: `send` is what a device publishes. */
export function describeDevices(broker: Broker, version: string) {
  const servers = serversOf(broker);
  const deviceId = {
    description: `the device's id, which is its client id and username too; of the form ${deviceIdPattern}`,
    examples: ['unit-0001'],
  };
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Odograph: device protocol',
      version,
      description: `The messages that a device exchanges with Odograph over MQTT. A packet has at most ${maximumPacketBytes} bytes. A device may use its own topics only.`,
      license: { name: 'Apache 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers,
    channels: Object.fromEntries(
      topics.map(({ channel, summary, messages }) => [
        channel,
        {
          ...{ address: deviceTopic('{deviceId}', channel), summary, parameters: { deviceId } },
          messages: Object.fromEntries(
            Object.keys(messages).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
          ),
        },
      ]),
    ),
    operations: Object.fromEntries(
      topics.map(({ channel, operation, action, summary, qos, isRetained, messages }) => [
        operation,
        {
          ...{ action, summary, channel: { $ref: `#/channels/${channel}` } },
          messages: Object.keys(messages).map((name) => ({ $ref: `#/channels/${channel}/messages/${name}` })),
          bindings: { mqtt: { qos, retain: isRetained, bindingVersion } },
          ...(channel === 'commands' && { reply: { channel: { $ref: '#/channels/acks' } } }),
        },
      ]),
    ),
    components: {
      messages: Object.fromEntries(
        topics.flatMap(({ messages }) =>
          Object.entries(messages).map(([name, message]) => [name, { name, ...message }]),
        ),
      ),
      securitySchemes: {
        deviceSecret: {
          type: 'userPassword',
          description: 'the device id, and the device secret that was shown when the device was created',
        },
        clientCertificate: {
          type: 'X509',
          description:
            'a certificate whose only common name is the device id, if the platform has an authority for them',
        },
      },
    },
  };
}
