import { describe, expect, it } from 'vitest';
import { compileDecoder, type DecodedSignal } from './decode.ts';
import { parseDbc } from './parse-dbc.ts';

interface Frame {
  id?: number;
  isExtended?: boolean;
  data: string;
}

function decode(dbc: string, { id = 1, isExtended = false, data }: Frame): DecodedSignal[] {
  const { database, faults } = parseDbc(dbc);
  expect(faults).toEqual([]);
  return compileDecoder(database)({ id, isExtended, data: Buffer.from(data.replaceAll(' ', ''), 'hex') });
}

/** Decodes a message of eight bytes with id 1, and returns its values in the order of its signals. */
function values(signals: readonly string[], data: string, more: readonly string[] = []): (number | string)[] {
  const dbc = ['BO_ 1 M: 8 X', ...signals.map((signal) => ` SG_ ${signal} [0|0] "" X`), ...more].join('\n');
  return decode(dbc, { data }).map(({ value }) => value);
}

describe('the layout of signals', () => {
  it('counts an Intel signal from its least significant bit, upwards through the bytes', () => {
    expect(values(['A : 0|16@1+ (1,0)', 'B : 4|12@1+ (1,0)'], '34 12 00 00 00 00 00 00')).toEqual([0x1234, 0x123]);
    expect(values(['A : 16|32@1+ (1,0)'], '00 00 78 56 34 12 00 00')).toEqual([0x12345678]);
  });

  it('counts a Motorola signal from its most significant bit, downwards and on in the next byte', () => {
    expect(values(['A : 7|16@0+ (1,0)', 'B : 3|12@0+ (1,0)'], '12 34 00 00 00 00 00 00')).toEqual([0x1234, 0x234]);
    expect(values(['A : 23|32@0+ (1,0)'], '00 00 12 34 56 78 00 00')).toEqual([0x12345678]);
  });

  it('decodes a Motorola signal that begins and ends within bytes (example of the cantools documentation)', () => {
    // 0|12@0-: bit 0 of byte 0, byte 1, the upper three bits of byte 2: 0 00000110 111 = 55; 55 × 0.01 + 250 = 250.55.
    const signals = ['Enable : 7|1@0+ (1,0)', 'Radius : 6|6@0+ (0.1,0)', 'Temperature : 0|12@0- (0.01,250)'];
    expect(values(signals, 'C0 06 E0 00 00 00 00 00')).toEqual([1, 3.2, 250.55]);
  });

  it('decodes 32 bits that are spread over five bytes', () => {
    // 0xFFFFFFFF shifted by three bits.
    expect(values(['A : 3|32@1+ (1,0)'], 'F8 FF FF FF 07 00 00 00')).toEqual([0xffffffff]);
    expect(values(['A : 4|32@0+ (1,0)'], '1F FF FF FF E0 00 00 00')).toEqual([0xffffffff]);
  });

  it('reads the sign of two complements of any length', () => {
    const signals = ['A : 0|8@1- (1,0)', 'B : 8|4@1- (1,0)', 'C : 12|12@1- (1,0)', 'D : 32|32@1- (1,0)'];
    expect(values(signals, '80 F7 FF 00 FE FF FF FF')).toEqual([-128, 7, -1, -2]);
    expect(values(['A : 7|64@0- (1,0)'], 'FF FF FF FF FF FF FF FE')).toEqual([-2]);
    expect(values(['A : 0|1@1- (1,0)'], '01 00 00 00 00 00 00 00')).toEqual([-1]);
  });

  it('decodes a CAN FD message up to its last byte', () => {
    const dbc = 'BO_ 1 M: 64 X\n SG_ A : 504|8@1+ (1,0) [0|0] "" X\n SG_ B : 503|16@0+ (1,0) [0|0] "" X';
    const data = `${'00'.repeat(62)}1234`;
    expect(decode(dbc, { data }).map(({ value }) => value)).toEqual([0x34, 0x1234]);
  });

  it('leaves out the signals that a short frame does not hold', () => {
    const signals = ['A : 0|16@1+ (1,0)', 'B : 8|9@1+ (1,0)', 'C : 15|8@0+ (1,0)'];
    expect(values(signals, '01 02')).toEqual([0x201, 2]);
    expect(values(signals, '')).toEqual([]);
  });
});

