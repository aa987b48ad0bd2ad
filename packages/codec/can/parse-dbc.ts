import {
  type AttributeValue,
  type CanDatabase,
  type CanMessage,
  type CanSignal,
  type DbcFault,
  pgnOf,
  type SelectorRange,
} from './database.ts';
import {
  decodeFile,
  type Labels,
  maxFaults,
  maxFileBytes,
  type SignalStatement,
  type SignalTarget,
  type Statement,
  StatementFault,
  type StatementOf,
} from './dbc-tokens.ts';
import { parseDecimal } from './decimal.ts';
import { readStatements } from './read-statements.ts';
import { bytesNeeded } from './signal-bits.ts';

/** Set in the ids of a DBC file for extended ids. */
const extendedFlag = 0x8000_0000;
/** The name of a message that only holds signals without a message. */
const independentSignals = 'VECTOR__INDEPENDENT_SIG_MSG';
/** Of a J1939 message in several packets (SAE J1939-21, "Transport protocol"); CAN FD carries up to 64. */
const maxMessageBytes = 1785;

/** A database while the statements of its file are applied. */
class DatabaseDraft {
  readonly database: CanDatabase = { messages: [], attributes: new Map() };
  readonly faults: DbcFault[] = [];
  /** Number of faults beyond those in `faults`. */
  unlisted = 0;
  /** `M`, `m3` or `m3M` of the signals that have one. */
  readonly multiplexing = new Map<CanSignal, string>();
  /** By the id in the file; undefined for a message without a meaning. */
  readonly #messages = new Map<number, CanMessage | undefined>();
  readonly #signals = new Map<CanMessage, Map<string, CanSignal>>();
  readonly #tables = new Map<string, CanSignal['labels']>();
  readonly #leftOut = new Set<CanSignal>();
  /** Of the signals that follow; undefined after a faulty one, whose signals are left out with it. */
  #message: CanMessage | undefined;
  #isAfterMessage = false;

  /** Applies a statement or a part of one; its fault is recorded. @returns whether it has none */
  attempt(apply: () => void): boolean {
    try {
      apply();
      return true;
    } catch (error) {
      if (!(error instanceof StatementFault)) throw error;
      if (this.faults.length === maxFaults) this.unlisted += 1;
      else this.faults.push({ line: error.line, message: error.message });
      return false;
    }
  }

  /** Marks a signal to be left out, because a statement about its layout is at fault. */
  leaveOut({ id, signal: name }: SignalTarget): void {
    const message = this.#messages.get(id);
    const signal = message && this.#signals.get(message)?.get(name);
    if (signal) this.#leftOut.add(signal);
  }

