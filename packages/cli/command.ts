import { parseArgs } from 'node:util';
import { nearest } from '@odograph/contracts/nearest';
import type { Config } from '@odograph/runtime/config';
import type { AdminApi } from './admin-api.ts';
import { UsageFailure } from './failures.ts';

/** What a shell completes: one of these words, or a path. */
type Completed = readonly string[] | 'file';

/** An option of a command. */
interface Option<Kind extends 'required' | 'optional' | 'flag' | 'list' = 'required' | 'optional' | 'flag' | 'list'> {
  readonly kind: Kind;
  readonly help: string;
  readonly values?: Completed | undefined;
}

/** Declares an option that must be given. */
export const required = (help: string, values?: Completed): Option<'required'> => ({ kind: 'required', help, values });
/** Declares an option that may be left out. */
export const optional = (help: string, values?: Completed): Option<'optional'> => ({ kind: 'optional', help, values });
/** Declares an option without a value. */
export const flag = (help: string): Option<'flag'> => ({ kind: 'flag', help });
/** Declares an option that may be given several times. */
export const list = (help: string): Option<'list'> => ({ kind: 'list', help });

/** The options of every command. */
export const commonOptions = {
  server: optional('address of the platform; without it ODOGRAPH_URL, the server of the latest login, or this host'),
  json: flag('print JSON on a terminal too'),
  help: flag('show the help'),
};

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
  /** The platform; connects at the first call. */
  readonly api: AdminApi;
  readonly config: Config;
  /** The address of the platform on this host, by its settings. */
  readonly localUrl: string;
  /** Where the user's logins are. */
  readonly userDirectory: string;
  /** Whether results are for people: on a terminal, without --json. */
  readonly isForPeople: boolean;
  /** The words after the name of the command. */
  readonly operands: readonly string[];
  /** The first operand; empty when the command takes none. */
  readonly operand: string;
  /** Prints a part of the result at once, for commands that go on. */
  print(text: string): void;
}

interface Declaration<Given extends Options> {
  /** The words that call the command, such as `device create`. */
  readonly name: string;
  /** One line that says what the command does. */
  readonly summary: string;
  /** Ways to call it, without `odograph`. */
  readonly examples: readonly [string, ...string[]];
  /** What the operand is, such as `FILE`: exactly one, or any number with brackets as in `[ID …]`; none when undefined. */
  readonly operand?: string;
  /** Words that a shell completes as the operand. */
  readonly operandValues?: readonly string[];
  readonly options?: Given;
  run(context: CommandContext, options: Values<Given>): Promise<unknown>;
  /** Formats the result for people; without it, as a table. */
  format?(result: unknown): string;
}

/** A declared command. */
export interface Command extends Omit<Declaration<Options>, 'options' | 'run'> {
  readonly options: Options;
  /**
   * Runs the command with the values of its options, as parseArguments returns them.
   * @returns the result to print; undefined when everything is printed
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
  /** The address of the platform, as given. */
  readonly server: string | undefined;
  readonly json: boolean;
}

function checkOperands(operand: string | undefined, operands: readonly string[]): void {
  if (operand === undefined || operand.startsWith('[')) return;
  if (operands.length !== 1) throw new UsageFailure(`expected exactly one ${operand}; quote it if it contains spaces`);
}

function typesOf(options: Options) {
  return Object.fromEntries(
    Object.entries(options).map(([name, { kind }]) => [
      name,
      { type: kind === 'flag' ? ('boolean' as const) : ('string' as const), multiple: kind === 'list' },
    ]),
  );
}

/** Names an option that the command does not have, with the one that was probably meant. */
function checkOptionNames(options: Options, args: readonly string[]): void {
  const known = [...Object.keys(options), ...Object.keys(commonOptions), 'url'];
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  for (const argument of args.slice(0, end)) {
    const name = /^--([^=]+)/.exec(argument)?.[1];
    if (name === undefined || known.includes(name)) continue;
    const meant = nearest(name, known);
    throw new UsageFailure(`unknown option --${name}${meant === undefined ? '' : `; did you mean --${meant}?`}`);
  }
}

/**
 * Parses the arguments after the name of a command.
 * @throws UsageFailure that names an unknown, missing or incomplete option, or a surplus operand
 */
export function parseArguments({ operand, options }: Command, args: readonly string[]): ParsedArguments {
  checkOptionNames(options, args);
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: operand !== undefined,
      // --url is the older name of --server.
      options: { ...typesOf({ ...commonOptions, url: commonOptions.server }), ...typesOf(options) },
    });
  } catch (error) {
    throw new UsageFailure(error instanceof Error ? error.message : String(error));
  }
  const { server, url, json, help: _, ...given } = parsed.values;
  const declared = Object.entries(options);
  const missing = declared.filter(([name, { kind }]) => kind === 'required' && given[name] === undefined);
  if (missing.length > 0) throw new UsageFailure(`missing ${missing.map(([name]) => `--${name}`).join(', ')}`);
  checkOperands(operand, parsed.positionals);
  const absent: Record<string, unknown> = {};
  for (const [name, { kind }] of declared) absent[name] = kind === 'flag' ? false : undefined;
  const address = server ?? url;
  return {
    values: { ...absent, ...given },
    operands: parsed.positionals,
    server: typeof address === 'string' ? address : undefined,
    json: json === true,
  };
}