describe('values', () => {
  it('gives the decimal number that factor and offset say, not the rounding of a product', () => {
    expect(values(['A : 0|8@1+ (0.1,0)', 'B : 8|8@1+ (0.01,-40)'], '03 07 00 00 00 00 00 00')).toEqual([0.3, -39.93]);
    expect(values(['A : 0|16@1- (-0.001,1.5)'], 'FF FF 00 00 00 00 00 00')).toEqual([1.501]);
  });

  it('gives 64 bits exactly: as a number while a double holds the value, else as text', () => {
    const signal = 'A : 0|64@1+ (1,0)';
    expect(values([signal], 'FF FF FF FF FF FF 1F 00')).toEqual([9007199254740991]);
    expect(values([signal], '01 00 00 00 00 00 20 00')).toEqual(['9007199254740993']);
    expect(values([signal], 'FF FF FF FF FF FF FF FF')).toEqual(['18446744073709551615']);
    expect(values(['A : 0|64@1- (1,0)'], '00 00 00 00 00 00 00 80')).toEqual(['-9223372036854775808']);
    // 0xFFFFFFFFFFFFFFFF × 0.001 - 5
    expect(values(['A : 7|64@0+ (0.001,-5)'], 'FF FF FF FF FF FF FF FF')).toEqual(['18446744073709546.615']);
  });

  it('decodes floats of 32 and 64 bits (IEEE 754)', () => {
    // 0x40490FDB is the float nearest to π, 0x400921FB54442D18 the double.
    const float = values(['A : 0|32@1- (1,0)'], 'DB 0F 49 40 00 00 00 00', ['SIG_VALTYPE_ 1 A : 1;']);
    expect(float).toEqual([Math.fround(Math.PI)]);
    const double = values(['A : 7|64@0- (2,1)'], '40 09 21 FB 54 44 2D 18', ['SIG_VALTYPE_ 1 A : 2;']);
    expect(double).toEqual([2 * Math.PI + 1]);
  });

  it('names floats that are no finite number, which JSON cannot hold', () => {
    const floats = ['A : 0|32@1- (1,0)', 'B : 32|32@1- (1,0)'];
    const types = ['SIG_VALTYPE_ 1 A : 1;', 'SIG_VALTYPE_ 1 B : 1;'];
    expect(values(floats, '00 00 C0 7F 00 00 80 FF', types)).toEqual(['NaN', '-Infinity']);
  });

  it('gives the label of the raw value and the unit', () => {
    const dbc = `
BO_ 1 M: 8 X
 SG_ Gear : 0|4@1+ (10,5) [0|0] "" X
 SG_ Speed : 8|8@1+ (2,0) [0|0] "km/h" X
 SG_ Serial : 0|64@1+ (1,0) [0|0] "" X
VAL_ 1 Gear 0 "park" 1 "reverse" ;
VAL_ 1 Serial 9007199254740993 "ours" ;`;
    expect(decode(dbc, { data: '01 0A 00 00 00 00 00 00' })).toEqual([
      { message: 'M', signal: 'Gear', value: 15, label: 'reverse' },
      { message: 'M', signal: 'Speed', value: 20, unit: 'km/h' },
      { message: 'M', signal: 'Serial', value: 0xa01 },
    ]);
    expect(decode(dbc, { data: '01 00 00 00 00 00 20 00' })[2]).toMatchObject({ label: 'ours' });
  });
});

describe('multiplexing', () => {
  const names = (dbc: string, data: string) => decode(dbc, { data }).map(({ signal }) => signal);

  it('decodes the signals that the multiplexer selects, and those that it does not concern', () => {
    const dbc = `
BO_ 1 M: 8 X
 SG_ Always : 56|8@1+ (1,0) [0|0] "" X
 SG_ Page M : 0|8@1+ (1,0) [0|0] "" X
 SG_ First m0 : 8|8@1+ (1,0) [0|0] "" X
 SG_ Second m1 : 8|16@1+ (1,0) [0|0] "" X`;
    expect(names(dbc, '00 00 00 00 00 00 00 00')).toEqual(['Always', 'Page', 'First']);
    expect(names(dbc, '01 00 00 00 00 00 00 00')).toEqual(['Always', 'Page', 'Second']);
    expect(names(dbc, '02 00 00 00 00 00 00 00')).toEqual(['Always', 'Page']);
  });

  it('follows multiplexers that other multiplexers select, by ranges (SG_MUL_VAL_)', () => {
    const dbc = `
BO_ 1 M: 8 X
 SG_ Outer M : 0|4@1+ (1,0) [0|0] "" X
 SG_ Inner m1M : 4|4@1+ (1,0) [0|0] "" X
 SG_ Deep m5 : 8|8@1+ (1,0) [0|0] "" X
 SG_ Other m2 : 8|8@1+ (1,0) [0|0] "" X
SG_MUL_VAL_ 1 Inner Outer 1-1, 3-4;
SG_MUL_VAL_ 1 Deep Inner 5-6,8 - 9, 6-8;
SG_MUL_VAL_ 1 Other Outer 2-2;`;
    expect(names(dbc, '51 00 00 00 00 00 00 00')).toEqual(['Outer', 'Inner', 'Deep']);
    expect(names(dbc, '84 00 00 00 00 00 00 00')).toEqual(['Outer', 'Inner', 'Deep']);
    expect(names(dbc, '43 00 00 00 00 00 00 00')).toEqual(['Outer', 'Inner']);
    expect(names(dbc, '52 00 00 00 00 00 00 00')).toEqual(['Outer', 'Other']);
  });

  it('lets two independent multiplexers select in the same frame', () => {
    const dbc = `
BO_ 1 M: 8 X
 SG_ Left M : 0|4@1+ (1,0) [0|0] "" X
 SG_ Right M : 4|4@1+ (1,0) [0|0] "" X
 SG_ L1 m1 : 8|8@1+ (1,0) [0|0] "" X
 SG_ R1 m1 : 16|8@1+ (1,0) [0|0] "" X
SG_MUL_VAL_ 1 L1 Left 1-1;
SG_MUL_VAL_ 1 R1 Right 1-1;`;
    expect(names(dbc, '11 00 00 00 00 00 00 00')).toEqual(['Left', 'L1', 'Right', 'R1']);
    expect(names(dbc, '10 00 00 00 00 00 00 00')).toEqual(['Left', 'Right', 'R1']);
  });
});

