import type { CanDatabase, DbcFault } from './database.ts';
import { applyAttributes } from './dbc-attributes.ts';
import { DatabaseDraft } from './dbc-draft.ts';
import { applyMultiplexing } from './dbc-multiplexing.ts';
import { decodeFile, maximumFileBytes } from './dbc-tokens.ts';
import { readStatements } from './read-statements.ts';

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
