import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { maximumPacketBytes } from '@odograph/contracts/telemetry';
import { decode, encode, Tokenizer } from 'cborg';

/** The names of the members of each object of a reading; in CBOR, the position of a name may stand for it. */
export const cborNames: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(
    JSON.parse(readFileSync(new URL('cbor-keys.json', import.meta.url), 'utf8')) as Record<string, string[]>,
  ),
);

/** Tells whether the first byte of a payload begins a CBOR array or map (RFC 8949, section 3.1). No UTF-8 begins with one of them. */
export function isCbor(payload: Uint8Array): boolean {
  const [first = 0] = payload;
  return first >= 0x80 && first <= 0xbf;
}

/** Arrays and maps of a payload: more than any reading of that size has, and few enough to hold in memory. */
const maxContainers = Math.ceil(maximumPacketBytes / 6);

const major = { text: 3, array: 4, map: 5 };

/**
 * Refuses payloads of many empty maps, each of which takes hundreds of times its size in memory, and text that is not UTF-8,
 * which would be changed.
 */
class StrictTokenizer extends Tokenizer {
  #containers = 0;

  override next() {
    const start = this.pos();
    const type = (this.data[start] ?? 0) >> 5;
    if (type === major.array || type === major.map) {
      this.#containers += 1;
      if (this.#containers > maxContainers) throw new RangeError('too many arrays and maps');
    }
    const token = super.next();
    if (type === major.text && String(token.value).includes('\ufffd')) this.#requireUtf8(start);
    // As in JSON: rounded, and beyond the bounds of every field.
    if (typeof token.value === 'bigint') token.value = Number(token.value);
    return token;
  }

  #requireUtf8(start: number): void {
    const lengthBytes = { 24: 1, 25: 2, 26: 4 }[(this.data[start] ?? 0) & 31] ?? 0;
    if (!isUtf8(this.data.subarray(start + 1 + lengthBytes, this.pos()))) throw new Error('text is not UTF-8');
  }
}

/**
 * Decodes an upload in CBOR to the form that it has in JSON (docs/device-protocol.md, "CBOR").
 * @throws Error for anything but one well-formed array or map without tags
 */
export function decodeCbor(payload: Uint8Array): unknown {
  const options = { useMaps: true, rejectDuplicateMapKeys: true, allowBigInt: true };
  const decoded: unknown = decode(payload, { ...options, tokenizer: new StrictTokenizer(payload, options) });
  return toJsonForm(decoded, 'reading');
}

/** Names the members of an object, or of each object of an array. Members with unknown numbers are left out. */
function toJsonForm(value: unknown, kind: string): unknown {
  if (Array.isArray(value)) return value.map((element) => toJsonForm(element, kind));
  if (!(value instanceof Map)) return value;
  const members: Record<string, unknown> = {};
  for (const [key, member] of value as Map<unknown, unknown>) {
    const name = typeof key === 'number' ? cborNames.get(kind)?.[key] : key;
    if (typeof name !== 'string' || name === '__proto__') continue;
    members[name] = cborNames.has(name) && member instanceof Object ? toJsonForm(member, name) : member;
  }
  if (kind === 'location') return withDegrees(members);
  return kind === 'frames' ? withHexadecimals(members) : members;
}

/** GNSS receivers give positions in 10⁻⁷ degrees, which take five bytes; as a double they take nine. */
function withDegrees({ latitudeE7, longitudeE7, ...location }: Record<string, unknown>): Record<string, unknown> {
  const degrees = (e7: unknown): unknown => (typeof e7 === 'number' ? e7 / 1e7 : e7);
  return {
    ...location,
    ...(latitudeE7 !== undefined && { latitude: degrees(latitudeE7) }),
    ...(longitudeE7 !== undefined && { longitude: degrees(longitudeE7) }),
  };
}

/** Marks a number as an extended id, as SocketCAN and DBC files do. */
const extendedFlag = 0x80000000;

/** The id of a frame may be a number, and its data bytes. */
function withHexadecimals(frame: Record<string, unknown>): Record<string, unknown> {
  const { id, data } = frame;
  return {
    ...frame,
    ...(typeof id === 'number' && { id: idText(id) }),
    ...(data instanceof Uint8Array && { data: Buffer.from(data).toString('hex') }),
  };
}

function idText(id: number): string {
  const isExtended = id >= extendedFlag;
  const digits = (isExtended ? id - extendedFlag : id).toString(16);
  return digits.padStart(isExtended ? 8 : 3, '0').toUpperCase();
}

/** Encodes readings, or one, in the shortest form that loses nothing: with numbers for names, bytes for frames. */
export function encodeCbor(telemetry: unknown): Uint8Array {
  return encode(toNumbers(telemetry, 'reading'));
}

function toNumbers(value: unknown, kind: string): unknown {
  if (Array.isArray(value)) return value.map((element) => toNumbers(element, kind));
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  const members = Object.entries(kind === 'frames' ? toBytes(value) : value);
  const table = cborNames.get(kind) ?? [];
  return new Map(
    members.map(([name, member]) => {
      const number = table.indexOf(name);
      return [number === -1 ? name : number, cborNames.has(name) ? toNumbers(member, name) : member] as const;
    }),
  );
}

function toBytes(frame: object): object {
  const { id, data, ...rest } = frame as { id: string; data: string };
  const flag = id.length === 8 ? extendedFlag : 0;
  return { ...rest, id: Number.parseInt(id, 16) + flag, data: Buffer.from(data, 'hex') };
}
