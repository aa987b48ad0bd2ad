import type { CanMessage, CanSignal, SelectorRange } from './database.ts';
import type { DatabaseDraft } from './dbc-draft.ts';
import type { Statement, StatementOf } from './dbc-statements.ts';
import { StatementFault } from './dbc-tokens.ts';

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
