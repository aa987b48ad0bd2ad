import { describe, expect, it } from 'vitest';
import { toText } from './decimal.ts';
import { parseDbc } from './parse-dbc.ts';

const file = `VERSION "1.2"

NS_ :
	CM_
	BA_DEF_
	BA_

BS_: 500000 : 1,2

BU_: Engine Gateway

VAL_TABLE_ OnOff 1 "on" 0 "off" ;

BO_ 100 EngineData: 8 Engine
 SG_ Speed : 0|16@1+ (0.25,-10) [0|16000] "rpm" Gateway,Dash
 SG_ Running : 16|1@1+ (1,0) [0|1] "" Vector__XXX
 SG_ Very_long_name_that_was_short_en : 24|8@1+ (1,0) [0|0] "" Vector__XXX

BO_ 2364540158 EEC1: 8 Vector__XXX
 SG_ EngineSpeed : 24|16@1+ (0.125,0) [0|8031.875] "rpm" Vector__XXX

BO_ 3221225472 VECTOR__INDEPENDENT_SIG_MSG: 0 Vector__XXX
 SG_ Orphan : 0|8@1+ (1,0) [0|0] "" Vector__XXX

BO_ 200 Radar: 64 Gateway
 SG_ Distance : 480|32@1- (1,0) [0|0] "m" Dash

BO_TX_BU_ 100 : Engine,Gateway;
EV_ Switch: 0 [0|1] "" 0 1 DUMMY_NODE_VECTOR0 Vector__XXX;

CM_ "A bus; with a semicolon
and two lines";
CM_ BU_ Engine "the \\"engine\\"";
CM_ BO_ 100 "from the engine";
CM_ SG_ 100 Speed "of the crankshaft";
CM_ SG_ 3221225472 Orphan "without a message";
BA_DEF_ BO_  "GenMsgCycleTime" INT 0 65535;
BA_DEF_ BO_  "VFrameFormat" ENUM  "StandardCAN","ExtendedCAN","reserved","J1939PG","StandardCAN_FD";
BA_DEF_ SG_  "SPN" INT 0 524287;
BA_DEF_ SG_  "SystemSignalLongSymbol" STRING ;
BA_DEF_ BO_  "SystemMessageLongSymbol" STRING ;
BA_DEF_  "BusType" STRING ;
BA_DEF_DEF_  "GenMsgCycleTime" 0;
BA_DEF_DEF_  "VFrameFormat" "StandardCAN";
BA_ "BusType" "CAN FD";
BA_ "GenMsgCycleTime" BO_ 100 20;
BA_ "VFrameFormat" BO_ 2364540158 3;
BA_ "VFrameFormat" BO_ 200 "StandardCAN_FD";
BA_ "SPN" SG_ 2364540158 EngineSpeed 190;
BA_ "SystemSignalLongSymbol" SG_ 100 Very_long_name_that_was_short_en "Very_long_name_that_was_shortened_once";
BA_ "SystemMessageLongSymbol" BO_ 200 "Radar_of_the_front_bumper_without_limit";
BA_DEF_REL_ BU_SG_REL_ "Relation" INT 0 1;
BA_REL_ "Relation" BU_SG_REL_ Engine SG_ 100 Speed 1;
VAL_ 100 Running OnOff ;
VAL_ 100 Speed -1 "backwards" 65535 "invalid" ;
VAL_ Switch 0 "a" 1 "b" ;
SIG_VALTYPE_ 200 Distance : 1;
SIG_GROUP_ 100 Group 1 : Speed Running;
`;

