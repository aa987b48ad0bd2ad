import fc, { type Arbitrary } from 'fast-check';

/** The bytes that a client sends, chunk by chunk. */
export type Chunks = readonly Buffer[];

function field(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(bytes.length >> 8) & 0xff, bytes.length & 0xff]), bytes]);
}

function remainingLength(length: number): Buffer {
  const bytes: number[] = [];
  let rest = length;
  do {
    bytes.push(rest > 127 ? (rest % 128) | 0x80 : rest);
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.from(bytes);
}

/** Encodes a packet, with a wrong length if `claimed` is given. */
function packet(header: number, body: Buffer, claimed = body.length): Buffer {
  return Buffer.concat([Buffer.from([header]), remainingLength(claimed), body]);
}

interface Identity {
  readonly deviceId: string;
  readonly secret: string;
}

function connect(
  { deviceId, secret }: Identity,
  {
    version = 4,
    flags = 0xc2,
    name = 'MQTT',
    keepAlive = 60,
  }: { version?: number; flags?: number; name?: string; keepAlive?: number } = {},
): Buffer {
  const header = Buffer.concat([
    field(Buffer.from(name)),
    Buffer.from([version, flags, keepAlive >> 8, keepAlive & 0xff]),
  ]);
  const texts = [deviceId, deviceId, secret].map((text) => field(Buffer.from(text)));
  return packet(0x10, Buffer.concat([header, ...texts]));
}

const badText = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(
    Buffer.alloc(0),
    Buffer.from([0xff, 0xfe]),
    Buffer.from([0xc0, 0x80]),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from('a\0b'),
    Buffer.from('/'.repeat(5000)),
    Buffer.from('a/'.repeat(2000)),
    Buffer.from('+/#'),
    Buffer.from('#/#'),
    Buffer.from('$SYS/#'),
    Buffer.from('$share/g/#'),
    Buffer.from('__proto__'),
    Buffer.from('v1/devices/__proto__/commands'),
    Buffer.from('v1/devices/+/commands'),
    Buffer.from('x'.repeat(9000)),
  ),
);

function topicsOf({ deviceId }: Identity): Arbitrary<Buffer> {
  const own = ['telemetry', 'acks', 'commands', 'keys', 'other'].map((channel) =>
    Buffer.from(`v1/devices/${deviceId}/${channel}`),
  );
  return fc.oneof(fc.constantFrom(...own), badText);
}

const payload = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(
    Buffer.from('{"timestamp":1}'),
    Buffer.from('['.repeat(60_000)),
    Buffer.from('{"__proto__":{"a":1},"timestamp":1e999}'),
    Buffer.from(`[${'{"timestamp":1},'.repeat(2000)}{}]`),
    Buffer.alloc(256 * 1024, 0x5b),
    Buffer.from('{"id":"x","ok":true}'),
  ),
);
const number = fc.oneof(fc.constantFrom(0, 1, 65_535), fc.nat(65_535));
const word = (value: number) => Buffer.from([value >> 8, value & 0xff]);

function publishOf(identity: Identity): Arbitrary<Buffer> {
  const flags = fc.constantFrom(0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x3a, 0x3b, 0x3c, 0x3f);
  return fc
    .tuple(flags, topicsOf(identity), number, payload)
    .map(([header, topic, messageId, bytes]) =>
      packet(header, Buffer.concat([field(topic), ...((header & 0x06) === 0 ? [] : [word(messageId)]), bytes])),
    );
}

function subscriptionOf(identity: Identity): Arbitrary<Buffer> {
  const header = fc.constantFrom(0x82, 0x80, 0x8f, 0xa2, 0xa0);
  const filters = fc.array(fc.tuple(topicsOf(identity), fc.constantFrom(0, 1, 2, 3, 0x80, 0xff)), { maxLength: 30 });
  return fc.tuple(header, number, filters).map(([type, messageId, listed]) => {
    const entries = listed.map(([topic, qos]) =>
      type >= 0xa0 ? field(topic) : Buffer.concat([field(topic), Buffer.from([qos])]),
    );
    return packet(type, Buffer.concat([word(messageId), ...entries]));
  });
}

function connectOf(identity: Identity): Arbitrary<Buffer> {
  const right = fc.constant(connect(identity));
  const odd = fc
    .record({
      version: fc.constantFrom(0, 3, 4, 5, 6, 0x84, 255),
      flags: fc.nat(255),
      name: fc.constantFrom('MQTT', 'MQIsdp', 'mqtt', '', 'MQTT\0'),
      keepAlive: fc.constantFrom(0, 1, 65_535),
    })
    .map((options) => connect(identity, options));
  const named = badText.map((name) => connect({ deviceId: name.toString('latin1'), secret: 'x' }));
  return fc.oneof({ weight: 4, arbitrary: right }, { weight: 2, arbitrary: odd }, { weight: 2, arbitrary: named });
}

const controls = fc.oneof(
  fc.constantFrom(0x40, 0x50, 0x60, 0x62, 0x70, 0x90, 0xb0).chain((type) => number.map((id) => packet(type, word(id)))),
  fc.constantFrom(
    packet(0xc0, Buffer.alloc(0)),
    packet(0xd0, Buffer.alloc(0)),
    packet(0xe0, Buffer.alloc(0)),
    packet(0x00, Buffer.alloc(0)),
    packet(0xf0, Buffer.alloc(3)),
    packet(0xc0, Buffer.alloc(5)),
    packet(0x20, Buffer.from([0, 0])),
    packet(0x10, Buffer.alloc(0)),
    packet(0x30, Buffer.alloc(0)),
    packet(0x82, Buffer.alloc(0)),
    packet(0x40, Buffer.alloc(0)),
    Buffer.from([0x32, 0xff, 0xff, 0xff, 0x7f]),
    Buffer.from([0x82, 0x80, 0x80, 0x80, 0x80, 0x80]),
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]),
  ),
);

/** Generates a packet that is valid, truncated, of a wrong length, or with flipped bits. */
function spoiled(good: Arbitrary<Buffer>): Arbitrary<Buffer> {
  const cut = fc.tuple(good, fc.nat()).map(([bytes, at]) => bytes.subarray(0, at % (bytes.length + 1)));
  const turned = fc.tuple(good, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 })).map(([bytes, turns]) => {
    const copy = Buffer.from(bytes);
    for (const [at, value] of turns) if (copy.length > 0) copy[at % copy.length] = value;
    return copy;
  });
  return fc.oneof({ weight: 5, arbitrary: good }, { weight: 1, arbitrary: cut }, { weight: 2, arbitrary: turned });
}

/** Generates the bytes of one connection; most begin with a valid CONNECT. */
export function conversationOf(identity: Identity): Arbitrary<Chunks> {
  const any = spoiled(
    fc.oneof(
      { weight: 4, arbitrary: publishOf(identity) },
      { weight: 3, arbitrary: subscriptionOf(identity) },
      { weight: 2, arbitrary: controls },
      { weight: 1, arbitrary: connectOf(identity) },
    ),
  );
  const opening = fc.oneof(
    { weight: 6, arbitrary: fc.constant([connect(identity)]) },
    { weight: 2, arbitrary: spoiled(connectOf(identity)).map((bytes) => [bytes]) },
    { weight: 1, arbitrary: fc.constant<Buffer[]>([]) },
  );
  return fc.tuple(opening, fc.array(any, { maxLength: 12 })).map(([first, rest]) => [...first, ...rest]);
}
