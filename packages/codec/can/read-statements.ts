import type { AttributeValue, DbcFault, SelectorRange } from './database.ts';
import type { Labels, SignalTarget, Statement, Target } from './dbc-tokens.ts';
import { maxFaults, StatementFault, TokenReader } from './dbc-tokens.ts';

/** Statements without an effect on decoding. */
const ignored = [
  ...['EV_', 'EV_DATA_', 'ENVVAR_DATA_', 'BO_TX_BU_', 'SIG_GROUP_', 'SIG_TYPE_REF_', 'SGTYPE_', 'SGTYPE_VAL_'],
  ...['SIGTYPE_VALTYPE_', 'BA_DEF_SGTYPE_', 'BA_SGTYPE_', 'CAT_DEF_', 'CAT_', 'FILTER', 'NS_DESC_'],
  ...['BU_SG_REL_', 'BU_EV_REL_', 'BU_BO_REL_', 'BA_DEF_REL_', 'BA_REL_', 'BA_DEF_DEF_REL_'],
];

/** Statements about the layout of a signal that another statement names. */
const decisive = ['SIG_VALTYPE_', 'SG_MUL_VAL_'];

/** Reads what follows a keyword. @returns undefined for a statement without an effect */
type StatementReader = (tokens: TokenReader, line: number) => Statement | undefined;

const readers = new Map<string, StatementReader>([
  ['VERSION', skipText],
  ['NS_', skipSymbols],
  ['BS_', skipLine],
  ['BU_', skipNodes],
  ['BO_', readMessage],
  ['SG_', readSignal],
  ['CM_', readComment],
  ['BA_DEF_', readAttributeDefinition],
  ['BA_DEF_DEF_', readAttributeDefault],
  ['BA_', readAttribute],
  ['VAL_TABLE_', readTable],
  ['VAL_', readLabels],
  ['SIG_VALTYPE_', readValueType],
  ['SG_MUL_VAL_', readSelection],
  ...ignored.map((keyword): [string, StatementReader] => [keyword, skipStatement]),
]);

/** Reads the statements of a DBC file. Each faulty one is left out and reported with its line. */
export function readStatements(text: string): { statements: Statement[]; faults: DbcFault[] } {
  const tokens = new TokenReader(text, new Set(readers.keys()));
  const statements: Statement[] = [];
  const faults: DbcFault[] = [];
  while (!tokens.isAtEnd) {
    const { text: keyword, line } = tokens.token;
    if (faults.length === maxFaults) {
      faults.push({ line, message: `not read from here on, after ${maxFaults} faults`, isFatal: true });
      break;
    }
    try {
      const statement = readStatement(tokens);
      if (statement) statements.push(statement);
    } catch (error) {
      if (!(error instanceof StatementFault)) throw error;
      const { message } = error;
      faults.push({ line: error.line, message, ...(decisive.includes(keyword) && { isFatal: true }) });
      if (keyword === 'BO_') statements.push({ kind: 'unreadableMessage', line });
      tokens.recover();
    }
  }
  return { statements, faults };
}

function readStatement(tokens: TokenReader): Statement | undefined {
  const { text, line } = tokens.token;
  const reader = tokens.isKeyword ? readers.get(text) : undefined;
  if (reader === undefined) throw tokens.expected('the keyword of a statement');
  tokens.advance();
  return reader(tokens, line);
}

function skipStatement(tokens: TokenReader): undefined {
  while (!tokens.skipSign(';')) {
    if (tokens.isAtEnd || (tokens.token.isFirstOnLine && tokens.isKeyword)) return;
    if (tokens.token.kind === 'unreadable') throw tokens.expected('";"');
    tokens.advance();
  }
}

function skipText(tokens: TokenReader): undefined {
  tokens.text();
}

function skipLine(tokens: TokenReader): undefined {
  while (!tokens.isAtEnd && !tokens.token.isFirstOnLine) tokens.advance();
}

/** Skips the list of keywords after NS_, each on a line of its own. */
function skipSymbols(tokens: TokenReader): undefined {
  tokens.sign(':');
  while (tokens.token.kind === 'name' && tokens.token.text !== 'BS_' && tokens.token.text !== 'BU_') {
    const symbol = tokens.advance();
    if (tokens.token.isFirstOnLine) continue;
    throw tokens.fault(
      `${JSON.stringify(symbol.text.slice(0, 60))} in the list after NS_ must stand alone on its line`,
    );
  }
}

function skipNodes(tokens: TokenReader): undefined {
  tokens.sign(':');
  while (tokens.isName) tokens.advance();
}

function readMessage(tokens: TokenReader, line: number): Statement {
  const id = tokens.whole('the id of a message');
  const name = tokens.name('the name of a message');
  tokens.sign(':');
  const length = tokens.whole('the length of a message');
  if (!tokens.token.isFirstOnLine) tokens.name('the sender of a message');
  return { kind: 'message', line, id, name, length };
}

function readSignal(tokens: TokenReader, line: number): Statement {
  const name = tokens.name('the name of a signal');
  const multiplexing = tokens.isName ? tokens.name('a multiplexing') : '';
  if (!/^(?:M|m\d{1,10}M?)?$/.test(multiplexing)) {
    throw tokens.fault(`the multiplexing ${multiplexing} of signal ${name} must be M, m0 or m0M`);
  }
  tokens.sign(':');
  const startBit = tokens.whole('the start bit');
  tokens.sign('|');
  const length = tokens.whole('the length in bits');
  tokens.sign('@');
  const layout = { startBit, length, ...readByteOrder(tokens) };
  tokens.sign('(');
  const factor = tokens.take('number', 'the factor');
  tokens.sign(',');
  const offset = tokens.take('number', 'the offset');
  tokens.sign(')');
  skipLimits(tokens);
  const unit = tokens.text();
  skipReceivers(tokens);
  return { kind: 'signal', line, name, multiplexing, ...layout, factor, offset, unit };
}