describe('parseDbc', () => {
  it('reads messages, signals, value tables and the attributes that matter', () => {
    const { database, faults } = parseDbc(file.replaceAll('\n', '\r\n'));
    expect(faults).toEqual([]);
    expect(database.attributes).toEqual(new Map([['BusType', 'CAN FD']]));
    const [engine, eec1, radar, ...others] = database.messages;
    expect(others).toEqual([]);
    expect(engine).toMatchObject({
      ...{ name: 'EngineData', id: 100, isExtended: false, length: 8, pgn: undefined, line: 14 },
    });
    expect(eec1).toMatchObject({ id: 0x0cf004fe, isExtended: true, pgn: 61444 });
    expect(eec1?.signals[0]?.attributes.get('SPN')).toBe(190);
    expect(radar).toMatchObject({ name: 'Radar_of_the_front_bumper_without_limit', length: 64 });
    expect(radar?.signals).toMatchObject([{ name: 'Distance', type: 'float', isSigned: true }]);
    const [speed, running, long] = engine?.signals ?? [];
    expect(speed).toMatchObject({
      ...{ name: 'Speed', startBit: 0, length: 16, isBigEndian: false, isSigned: false, type: 'integer', unit: 'rpm' },
    });
    expect(speed && [toText(speed.factor), toText(speed.offset)]).toEqual(['0.25', '-10']);
    expect(speed?.labels).toEqual(new Map([[-1, 'backwards']]).set(65535, 'invalid'));
    expect(running?.labels).toEqual(new Map([[1, 'on']]).set(0, 'off'));
    expect(long?.name).toBe('Very_long_name_that_was_shortened_once');
  });

  it('reads UTF-8 with and without a byte order mark, and cp1252', () => {
    const text = 'BO_ 1 M: 8 X\n SG_ T : 0|8@1+ (1,0) [0|0] "°C" X\nVAL_ 1 T 0 "Öl – 5 €";\n';
    const cp1252 = Buffer.from(text.replaceAll('–', '\x96').replaceAll('€', '\x80'), 'latin1');
    for (const bytes of [Buffer.from(text), Buffer.from(`\ufeff${text}`), cp1252]) {
      const { database, faults } = parseDbc(bytes);
      expect(faults).toEqual([]);
      expect(database.messages).toMatchObject([{ signals: [{ unit: '°C' }] }]);
      expect(database.messages[0]?.signals[0]?.labels.get(0)).toBe('Öl – 5 €');
    }
    expect(parseDbc(`\ufeff${text}`).faults).toEqual([]);
  });

  it('accepts comments after //, names that begin with a digit, and factors such as 1E-7, .5 and 2E3', () => {
    const { database, faults } = parseDbc(`// a comment
BO_ 1 2nd_message: 8 X // another
 SG_ 2nd_signal : 0|32@1-(1E-7,.5)[-1|1] "" X,Y
 SG_ 3rd_signal : 32|8@1+(2E3,0)[0|0] "" X`);
    expect(faults).toEqual([]);
    const signal = database.messages[0]?.signals[0];
    expect(signal && [signal.name, toText(signal.factor), toText(signal.offset)]).toEqual([
      ...['2nd_signal', '0.0000001', '0.5'],
    ]);
    const third = database.messages[0]?.signals[1];
    expect(third && toText(third.factor)).toBe('2000');
  });

  it('gives a number to what a double holds, and a bigint to other raw values with a label', () => {
    const { database } = parseDbc(`BO_ 1 M: 8 X
 SG_ A : 0|64@1+ (1,0) [0|0] "" X
VAL_ 1 A 18446744073709551615 "invalid" 0 "zero" ;`);
    expect(database.messages[0]?.signals[0]?.labels).toEqual(
      new Map<number | bigint, string>([
        [18446744073709551615n, 'invalid'],
        [0, 'zero'],
      ]),
    );
  });
});

/** Puts a line between a message with a signal and another one. */
function faultsOf(...lines: string[]) {
  const text = [
    'BO_ 1 First: 8 X',
    ' SG_ A : 0|8@1+ (1,0) [0|0] "" X',
    ...lines,
    'BO_ 2 Second: 8 X',
    ' SG_ B : 0|8@1+ (1,0) [0|0] "" X',
  ].join('\n');
  const { database, faults } = parseDbc(text);
  const names = database.messages.map(({ name, signals }) => `${name}(${signals.map((one) => one.name).join()})`);
  return { names: names.join(' '), faults: faults.map(({ line, message }) => `${line}: ${message}`) };
}

