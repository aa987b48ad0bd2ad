import {
  type AttributeValue,
  type CanDatabase,
  type CanMessage,
  type CanSignal,
  type DbcFault,
  pgnOf,
  type SelectorRange,
} from './database.ts';
import { DatabaseDraft } from './dbc-draft.ts';
import type { Statement, StatementOf, Target } from './dbc-tokens.ts';
import { decodeFile, maximumFileBytes, StatementFault } from './dbc-tokens.ts';
import { readStatements } from './read-statements.ts';

type Definitions = ReadonlyMap<string, StatementOf<'attributeDefinition'>>;
type Attributes = Map<string, AttributeValue>;

/** Sets attributes, and what follows from them: J1939, CAN FD, cycle times, suspect parameter numbers and long names. */
export function applyAttributes(draft: DatabaseDraft, statements: readonly Statement[]): void {
  const definitions = readDefinitions(statements);
  const defaults = readDefaults(draft, statements, definitions);
  for (const statement of statements) {
    if (statement.kind !== 'attribute') continue;
    draft.attempt(() => setAttribute(draft, statement, definitions));
  }
  const { database } = draft;
  for (const message of database.messages) {
    const attribute = (name: string) => message.attributes.get(name) ?? defaults.get(name);
    describeMessage(message, attribute, database.attributes.get('ProtocolType') ?? defaults.get('ProtocolType'));
    for (const signal of message.signals) describeSignal(signal, defaults);
    renameSignals(draft, message);
  }
}

function readDefinitions(statements: readonly Statement[]): Definitions {
  const definitions = statements.filter((statement) => statement.kind === 'attributeDefinition');
  return new Map(definitions.map((definition) => [definition.name, definition]));
}

function readDefaults(draft: DatabaseDraft, statements: readonly Statement[], definitions: Definitions): Attributes {
  const defaults: Attributes = new Map();
  for (const statement of statements) {
    if (statement.kind !== 'attributeDefault') continue;
    draft.attempt(() => defaults.set(statement.name, readAttributeValue(statement, definitions)));
  }
  return defaults;
}

/** An ENUM attribute is written as one of its texts or as the index of one. @throws StatementFault */
function readAttributeValue(
  { line, name, value }: StatementOf<'attribute' | 'attributeDefault'>,
  definitions: Definitions,
): AttributeValue {
  const definition = definitions.get(name);
  if (!definition) throw new StatementFault(line, `attribute ${name} is not defined`);
  if (!definition.values || typeof value === 'string') return value;
  const text = definition.values[value];
  if (text === undefined) throw new StatementFault(line, `attribute ${name} has no value with the index ${value}`);
  return text;
}

function setAttribute(draft: DatabaseDraft, statement: StatementOf<'attribute'>, definitions: Definitions): void {
  const { line, name, target } = statement;
  if (target.of === 'other') return;
  const value = readAttributeValue(statement, definitions);
  attributesOf(draft, line, target)?.set(name, value);
}

function attributesOf(draft: DatabaseDraft, line: number, target: Target): Attributes | undefined {
  if (target.of === 'signal') return draft.findSignal(line, target)?.attributes;
  if (target.of === 'message') return draft.findMessage(line, target.id)?.attributes;
  return draft.database.attributes;
}

const asPositive = (value: AttributeValue | undefined) => (Number(value) > 0 ? Number(value) : undefined);

function describeMessage(
  message: CanMessage,
  attribute: (name: string) => AttributeValue | undefined,
  protocol: AttributeValue | undefined,
): void {
  const format = attribute('VFrameFormat');
  const isJ1939 = format === undefined ? protocol === 'J1939' : format === 'J1939PG';
  if (isJ1939 && message.isExtended) message.pgn = pgnOf(message.id);
  message.isFd = String(format).endsWith('_FD') || (message.pgn === undefined && message.length > 8);
  message.cycleTimeMs = asPositive(attribute('GenMsgCycleTime'));
  const name = message.attributes.get('SystemMessageLongSymbol');
  if (typeof name === 'string' && name !== '') message.name = name;
}

function describeSignal(signal: CanSignal, defaults: Attributes): void {
  signal.spn = asPositive(signal.attributes.get('SPN') ?? defaults.get('SPN'));
}

function renameSignals(draft: DatabaseDraft, { name: message, signals }: CanMessage): void {
  const names = new Set(signals.map(({ name }) => name));
  for (const signal of signals) {
    const name = signal.attributes.get('SystemSignalLongSymbol');
    if (typeof name !== 'string' || name === '' || name === signal.name) continue;
    draft.attempt(() => {
      const fault = `message ${message} already has a signal ${name}, the long name of ${signal.name}`;
      if (names.has(name)) throw new StatementFault(signal.line, fault);
      names.add(name);
      signal.name = name;
    });
  }
}