  /** Removes the marked signals from their messages, all at once: a file may mark thousands of one message. */
  removeLeftOut(): void {
    if (this.#leftOut.size === 0) return;
    for (const message of this.database.messages) {
      message.signals = message.signals.filter((signal) => !this.#leftOut.has(signal));
    }
  }

  /** @returns undefined for the message without a meaning @throws StatementFault for an unknown one */
  findMessage(line: number, id: number): CanMessage | undefined {
    if (!this.#messages.has(id)) throw new StatementFault(line, `there is no message with the id ${id}`);
    return this.#messages.get(id);
  }

  /** @returns undefined for a signal without a message @throws StatementFault for an unknown one */
  findSignal(line: number, { id, signal: name }: SignalTarget): CanSignal | undefined {
    const message = this.findMessage(line, id);
    const signal = message && this.#signals.get(message)?.get(name);
    if (message && !signal) throw new StatementFault(line, `message ${message.name} has no signal ${name}`);
    return signal;
  }

  /** Applies a statement that others refer to. @throws StatementFault */
  define(statement: Statement): void {
    if (statement.kind === 'unreadableMessage') this.#beginMessage();
    if (statement.kind === 'message') this.#defineMessage(statement);
    if (statement.kind === 'signal') this.#defineSignal(statement);
    if (statement.kind === 'table') this.#tables.set(statement.name, labelMap(statement.labels));
  }

  /** Applies a statement that refers to messages and signals. @throws StatementFault */
  complete(statement: Statement): void {
    if (statement.kind === 'labels') this.#setLabels(statement);
    if (statement.kind === 'valueType') this.#setType(statement);
    if (statement.kind === 'comment') this.#checkTarget(statement);
  }

  #beginMessage(): void {
    this.#message = undefined;
    this.#isAfterMessage = true;
  }

  #defineMessage({ line, id, name, length }: StatementOf<'message'>): void {
    this.#beginMessage();
    if (name === independentSignals) {
      this.#messages.set(id, undefined);
      return;
    }
    const isExtended = id >= extendedFlag;
    const ownId = isExtended ? id - extendedFlag : id;
    const first = this.#messages.get(id);
    if (ownId > (isExtended ? 0x1fffffff : 0x7ff)) {
      const hint = isExtended ? '29 bits' : `11 bits; ${extendedFlag} is added to extended ids`;
      throw new StatementFault(line, `the id ${id} of message ${name} has more than ${hint}`);
    }
    if (length > maxMessageBytes) {
      throw new StatementFault(line, `message ${name} has ${length} bytes, more than ${maxMessageBytes}`);
    }
    if (first) throw new StatementFault(line, `message ${name} has the id of ${first.name} in line ${first.line}`);
    this.#message = {
      ...{ name, id: ownId, isExtended, length, pgn: undefined, signals: [], attributes: new Map(), line },
    };
    this.#messages.set(id, this.#message);
    this.#signals.set(this.#message, new Map());
    this.database.messages.push(this.#message);
  }

  #defineSignal(statement: SignalStatement): void {
    const { line, name, multiplexing } = statement;
    if (!this.#isAfterMessage) throw new StatementFault(line, `signal ${name} stands before the first message`);
    const message = this.#message;
    const signals = message && this.#signals.get(message);
    if (!message || !signals) return;
    const first = signals.get(name);
    if (first) throw new StatementFault(line, `message ${message.name} has a signal ${name} in line ${first.line}`);
    checkLayout(statement, message);
    const { startBit, length, isBigEndian, isSigned, unit } = statement;
    const signal: CanSignal = {
      ...{ name, startBit, length, isBigEndian, isSigned, type: 'integer', unit, line },
      ...readScale(statement),
      ...{ isMultiplexer: multiplexing.endsWith('M'), selection: undefined, labels: new Map(), attributes: new Map() },
    };
    signals.set(name, signal);
    message.signals.push(signal);
    this.multiplexing.set(signal, multiplexing);
  }

  #setLabels({ line, target, labels, table }: StatementOf<'labels'>): void {
    const signal = this.findSignal(line, target);
    const map = table === undefined ? labelMap(labels) : this.#tables.get(table);
    if (!map) throw new StatementFault(line, `there is no value table ${table}`);
    if (signal) signal.labels = map;
  }

  #setType({ line, target, type }: StatementOf<'valueType'>): void {
    const signal = this.findSignal(line, target);
    if (!signal || type === 0) return;
    const { name, length } = signal;
    const bits = type === 1 ? 32 : 64;
    if (type > 2) throw new StatementFault(line, `the type of signal ${name} must be 0, 1 or 2, not ${type}`);
    if (length !== bits) throw new StatementFault(line, `signal ${name} of ${length} bits is no float of ${bits} bits`);
    signal.type = type === 1 ? 'float' : 'double';
  }

  /** Decoding needs no comments; one about an unknown message or signal is still a fault. */
  #checkTarget({ line, target }: StatementOf<'comment'>): void {
    if (target.of === 'message') this.findMessage(line, target.id);
    if (target.of === 'signal') this.findSignal(line, target);
  }
}

