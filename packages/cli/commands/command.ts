import { readFile } from 'node:fs/promises';
import type { Config } from '@odograph/runtime/config';
import { messageOf } from '@odograph/runtime/message-of';
import type { AdminApi } from '../server/admin-api.ts';

/** The words that a shell completes, or paths. */
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

/** Returns the number that an option holds; other text is returned as it is, and the platform rejects it. */
export function numeric(text: string | undefined): number | string | undefined {
  return text === undefined || text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
}

/** Reads a JSON file. @throws Error that names the file */
export async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    const reason = messageOf(cause);
    throw new Error(`${file} cannot be read as JSON: ${reason}`, { cause });
  }
}

type Options = Readonly<Record<string, Option>>;
interface Values {
  required: string;
  optional: string | undefined;
  flag: boolean;
  list: readonly string[] | undefined;
}
type ValuesOf<Given extends Options> = { readonly [Name in keyof Given]: Values[Given[Name]['kind']] };

/** The platform, settings and operands that a command works with. */
export interface CommandContext {
  /** Connects at the first call. */
  readonly api: AdminApi;
  readonly config: Config;
  /** The address of the platform on this host, by its settings. */
  readonly localUrl: string;
  /** Holds the logins of the user. */
  readonly userDirectory: string;
  /** Whether results are for people: on a terminal, without --json. */
  readonly isForPeople: boolean;
  readonly operands: readonly string[];
  /** The first operand; empty when the command takes none. */
  readonly operand: string;
  /** Prints a part of the result at once. */
  print(text: string): void;
}

interface Declaration<Given extends Options> {
  /** The words that call the command, such as `device create`. */
  readonly name: string;
  readonly summary: string;
  /** Ways to call it, without `odograph`. */
  readonly examples: readonly [string, ...string[]];
  /** Exactly one operand such as `FILE`, or any number with brackets as in `[ID …]`; none when undefined. */
  readonly operand?: string;
  /** Words that a shell completes as the operand. */
  readonly operandValues?: readonly string[];
  readonly options?: Given;
  run(context: CommandContext, options: ValuesOf<Given>): Promise<unknown>;
  /** Formats the result for people; without it, as a table. */
  format?(result: unknown): string;
}

/** A declared command. */
export interface Command extends Omit<Declaration<Options>, 'options' | 'run'> {
  readonly options: Options;
  /**
   * Runs the command with the values of its options.
   * @returns the result to print; undefined when everything is printed
   * @throws Error with a message for the operator
   */
  run(context: CommandContext, values: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** Declares a command; the types of its options follow from their declaration. */
export function command<const Given extends Options = Record<never, never>>(declaration: Declaration<Given>): Command {
  const { run, ...rest } = declaration;
  return { options: {}, ...rest, run: (context, values) => run(context, values as ValuesOf<Given>) };
}