function readByteOrder(tokens: TokenReader): { isBigEndian: boolean; isSigned: boolean } {
  const order = tokens.token.text;
  if (order !== '0' && order !== '1') throw tokens.expected('the byte order 0 (Motorola) or 1 (Intel)');
  tokens.advance();
  const isSigned = tokens.skipSign('-');
  if (!isSigned) tokens.sign('+');
  return { isBigEndian: order === '0', isSigned };
}

function skipLimits(tokens: TokenReader): void {
  tokens.sign('[');
  tokens.take('number', 'the minimum');
  tokens.sign('|');
  tokens.take('number', 'the maximum');
  tokens.sign(']');
}

function skipReceivers(tokens: TokenReader): void {
  let isListed = false;
  while (tokens.isName && (isListed || !tokens.token.isFirstOnLine)) {
    tokens.advance();
    isListed = tokens.skipSign(',');
  }
}

/** Reads what a comment or an attribute belongs to; without a keyword that is the database. */
function readTarget(tokens: TokenReader): Target {
  if (tokens.token.kind !== 'name') return { of: 'database' };
  const { text } = tokens.token;
  if (!targetKeywords.includes(text)) throw tokens.expected('BU_, BO_, SG_ or EV_');
  tokens.advance();
  if (text === 'BO_') return { of: 'message', id: tokens.whole('the id of a message') };
  if (text === 'SG_') return readSignalName(tokens);
  tokens.name('a name');
  return { of: 'other' };
}

function readSignalName(tokens: TokenReader): SignalTarget {
  return { of: 'signal', id: tokens.whole('the id of a message'), signal: tokens.name('the name of a signal') };
}

function readComment(tokens: TokenReader, line: number): Statement {
  const target = readTarget(tokens);
  tokens.text();
  tokens.sign(';');
  return { kind: 'comment', line, target };
}

const targetKeywords = ['BO_', 'SG_', 'BU_', 'EV_'];

function readAttributeDefinition(tokens: TokenReader, line: number): Statement {
  if (tokens.token.kind === 'name') {
    if (!targetKeywords.includes(tokens.token.text)) {
      throw tokens.expected('BU_, BO_, SG_, EV_ or the name of an attribute');
    }
    tokens.advance();
  }
  const name = tokens.text();
  const type = tokens.token.text;
  if (!['INT', 'HEX', 'FLOAT', 'STRING', 'ENUM'].includes(type)) {
    throw tokens.expected('the type INT, HEX, FLOAT, STRING or ENUM');
  }
  tokens.advance();
  const values: string[] = [];
  while (!tokens.skipSign(';')) {
    const { kind, text } = tokens.token;
    if (kind === 'text') values.push(text);
    else if (kind !== 'number' && !tokens.isSign(',')) throw tokens.expected('";"');
    tokens.advance();
  }
  return { kind: 'attributeDefinition', line, name, values: type === 'ENUM' ? values : undefined };
}

function readAttributeDefault(tokens: TokenReader, line: number): Statement {
  const name = tokens.text();
  return { kind: 'attributeDefault', line, name, value: readValue(tokens) };
}

function readAttribute(tokens: TokenReader, line: number): Statement {
  const name = tokens.text();
  const target = readTarget(tokens);
  return { kind: 'attribute', line, name, target, value: readValue(tokens) };
}

function readValue(tokens: TokenReader): AttributeValue {
  const { kind, text } = tokens.token;
  if (kind !== 'text' && kind !== 'number') throw tokens.expected('a value');
  tokens.advance();
  tokens.sign(';');
  return kind === 'text' ? text : Number(text);
}

function readLabelList(tokens: TokenReader): Labels {
  const labels: Labels = [];
  while (tokens.token.kind === 'number') labels.push([tokens.take('number', 'a value'), tokens.text()]);
  tokens.sign(';');
  return labels;
}

function readTable(tokens: TokenReader, line: number): Statement {
  const name = tokens.name('the name of a value table');
  return { kind: 'table', line, name, labels: readLabelList(tokens) };
}

function readLabels(tokens: TokenReader, line: number): Statement | undefined {
  // The values of an environment variable.
  if (tokens.isName) return skipStatement(tokens);
  const target = readSignalName(tokens);
  const table = tokens.isName ? tokens.name('the name of a value table') : undefined;
  return { kind: 'labels', line, target, labels: readLabelList(tokens), table };
}

function readValueType(tokens: TokenReader, line: number): Statement {
  const target = readSignalName(tokens);
  tokens.skipSign(':');
  const type = tokens.whole('the type 0, 1 or 2');
  tokens.sign(';');
  return { kind: 'valueType', line, target, type };
}

function readSelection(tokens: TokenReader, line: number): Statement {
  const target = readSignalName(tokens);
  const multiplexer = tokens.name('the name of a multiplexer');
  const ranges: SelectorRange[] = [];
  do {
    ranges.push(readRange(tokens));
  } while (tokens.skipSign(','));
  tokens.sign(';');
  return { kind: 'selection', line, target, multiplexer, ranges };
}

function readRange(tokens: TokenReader): SelectorRange {
  const from = tokens.whole('the first value of a range');
  // Without a blank, the second part of `0-3` reads as a negative number.
  const isSplit = tokens.skipSign('-');
  const text = tokens.take('number', 'the last value of a range');
  const to = isSplit ? Number(text) : -Number(text);
  if (Number.isSafeInteger(to) && to >= from) return { from, to };
  throw tokens.fault(`a range from ${from} must have its last value after a dash, and not below the first`);
}
