import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bytesOf,
  decodeFault,
  findSyntaxFault,
  hexLines,
  locate,
} from '../../apps/console/src/parts/quarantine/decode.ts';

const fault = (values: object) => ({ index: null, reason: 'INVALID_FIELD', ...values });
const encode = (text: string) => new TextEncoder().encode(text);

describe('the place of a fault in an upload', () => {
  it('is a fault of syntax exactly where JSON.parse refuses the text', () => {
    const almostJson = fc.tuple(
      fc.json({ maxDepth: 3 }),
      fc.nat(),
      fc.constantFrom('', ',', '"', '}', '01', '\\', '\u0001', 'é'),
    );
    fc.assert(
      fc.property(almostJson, ([json, seed, inserted]) => {
        const at = seed % (json.length + 1);
        const text = json.slice(0, at) + inserted + json.slice(at);
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        const place = findSyntaxFault(text);
        expect([place === undefined, (place?.from ?? 0) <= text.length]).toEqual([isJson, true]);
      }),
    );
  });

  it('is the value at a path, whatever is around it', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.array(fc.string(), { minLength: 1, maxLength: 3 }),
        fc.string(),
        (value, path, other) => {
          const nested = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
          const source = JSON.stringify([other, nested], null, 1);
          const place = locate(source, ['1', ...path]);
          expect(place && JSON.parse(source.slice(place.from, place.until))).toEqual(JSON.parse(JSON.stringify(value)));
        },
      ),
    );
  });

  it('is the object that lacks a field, and the byte and the line of a value after letters of several bytes', () => {
    expect(locate('{"a":{"b":1}}', ['a', 'c'])).toEqual({ from: 5, until: 12 });
    const upload = '[{"timestamp":1},{"note":"é","timestamp":"x"}]';
    const decoded = decodeFault(encode(upload), fault({ index: 1, field: 'timestamp' }));
    expect(upload.slice(decoded.inText?.from, decoded.inText?.until)).toBe('"x"');
    expect(decoded.inBytes).toEqual({ from: 42, until: 45 });
    expect(decoded.json?.slice(decoded.inJson?.from, decoded.inJson?.until)).toBe('"x"');
    expect(hexLines(encode(upload), decoded.inBytes)[2]).toMatchObject({ offset: 32 });
  });

  it('is the first byte that is no UTF-8, and nowhere for a device without a vehicle', () => {
    expect(decodeFault(bytesOf('eyL/In0='), fault({ reason: 'NOT_UTF8' })).inBytes).toEqual({ from: 2, until: 3 });
    const decoded = decodeFault(encode('{"timestamp":1}'), fault({ reason: 'DEVICE_NOT_LINKED' }));
    expect([decoded.inText, decoded.json]).toEqual([undefined, '{\n  "timestamp": 1\n}']);
  });

  it('is not looked for in an upload that would exhaust the stack', () => {
    expect(findSyntaxFault('['.repeat(100_000))?.from).toBeLessThan(200);
  });

  it('is shown in the reading as the platform decoded it, where the upload is not JSON of its own form', () => {
    const readings = [{ timestamp: 1 }, { timestamp: 2, location: { latitude: 91 } }];
    const bytes = new Uint8Array([0x8e, 2]);
    const {
      json = '',
      inJson,
      inBytes,
    } = decodeFault(bytes, fault({ index: 1, field: 'location.latitude' }), readings);
    expect(JSON.parse(json)).toEqual(readings[1]);
    expect(json.slice(inJson?.from, inJson?.until)).toBe('91');
    expect(inBytes).toBeUndefined();
    expect(decodeFault(bytes, fault({ reason: 'MALFORMED' }), []).json).toBeUndefined();
  });
});
