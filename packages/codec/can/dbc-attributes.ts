import { type AttributeValue, type CanMessage, type CanSignal, pgnOf } from './database.ts';
import type { DatabaseDraft } from './dbc-draft.ts';
import type { Statement, StatementOf, Target } from './dbc-statements.ts';
import { StatementFault } from './dbc-tokens.ts';

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