describe('a faulty statement', () => {
  it.each([
    [' SG_ S : 0|8@1+ (1) [0|0] "" X', '3: expected "," instead of ")"'],
    [' SG_ S : 0|8@2+ (1,0) [0|0] "" X', '3: expected the byte order 0 (Motorola) or 1 (Intel) instead of "2"'],
    [' SG_ S x3 : 0|8@1+ (1,0) [0|0] "" X', '3: the multiplexing x3 of signal S must be M, m0 or m0M'],
    [' SG_ S : 0|0@1+ (1,0) [0|0] "" X', '3: signal S has 0 bits, not 1 to 64'],
    [' SG_ S : 0|65@1+ (1,0) [0|0] "" X', '3: signal S has 65 bits, not 1 to 64'],
    [' SG_ S : 57|8@1+ (1,0) [0|0] "" X', '3: signal S needs 9 bytes; message First has 8'],
    [' SG_ S : 56|2@0+ (1,0) [0|0] "" X', '3: signal S needs 9 bytes; message First has 8'],
    [' SG_ S : 0|8@1+ (0,0) [0|0] "" X', '3: the factor of signal S is 0'],
    [' SG_ A : 8|8@1+ (1,0) [0|0] "" X', '3: message First has a signal A in line 2'],
    [' SG_ S m1 : 8|8@1+ (1,0) [0|0] "" X', '3: signal S is multiplexed; message First has no multiplexer'],
    ['CM_ SG_ 1 Missing "text";', '3: message First has no signal Missing'],
    ['CM_ BO_ 7 "text";', '3: there is no message with the id 7'],
    ['CM_ "text"', '4: expected ";" instead of "BO_"'],
    ['BA_ "Unknown" BO_ 1 5;', '3: attribute Unknown is not defined'],
    ['VAL_ 1 A Missing ;', '3: there is no value table Missing'],
    ['VAL_ 1 A 0 1 ;', '3: expected a text in quotation marks instead of "1"'],
    ['SG_MUL_VAL_ 1 A A 5-1;', '3: a range from 5 must have its last value after a dash, and not below the first'],
    ['HELLO 1 2 3;', '3: expected the keyword of a statement instead of "HELLO"'],
    ['§', '3: unexpected character "§"'],
  ])('%s is reported with its line, and its neighbours are kept', (line, fault) => {
    expect(faultsOf(line)).toEqual({ names: 'First(A) Second(B)', faults: [fault] });
  });

  it('that begins a message takes the signals of that message with it', () => {
    const signal = ' SG_ S : 0|8@1+ (1,0) [0|0] "" X';
    expect(faultsOf('BO_ 4096 Third: 8 X', signal)).toEqual({
      names: 'First(A) Second(B)',
      faults: ['3: the id 4096 of message Third has more than 11 bits; 2147483648 is added to extended ids'],
    });
    expect(faultsOf('BO_ 4294967295 Third: 8 X', signal).faults).toEqual([
      '3: the id 4294967295 of message Third has more than 29 bits',
    ]);
    expect(faultsOf('BO_ 2684354559 Third: 8 X', signal)).toEqual({
      names: 'First(A) Third(S) Second(B)',
      faults: [],
    });
    expect(faultsOf('BO_ 3 Third: 1786 X', signal).faults).toEqual(['3: message Third has 1786 bytes, more than 1785']);
    expect(faultsOf('BO_ 1 Third: 8 X', signal).faults).toEqual(['3: message Third has the id of First in line 1']);
    expect(faultsOf('BO_ 3: 8 X', signal)).toEqual({
      names: 'First(A) Second(B)',
      faults: ['3: expected the name of a message instead of ":"'],
    });
  });

  it('is a name of more than 128 characters', () => {
    const parse = (length: number) => parseDbc(`BO_ 1 ${'M'.repeat(length)}: 8 X`).faults;
    expect(parse(128)).toEqual([]);
    expect(parse(129)).toHaveLength(1);
  });

  it('is a text that never ends', () => {
    expect(parseDbc('BO_ 1 First: 8 X\nCM_ "text;\nBO_ 2 Second: 8 X').faults).toEqual([
      { line: 2, message: 'a text without a closing quotation mark' },
    ]);
  });

  it('leaves out what no frame could select', () => {
    const extended = (name: string, multiplexing: string) => ` SG_ ${name} ${multiplexing} : 8|4@1+ (1,0) [0|0] "" X`;
    const lines = [extended('S', 'm1M'), extended('T', 'm1M'), extended('U', 'm1')];
    const selections = ['SG_MUL_VAL_ 1 S T 1-1;', 'SG_MUL_VAL_ 1 T S 1-1;', 'SG_MUL_VAL_ 1 U T 1-1;'];
    expect(faultsOf(...lines, ...selections)).toEqual({
      names: 'First(A) Second(B)',
      faults: [3, 4, 5].map(
        (line) => `${line}: signal ${'STU'[line - 3]} is selected by itself or nested in more than 8 multiplexers`,
      ),
    });
    const nested = Array.from({ length: 9 }, (_, level) => extended(`S${level + 1}`, 'm1M'));
    const parents = nested.map((_, level) => `SG_MUL_VAL_ 1 S${level + 1} S${level} 1-1;`);
    expect(faultsOf(extended('S0', 'M'), ...nested, ...parents)).toEqual({
      names: 'First(A,S0,S1,S2,S3,S4,S5,S6,S7,S8) Second(B)',
      faults: ['12: signal S9 is selected by itself or nested in more than 8 multiplexers'],
    });
    expect(faultsOf(extended('S', 'M'), extended('T', 'M'), extended('U', 'm1')).faults).toEqual([
      '5: signal U is multiplexed; message First has several multiplexers, and no SG_MUL_VAL_ says which',
    ]);
  });

  it.each([
    ['SIG_VALTYPE_ 1 A : 1;', '3: signal A of 8 bits is no float of 32 bits'],
    ['SIG_VALTYPE_ 1 A : 3;', '3: the type of signal A must be 0, 1 or 2, not 3'],
    ['SG_MUL_VAL_ 1 A A 0-1;', '3: signal A is no multiplexer'],
  ])('about the layout of a signal takes that signal with it: %s', (line, fault) => {
    expect(faultsOf(line)).toEqual({ names: 'First() Second(B)', faults: [fault] });
  });

  it('about the layout of an unnamed signal makes the file unusable', () => {
    const fatal = (line: string) => parseDbc(`BO_ 1 M: 8 X\n${line}`).faults.map(({ isFatal }) => isFatal);
    expect(fatal('SIG_VALTYPE_ 1 : 1;')).toEqual([true]);
    expect(fatal('SG_MUL_VAL_ 1 A A 5-1;')).toEqual([true]);
    expect(fatal('VAL_ 1 A 0 1 ;')).toEqual([undefined]);
  });

  it('does not hide the others: all are listed in the order of their lines', () => {
    const { faults } = faultsOf('CM_ BO_ 9 "x";', '§', 'BA_ "Unknown" 1;', 'VAL_ 1 A 0 1 ;');
    expect(faults.map((fault) => fault.split(':')[0])).toEqual(['3', '4', '5', '6']);
  });

  it.each(['SIG_VALTYPE_ 1 A : 1;', 'SG_MUL_VAL_ 1 A A 0-1;'])(
    'parses ten thousand faulty statements within seconds: %s',
    (line) => {
      const signals = Array.from({ length: 5000 }, (_, index) => ` SG_ S${index} : 0|8@1+ (1,0) [0|0] "" X`);
      const lines = ['BO_ 1 M: 8 X', ' SG_ A : 0|8@1+ (1,0) [0|0] "" X', ...signals, ...Array(10_000).fill(line)];
      const startMs = performance.now();
      const { database } = parseDbc(lines.join('\n'));
      expect(performance.now() - startMs).toBeLessThan(4000);
      expect(database.messages[0]?.signals).toHaveLength(5000);
    },
  );

  it('is listed only a thousand times, in a file that is no DBC file', () => {
    const { faults } = parseDbc('nonsense\nCM_ 1;\n'.repeat(5000));
    expect(faults).toHaveLength(1001);
    expect(faults.at(-1)?.message).toBe('not read from here on, after 1000 faults');
    const unknown = parseDbc('CM_ BO_ 1 "x";\n'.repeat(5000));
    expect(unknown.faults.at(-1)?.message).toBe('4000 more faults are not listed');
  });
});
