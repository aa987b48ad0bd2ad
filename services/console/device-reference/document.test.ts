import specs from '@asyncapi/specs';
import { encodeCbor } from '@odograph/codec/native/cbor';
import { decodeUpload } from '@odograph/codec/uploads';
import { deviceTopic, downChannels, upChannels } from '@odograph/contracts/topics';
import { signKeyList } from '@odograph/keyless/key-list';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { expect, it } from 'vitest';
import { describeDevices, topics, writePage } from './page.ts';

const document = JSON.parse(JSON.stringify(describeDevices({ port: 1883, tlsPort: 8883 }, '0.1.0')));
const ajv = addFormats.default(new Ajv({ strict: false }));
const messages = topics.flatMap((topic) => Object.values(topic.messages));
const payloadOf = (title: string) => messages.find((message) => message.title === title)?.payload ?? {};

it('is a valid AsyncAPI 3.0 document', () => {
  // It holds the schema of JSON Schema itself, which Ajv would add once more.
  const official = new Ajv({ strict: false, meta: false, validateSchema: false, unicodeRegExp: false });
  const validate = addFormats.default(official).compile(JSON.parse(JSON.stringify(specs.schemas['3.0.0'])));
  validate(document);
  expect(validate.errors).toBeNull();
  expect(validate({ ...document, asyncapi: '1.0.0' })).toBe(false);
});

it('has every topic of a device, in the direction that the broker permits', () => {
  const described = topics.map(({ channel, action }) => `${action} ${channel}`);
  const permitted = [
    ...[...upChannels].map((one) => `send ${one}`),
    ...[...downChannels].map((one) => `receive ${one}`),
  ];
  expect(described.sort()).toEqual(permitted.sort());
  const addresses = Object.values<{ address: string }>(document.channels).map(({ address }) => address);
  expect(addresses).toContain(deviceTopic('{deviceId}', 'telemetry'));
  expect(document.operations.uploadReadings.bindings.mqtt).toMatchObject({ qos: 1, retain: false });
  expect(document.operations.receiveKeyList.bindings.mqtt).toMatchObject({ qos: 1, retain: true });
});

it('shows examples that its schemas accept, and readings that the platform stores', () => {
  for (const { payload, examples = [] } of messages) {
    for (const example of examples)
      expect([example.name, ajv.validate(payload, example.payload)]).toEqual([example.name, true]);
  }
  const [reading] = messages.find(({ title }) => title === 'Readings in JSON')?.examples ?? [];
  const { readings, faults } = decodeUpload('native', JSON.stringify(reading?.payload), 0);
  expect([readings.length, faults]).toEqual([1, []]);
});

it('numbers the members of a reading as CBOR does', () => {
  const [reading = {}] = payloadOf('Readings in CBOR').anyOf ?? [];
  const keyOf = (schema: typeof reading, name: string) => schema.properties?.[name]?.['x-cbor-key'];
  const location = reading.properties?.['location'] ?? {};
  const numbers = [keyOf(reading, 'timestamp'), keyOf(reading, 'location'), keyOf(location, 'latitudeE7')];
  expect(numbers).toEqual([0, 2, 6]);
  // A map of two entries, of which the first has the key 0 and the second the key 2.
  const bytes = [...encodeCbor({ timestamp: 1, location: { speed: 52 } })];
  expect(bytes).toEqual([0xa2, 0, 1, 2, 0xa1, 4, 0x18, 52]);
});

it('describes key lists as the platform signs them', () => {
  const authorization = { id: '0197a1de-5f0e-7000-8000-000000000004', state: 'revoked', untilMs: 2 } as const;
  const list = { version: 1, keyVersion: 1, epoch: 1, issuedAtMs: 1, authorizations: [authorization] };
  const signed = signKeyList(nodeCrypto, { deviceId: 'unit-0001', deviceKey: new Uint8Array(32) }, list);
  expect(ajv.validate(payloadOf('Key list'), signed)).toBe(true);
  expect(Object.keys(signed).sort()).toEqual(Object.keys(payloadOf('Key list').properties ?? {}).sort());
});

it('is a page that loads nothing and names every topic', () => {
  const page = writePage('');
  for (const { channel } of topics) expect(page).toContain(deviceTopic('{deviceId}', channel));
  expect(page).toContain('location.latitudeE7');
  expect(page).not.toMatch(/<script|<link|src=|https?:/);
});
