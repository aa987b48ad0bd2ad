import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc, { type Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileDecoder } from '../../packages/codec/can/decode.ts';
import { parseDbc } from '../../packages/codec/can/parse-dbc.ts';
import { checkFor, runs, seed } from './fuzz/runs.fixture.ts';

const directory = new URL('../../packages/codec/can/data/', import.meta.url);
const j1939 = readFileSync(new URL('j1939.dbc', directory), 'utf8');
const validLines = `${readFileSync(new URL('obd2.dbc', directory), 'utf8')}${j1939}`.split('\n');

const statement = fc.constantFrom(
  ...[
    'BO_ 1 M: 8 X',
    'BO_ 2566844158 J: 8 X',
    'BO_ 2 F: 64 X',
    'BO_ 0',
    'NS_ :',
    'BS_:',
    'BU_: A B',
    'VERSION "',
    'EV_',
  ],
  ...[' SG_ A : 0|8@1+ (1,0) [0|0] "" X', ' SG_ B M : 7|64@0- (1e-7,1E9) [0|0] "u" X', ' SG_ C m0M : 8|32@1- (-.5,0)'],
  ...[
    ' SG_ C m0M : 63|32@0- (1,0) [0|0] "" X',
    ' SG_ D m1 : 0|33@1- (3,0) [0|0] "" X',
    ' SG_ __proto__ : 0|1@1+ (1,0) [0|0] "" X',
  ],
  ...['SG_MUL_VAL_ 1 C B 0-4294967295;', 'SG_MUL_VAL_ 1 B C 0-1, 1-2;', 'SG_MUL_VAL_ 1 D C 18446744073709551615-0;'],
  ...[
    'SIG_VALTYPE_ 1 C : 1;',
    'SIG_VALTYPE_ 1 B : 2;',
    'VAL_ 1 A 1 "x" 1E400 "y" ;',
    'VAL_TABLE_ T 0 "x";',
    'VAL_ 1 A T ;',
  ],
  ...[
    'BA_DEF_ SG_ "SPN" INT 0 1;',
    'BA_DEF_ BO_ "VFrameFormat" ENUM "J1939PG";',
    'BA_ "VFrameFormat" BO_ 1 0;',
    'CM_ "\\";',
  ],
  ...['BA_ "__proto__" SG_ 1 A "x";', 'CM_ SG_ 1 constructor "x";', 'BA_DEF_DEF_ "VFrameFormat" 7;', '"', ';', ''],
);
const noise = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('"', '\\"', ';', ':', '\0', '\r', '-', '9'.repeat(400), '1e99999', 'a'.repeat(5000), '//', '\u2028'),
);
const mutatedLine = fc
  .tuple(fc.constantFrom(...validLines), fc.nat(), fc.nat(8), noise)
  .map(([line, at, removed, text]) => {
    const start = at % (line.length + 1);
    return `${line.slice(0, start)}${text}${line.slice(start + removed)}`;
  });
const lines = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...validLines) },
  { weight: 3, arbitrary: statement },
  { weight: 2, arbitrary: mutatedLine },
  { weight: 1, arbitrary: noise },
);
const files: Arbitrary<string | Uint8Array> = fc.oneof(
  { weight: 8, arbitrary: fc.array(lines, { maxLength: 60 }).map((all) => all.join('\n')) },
  { weight: 2, arbitrary: fc.array(lines, { maxLength: 60 }).map((all) => Buffer.from(all.join('\n'), 'latin1')) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 2000 }) },
);

/** Frames of the messages of the file, and any others. */
const frames = fc.array(
  fc.record({ choice: fc.nat(), id: fc.nat({ max: 2 ** 29 - 1 }), data: fc.uint8Array({ maxLength: 64 }) }),
  { maxLength: 20 },
);