function checkLayout(statement: SignalStatement, message: CanMessage): void {
  const { line, name, length } = statement;
  if (length < 1 || length > 64) throw new StatementFault(line, `signal ${name} has ${length} bits, not 1 to 64`);
  const bytes = bytesNeeded(statement);
  if (bytes <= message.length) return;
  throw new StatementFault(line, `signal ${name} needs ${bytes} bytes; message ${message.name} has ${message.length}`);
}

function readScale({ line, name, ...texts }: SignalStatement): Pick<CanSignal, 'factor' | 'offset'> {
  const factor = parseDecimal(texts.factor);
  const offset = parseDecimal(texts.offset);
  if (!factor || !offset) throw new StatementFault(line, `factor or offset of signal ${name} has more than 60 digits`);
  if (factor.digits === 0n) throw new StatementFault(line, `the factor of signal ${name} is 0`);
  return { factor, offset };
}

function labelMap(labels: Labels): CanSignal['labels'] {
  return new Map(labels.map(([raw, label]) => [rawValue(raw), label]));
}

function rawValue(text: string): number | bigint {
  const value = Number(text);
  return Number.isInteger(value) && !Number.isSafeInteger(value) && /^[+-]?\d+$/.test(text) ? BigInt(text) : value;
}

type Definitions = ReadonlyMap<string, StatementOf<'attributeDefinition'>>;
type Attributes = Map<string, AttributeValue>;

/** Sets attributes, and applies them: parameter group numbers of J1939 and long names. */
function applyAttributes(draft: DatabaseDraft, statements: readonly Statement[]): void {
  const defined = statements.filter((statement) => statement.kind === 'attributeDefinition');
  const definitions: Definitions = new Map(defined.map((definition) => [definition.name, definition]));
  const defaults: Attributes = new Map();
  for (const statement of statements) {
    if (statement.kind !== 'attributeDefault') continue;
    draft.attempt(() => defaults.set(statement.name, readAttributeValue(statement, definitions)));
  }
  for (const statement of statements) {
    if (statement.kind === 'attribute') draft.attempt(() => setAttribute(draft, statement, definitions));
  }
  const { database } = draft;
  for (const message of database.messages) {
    const attribute = (name: string) => message.attributes.get(name) ?? defaults.get(name);
    describeMessage(message, attribute, database.attributes.get('ProtocolType') ?? defaults.get('ProtocolType'));
    renameSignals(draft, message);
  }
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
  if (target.of === 'signal') draft.findSignal(line, target)?.attributes.set(name, value);
  else if (target.of === 'message') draft.findMessage(line, target.id)?.attributes.set(name, value);
  else draft.database.attributes.set(name, value);
}

function describeMessage(
  message: CanMessage,
  attribute: (name: string) => AttributeValue | undefined,
  protocol: AttributeValue | undefined,
): void {
  const format = attribute('VFrameFormat');
  const isJ1939 = format === undefined ? protocol === 'J1939' : format === 'J1939PG';
  if (isJ1939 && message.isExtended) message.pgn = pgnOf(message.id);
  const name = message.attributes.get('SystemMessageLongSymbol');
  if (typeof name === 'string' && name !== '') message.name = name;
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
const maxNesting = 8;

/** Finds the multiplexer of every multiplexed signal. Signals that no frame could contain are faults and are left out. */
function applyMultiplexing(draft: DatabaseDraft, statements: readonly Statement[]): void {
  for (const statement of statements) {
    if (statement.kind !== 'selection') continue;
    if (!draft.attempt(() => select(draft, statement))) draft.leaveOut(statement.target);
  }
  draft.removeLeftOut();
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
  for (let level = 0; level <= maxNesting; level += 1) {
    if (!one.selection) return;
    one = one.selection.multiplexer;
    if (!present.has(one))
      throw new StatementFault(signal.line, `the multiplexer of signal ${signal.name} is left out`);
  }
  const reason = `is selected by itself or nested in more than ${maxNesting} multiplexers`;
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
  if (file.length > maxFileBytes) {
    faults.push({ line: 1, message: `the file has more than ${maxFileBytes} bytes` });
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
