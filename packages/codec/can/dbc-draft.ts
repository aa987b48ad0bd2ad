import type { CanDatabase, CanMessage, CanSignal, DbcFault } from './database.ts';
import type { Labels, SignalStatement, SignalTarget, Statement, StatementOf } from './dbc-tokens.ts';
import { maximumFaults, StatementFault } from './dbc-tokens.ts';
import { parseDecimal } from './decimal.ts';
import { bytesNeeded } from './signal-bits.ts';

/** Set in the ids of a DBC file for extended ids. */
const extendedFlag = 0x8000_0000;
/** The name of a message that only holds signals without a message. */
const independentSignals = 'VECTOR__INDEPENDENT_SIG_MSG';
/** Of a J1939 message in several packets (SAE J1939-21, "Transport protocol"); CAN FD carries up to 64. */
const maximumMessageBytes = 1785;

/** A database while the statements of its file are applied. */
export class DatabaseDraft {
  readonly database: CanDatabase = { version: '', comment: '', nodes: [], messages: [], attributes: new Map() };
  readonly faults: DbcFault[] = [];
  /** Number of faults beyond those in `faults`. */
  unlisted = 0;
  /** `M`, `m3` or `m3M` of the signals that have one. */
  readonly multiplexing = new Map<CanSignal, string>();
  /** By the id in the file; undefined for a message without a meaning. */
  readonly #messages = new Map<number, CanMessage | undefined>();
  readonly #signals = new Map<CanMessage, Map<string, CanSignal>>();
  readonly #tables = new Map<string, CanSignal['labels']>();
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
      if (this.faults.length === maximumFaults) this.unlisted += 1;
      else this.faults.push({ line: error.line, message: error.message });
      return false;
    }
  }

  /** Leaves out a signal whose layout is unknown because of a faulty statement. */
  leaveOut({ id, signal }: SignalTarget): void {
    const message = this.#messages.get(id);
    if (message) message.signals = message.signals.filter(({ name }) => name !== signal);
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
    const { database } = this;
    if (statement.kind === 'version') database.version = statement.text;
    if (statement.kind === 'nodes') database.nodes = statement.names;
    if (statement.kind === 'unreadableMessage') this.#beginMessage();
    if (statement.kind === 'message') this.#defineMessage(statement);
    if (statement.kind === 'signal') this.#defineSignal(statement);
    if (statement.kind === 'table') this.#tables.set(statement.name, labelMap(statement.labels));
  }

  /** Applies a statement that refers to messages and signals. @throws StatementFault */
  complete(statement: Statement): void {
    if (statement.kind === 'labels') this.#setLabels(statement);
    if (statement.kind === 'valueType') this.#setType(statement);
    if (statement.kind === 'comment') this.#setComment(statement);
  }

  #beginMessage(): void {
    this.#message = undefined;
    this.#isAfterMessage = true;
  }

  #defineMessage({ line, id, name, length, sender }: StatementOf<'message'>): void {
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
    if (length > maximumMessageBytes) {
      throw new StatementFault(line, `message ${name} has ${length} bytes, more than ${maximumMessageBytes}`);
    }
    if (first) throw new StatementFault(line, `message ${name} has the id of ${first.name} in line ${first.line}`);
    this.#message = {
      ...{ name, id: ownId, isExtended, length, isFd: false, pgn: undefined, sender, signals: [] },
      ...{ cycleTimeMs: undefined, comment: '', attributes: new Map(), line },
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
    const { startBit, length, isBigEndian, isSigned, minimum, maximum, unit, receivers } = statement;
    const signal: CanSignal = {
      ...{ name, startBit, length, isBigEndian, isSigned, type: 'integer', minimum, maximum, unit, receivers },
      ...readScale(statement),
      ...{ isMultiplexer: multiplexing.endsWith('M'), selection: undefined, labels: new Map() },
      ...{ comment: '', spn: undefined, attributes: new Map(), line },
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

  #setComment({ line, target, text }: StatementOf<'comment'>): void {
    if (target.of === 'database') this.database.comment = text;
    if (target.of === 'message') {
      const message = this.findMessage(line, target.id);
      if (message) message.comment = text;
    }
    if (target.of === 'signal') {
      const signal = this.findSignal(line, target);
      if (signal) signal.comment = text;
    }
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