/** CPU time of this process, which other processes of a busy machine do not add to. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe(`DBC files and frames of any content (seed ${seed})`, { timeout: runs(60_000, 1_800_000) }, () => {
  it('give values or faults with a line of the file, and no error', async () => {
    await checkFor(
      runs(3, 600),
      fc.property(files, frames, (file, received) => {
        const start = cpuSeconds();
        const { database, faults } = parseDbc(file);
        const lineCount = (typeof file === 'string' ? file : Buffer.from(file).toString('latin1')).split('\n').length;
        for (const { line, message } of faults) {
          expect(line).toBeGreaterThanOrEqual(1);
          expect(line).toBeLessThanOrEqual(lineCount);
          expect(message.length).toBeLessThanOrEqual(300);
        }
        const decode = compileDecoder(database);
        for (const { choice, id, data } of received) {
          const { messages } = database;
          const message = messages[choice % Math.max(1, messages.length)];
          const decoded = decode({ id: message?.id ?? id, isExtended: message?.isExtended ?? true, data });
          for (const { value } of decoded) expect(value).not.toBeNaN();
          expect(decode({ id, isExtended: true, data }).length).toBeLessThan(200);
          JSON.stringify(decoded);
        }
        expect(cpuSeconds() - start).toBeLessThan(5);
      }),
    );
  });

  const million = 1_000_000;
  const message = 'BO_ 1 M: 8 X\n';
  const signal = (name: string, multiplexing = '') => ` SG_ ${name} ${multiplexing} : 0|8@1+ (1,0) [0|0] "" X\n`;
  const many = (count: number, text: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => text(index));
  const size = runs(1, 10);

  it.each([
    ['opening quotation marks', () => '\\"\n'.repeat(size * 100_000)],
    ['digits', () => `${'1'.repeat(size * million)}a`],
    ['names', () => `BU_: ${'a '.repeat(size * 50_000)}`],
    ['faulty statements', () => 'BO_ 1\n'.repeat(size * 50_000)],
    ['signals of one message', () => message + many(size * 5000, (index) => signal(`A${index}`)).join('')],
    [
      'multiplexers of one message',
      () => message + many(size * 5000, (index) => signal(`A${index}`, index % 2 ? 'M' : 'm1')).join(''),
    ],
    [
      'nested multiplexers',
      () =>
        [
          message,
          ...many(size * 3000, (index) => signal(`A${index}`, 'm1M')),
          ...many(size * 3000, (index) => `SG_MUL_VAL_ 1 A${index} A${index + 1} 0-255;\n`),
        ].join(''),
    ],
    [
      'overlapping ranges',
      () => `${message}${signal('A', 'M')}${signal('B', 'm0')}SG_MUL_VAL_ 1 B A ${'0-255,'.repeat(size * 20_000)}0-1;`,
    ],
    [
      'uses of a large value table',
      () =>
        `VAL_TABLE_ T ${'1 "x" '.repeat(size * 5000)};\n${message}${signal('A')}${'VAL_ 1 A T ;\n'.repeat(size * 5000)}`,
    ],
  ])('a file with nothing but %s is read in seconds and decodes without an error', (_name, file) => {
    const start = cpuSeconds();
    const { database, faults } = parseDbc(file());
    const decoded = compileDecoder(database)({ id: 1, isExtended: false, data: new Uint8Array(8) });
    expect(decoded.length).toBeLessThanOrEqual(size * 5000);
    expect(faults.length).toBeLessThanOrEqual(2002);
    expect(cpuSeconds() - start).toBeLessThan(30);
  });

  it('leave no memory behind', () => {
    const parse = (count: number) => {
      for (let index = 0; index < count; index += 1) {
        const [file = ''] = fc.sample(files, { numRuns: 1, seed: seed + index });
        compileDecoder(parseDbc(file).database);
      }
    };
    parse(100);
    const before = heapBytes();
    parse(runs(300, 5000));
    expect(heapBytes() - before).toBeLessThan(10 * 2 ** 20);
  });
});
