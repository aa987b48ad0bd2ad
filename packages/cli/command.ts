import { parseArgs } from 'node:util';
import type { AdminApi } from './admin-api.ts';

/** What the operator gave a command: options by name, flags, repeated options, and the words after them. */
export interface Given {
  readonly text: Readonly<Record<string, string>>;
  readonly flags: ReadonlySet<string>;
  readonly lists: Readonly<Record<string, readonly string[]>>;
  readonly words: readonly string[];
}

/** One command; its `name` is the two words it is called by. What `run` resolves to is printed as JSON. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly required?: readonly string[];
  readonly optional?: readonly string[];
  readonly flags?: readonly string[];
  /** Options that may be given several times. */
  readonly lists?: readonly string[];
  /** What the words after the name stand for, when any are allowed. */
  readonly words?: string;
  run(api: AdminApi, given: Given): Promise<unknown>;
}

/** Options of every command. */
export const commonOptions = ['url'] as const;

/** One line that shows how a command is called. */
export function usageOf(command: Command): string {
  const { required = [], optional = [], flags = [], lists = [], words } = command;
  return [
    command.name,
    ...(words === undefined ? [] : [words]),
    ...required.map((name) => `--${name} …`),
    ...optional.map((name) => `[--${name} …]`),
    ...lists.map((name) => `[--${name} …]…`),
    ...flags.map((name) => `[--${name}]`),
  ].join(' ');
}

/**
 * Reads the arguments after a command's name.
 * @throws Error that names an unknown, missing or incomplete option, or a word too many
 */
export function parseGiven(command: Command, args: readonly string[]): Given {
  const { required = [], optional = [], flags = [], lists = [] } = command;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: command.words !== undefined,
    options: {
      ...Object.fromEntries(
        [...required, ...optional, ...commonOptions].map((name) => [name, { type: 'string' as const }]),
      ),
      ...Object.fromEntries(lists.map((name) => [name, { type: 'string' as const, multiple: true }])),
      ...Object.fromEntries(flags.map((name) => [name, { type: 'boolean' as const }])),
    },
  });
  const missing = required.filter((name) => values[name] === undefined);
  if (missing.length > 0) throw new Error(`${missing.map((name) => `--${name}`).join(', ')} missing`);
  const text: Record<string, string> = {};
  const listed: Record<string, string[]> = {};
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string') text[name] = value;
    else if (Array.isArray(value)) listed[name] = value.map(String);
  }
  return { text, lists: listed, flags: new Set(flags.filter((name) => values[name] === true)), words: positionals };
}