/** Bounds the recursion while decoding; real messages need three. */
const maximumNesting = 8;

/** Finds the multiplexer of every multiplexed signal. Signals that no frame could contain are faults and are left out. */
export function applyMultiplexing(draft: DatabaseDraft, statements: readonly Statement[]): void {
  for (const statement of statements) {
    if (statement.kind !== 'selection') continue;
    if (!draft.attempt(() => select(draft, statement))) draft.leaveOut(statement.target);
  }
  for (const message of draft.database.messages) {
    // Three tell whether there is one besides a signal, and only one.
    const multiplexers = message.signals.filter(({ isMultiplexer }) => isMultiplexer).slice(0, 3);
    const keep = (check: (signal: CanSignal) => void) => {
      const faulty = new Set(message.signals);
      for (const signal of message.signals) {
        draft.attempt(() => {
          check(signal);
          faulty.delete(signal);
        });
      }
      message.signals = message.signals.filter((signal) => !faulty.has(signal));
    };
    keep((signal) => selectByNumber(signal, draft.multiplexing.get(signal) ?? '', message, multiplexers));
    const present = new Set(message.signals);
    keep((signal) => checkNesting(signal, present));
  }
}

/** Extended multiplexing: SG_MUL_VAL_ names the multiplexer. */
function select(draft: DatabaseDraft, { line, target, ranges, ...statement }: StatementOf<'selection'>): void {
  const signal = draft.findSignal(line, target);
  const multiplexer = draft.findSignal(line, { ...target, signal: statement.multiplexer });
  if (!signal || !multiplexer) return;
  if (!multiplexer.isMultiplexer) throw new StatementFault(line, `signal ${multiplexer.name} is no multiplexer`);
  signal.selection = { multiplexer, ranges: mergeRanges(ranges) };
}

/** Without overlaps, so that no value selects a signal twice. */
function mergeRanges(ranges: readonly SelectorRange[]): SelectorRange[] {
  const merged: SelectorRange[] = [];
  for (const { from, to } of ranges.toSorted((left, right) => left.from - right.from)) {
    const last = merged.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  return merged;
}

/** Simple multiplexing: the only multiplexer of the message selects by the number after `m`. */
function selectByNumber(
  signal: CanSignal,
  multiplexing: string,
  { name: message }: CanMessage,
  multiplexers: readonly CanSignal[],
): void {
  const number = /^m(\d+)/.exec(multiplexing)?.[1];
  if (number === undefined || signal.selection) return;
  const [multiplexer, second] = multiplexers.filter((one) => one !== signal);
  if (!multiplexer || second) {
    const reason = multiplexer ? 'several multiplexers, and no SG_MUL_VAL_ says which' : 'no multiplexer';
    throw new StatementFault(signal.line, `signal ${signal.name} is multiplexed; message ${message} has ${reason}`);
  }
  signal.selection = { multiplexer, ranges: [{ from: Number(number), to: Number(number) }] };
}

function checkNesting(signal: CanSignal, present: ReadonlySet<CanSignal>): void {
  let one = signal;
  for (let level = 0; level <= maximumNesting; level += 1) {
    if (!one.selection) return;
    one = one.selection.multiplexer;
    if (!present.has(one))
      throw new StatementFault(signal.line, `the multiplexer of signal ${signal.name} is left out`);
  }
  const reason = `is selected by itself or nested in more than ${maximumNesting} multiplexers`;
  throw new StatementFault(signal.line, `signal ${signal.name} ${reason}`);
}

export interface ParsedDbc {
  database: CanDatabase;
  /** In the order of their lines. */
  faults: DbcFault[];
}

/**
 * Parses a DBC file, in UTF-8 or cp1252 if given as bytes. Never throws: a faulty statement becomes a fault with its line
 * and is left out, the others keep their effect.
 */
export function parseDbc(file: string | Uint8Array): ParsedDbc {
  const draft = new DatabaseDraft();
  const { database, faults } = draft;
  if (file.length > maximumFileBytes) {
    faults.push({ line: 1, message: `the file has more than ${maximumFileBytes} bytes` });
    return { database, faults };
  }
  const text = typeof file === 'string' ? file.replace(/^\ufeff/, '') : decodeFile(file);
  const read = readStatements(text);
  for (const statement of read.statements) draft.attempt(() => draft.define(statement));
  for (const statement of read.statements) {
    const isApplied = draft.attempt(() => draft.complete(statement));
    if (!isApplied && statement.kind === 'valueType') draft.leaveOut(statement.target);
  }
  applyMultiplexing(draft, read.statements);
  applyAttributes(draft, read.statements);
  const all = [...read.faults, ...faults].sort((left, right) => left.line - right.line);
  const last = all.at(-1);
  if (draft.unlisted > 0 && last)
    all.push({ line: last.line, message: `${draft.unlisted} more faults are not listed` });
  return { database, faults: all };
}