describe('the message of a frame', () => {
  const ids = `
BO_ 291 Standard: 8 X
 SG_ S : 0|8@1+ (1,0) [0|0] "" X
BO_ 2147483939 Extended: 8 X
 SG_ E : 0|8@1+ (1,0) [0|0] "" X`;
  const messageOf = (dbc: string, id: number, isExtended: boolean) =>
    decode(dbc, { id, isExtended, data: '00'.repeat(8) })[0]?.message;

  it('is found by its id, standard or extended; other frames have no signals', () => {
    expect(messageOf(ids, 0x123, false)).toBe('Standard');
    expect(messageOf(ids, 0x123, true)).toBe('Extended');
    expect(decode(ids, { id: 0x124, isExtended: true, data: '00' })).toEqual([]);
  });

  const j1939 = `
BO_ 2364540158 EEC1: 8 X
 SG_ EngineSpeed : 24|16@1+ (0.125,0) [0|8031.875] "rpm" X
BO_ 2565740286 Proprietary: 8 X
 SG_ A : 0|8@1+ (1,0) [0|0] "" X
BO_ 2565734401 Exact: 8 X
 SG_ B : 0|8@1+ (1,0) [0|0] "" X
BA_DEF_ BO_ "VFrameFormat" ENUM "StandardCAN","ExtendedCAN","reserved","J1939PG";
BA_DEF_DEF_ "VFrameFormat" "J1939PG";
BA_ "VFrameFormat" BO_ 2565734401 1;`;

  it('is found by the parameter group of J1939, whatever the priority and the source address are', () => {
    // 0x0CF004FE in the file: PGN 0xF004 (61444), PDU2.
    expect(messageOf(j1939, 0x0cf00400, true)).toBe('EEC1');
    expect(messageOf(j1939, 0x18f0042a, true)).toBe('EEC1');
    expect(messageOf(j1939, 0x18f00500, true)).toBeUndefined();
    // The data page belongs to the parameter group number.
    expect(messageOf(j1939, 0x0df00400, true)).toBeUndefined();
  });

  it('ignores the destination address of the PDU1 format', () => {
    // 0x18EE16FE in the file: PDU format 0xEE is below 240.
    expect(messageOf(j1939, 0x18ee0021, true)).toBe('Proprietary');
    expect(messageOf(j1939, 0x18eeff21, true)).toBe('Proprietary');
    expect(messageOf(j1939, 0x18edff21, true)).toBeUndefined();
  });

  it('is the one with the same id rather than one of the same parameter group', () => {
    expect(messageOf(j1939, 0x18ee0001, true)).toBe('Exact');
  });

  it('marks J1939 values that the device says it does not have, or that are faulty', () => {
    const speed = (data: string) => decode(j1939, { id: 0x0cf00400, isExtended: true, data })[0];
    expect(speed('00 00 00 20 4E 00 00 00')).toEqual({
      message: 'EEC1',
      signal: 'EngineSpeed',
      value: 2500,
      unit: 'rpm',
    });
    expect(speed('00 00 00 FF FF 00 00 00')).toMatchObject({ indicator: 'notAvailable' });
    expect(speed('00 00 00 00 FE 00 00 00')).toMatchObject({ indicator: 'error' });
    expect(speed('00 00 00 FF FA 00 00 00')).not.toHaveProperty('indicator');
  });
});
