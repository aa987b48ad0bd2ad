import { parseArgs } from 'node:util';
import type { Config } from '@odograph/runtime/config';
import type { AdminApi } from './admin-api.ts';

/** An option of a command. */
interface Option<Kind extends 'required' | 'optional' | 'flag' | 'list' = 'required' | 'optional' | 'flag' | 'list'> {
  readonly kind: Kind;
  readonly help: string;
}

/** Declares an option that must be given. */
export const required = (help: string): Option<'required'> => ({ kind: 'required', help });
/** Declares an option that may be left out. */
export const optional = (help: string): Option<'optional'> => ({ kind: 'optional', help });
/** Declares an option without a value. */
export const flag = (help: string): Option<'flag'> => ({ kind: 'flag', help });
/** Declares an option that may be given several times. */
export const list = (help: string): Option<'list'> => ({ kind: 'list', help });

/** The number that an option holds; the platform refuses any other text. */
export function numeric(text: string | undefined): number | string | undefined {
  return text === undefined || text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
}

type Options = Readonly<Record<string, Option>>;
type Value<Given extends Option> =
  Given extends Option<'required'>
    ? string
    : Given extends Option<'flag'>
      ? boolean
      : Given extends Option<'list'>
        ? readonly string[] | undefined
        : string | undefined;
type Values<Given extends Options> = { readonly [Name in keyof Given]: Value<Given[Name]> };

/** What a command works with. */
export interface CommandContext {
  /** The operator's side of the platform; connects at the first call. */
  readonly api: AdminApi;
  readonly config: Config;
  /** The words after the name of the command. */
  readonly operands: readonly string[];
  /** The first operand; empty when the command takes none. */
  readonly operand: string;
}

interface Declaration<Given extends Options> {
  /** The words that call the command, such as `device create`. */
  readonly name: string;
  /** One line that says what the command does. */
  readonly summary: string;
  /** What the operand is, such as `FILE`: exactly one, or any number with brackets as in `[ID …]`; none when undefined. */
  readonly operand?: string;
  readonly options?: Given;
  run(context: CommandContext, options: Values<Given>): Promise<unknown>;
  /** Formats the result for a terminal; without it, and when the output is no terminal, the result is JSON. */
  format?(result: unknown): string;
}

/** A declared command. */
export interface Command extends Pick<Declaration<Options>, 'name' | 'summary' | 'operand' | 'format'> {
  readonly options: Options;
  /**
   * Runs the command with the values of its options, as parseArguments returns them.
   * @throws Error with a message for the operator
   */
  run(context: CommandContext, values: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** Declares a command; the types of its options follow from their declaration. */
export function command<const Given extends Options = Record<never, never>>(declaration: Declaration<Given>): Command {
  const { run, ...rest } = declaration;
  return {
    options: {},
    ...rest,
    run: (context, values) => run(context, values as Values<Given>),
  };
}

/** Arguments parsed by the declaration of a command. */
interface ParsedArguments {
  readonly values: Readonly<Record<string, unknown>>;
  readonly operands: readonly string[];
  /** The option of every command. */
  readonly url: string | undefined;
}

function checkOperands(operand: string | undefined, operands: readonly string[]): void {
  if (operand === undefined || operand.startsWith('[')) return;
  if (operands.length !== 1) throw new Error(`expected exactly one ${operand}; quote it if it contains spaces`);
}

/**
 * Parses the arguments after the name of a command.
 * @throws Error that names an unknown, missing or incomplete option, or a surplus operand
 */
export function parseArguments({ operand, options }: Command, args: readonly string[]): ParsedArguments {
  const declared = Object.entries(options);
  const { values, positionals }: { values: Record<string, unknown>; positionals: string[] } = parseArgs({
    args: [...args],
    allowPositionals: operand !== undefined,
    options: {
      url: { type: 'string' },
      ...Object.fromEntries(
        declared.map(([name, { kind }]) => [
          name,
          { type: kind === 'flag' ? ('boolean' as const) : ('string' as const), multiple: kind === 'list' },
        ]),
      ),
    },
  });
  const missing = declared.filter(([name, { kind }]) => kind === 'required' && values[name] === undefined);
  if (missing.length > 0) throw new Error(`missing ${missing.map(([name]) => `--${name}`).join(', ')}`);
  checkOperands(operand, positionals);
  const absent: Record<string, unknown> = {};
  for (const [name, { kind }] of declared) absent[name] = kind === 'flag' ? false : undefined;
  const { url, ...given } = values;
  return { values: { ...absent, ...given }, operands: positionals, url: typeof url === 'string' ? url : undefined };
}

/** Returns one line that shows how to call a command. */
export function usageOf({ name, operand, options }: Command): string {
  const shown = { required: '--NAME …', optional: '[--NAME …]', list: '[--NAME …]…', flag: '[--NAME]' };
  const words = Object.entries(options).map(([option, { kind }]) => shown[kind].replace('NAME', option));
  return [name, ...(operand === undefined ? [] : [operand]), ...words].join(' ');
}

/** Returns the help of one command: usage, summary, and a line for each option. */
export function helpOf(shown: Command): string {
  const options = Object.entries(shown.options).map(([name, { help }]) => [`--${name}`, help] as const);
  const width = Math.max(...options.map(([name]) => name.length), 0);
  return [
    `  odograph ${usageOf(shown)}`,
    `      ${shown.summary}`,
    ...options.map(([name, help]) => `        ${name.padEnd(width)}  ${help}`),
  ].join('\n');
}
