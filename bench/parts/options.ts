import { parseArgs } from 'node:util';

/** An invalid command line or a request for help; the message is shown to the user. */
export class UsageError extends Error {
  readonly isHelp: boolean;

  constructor(message: string, isHelp = false) {
    super(message);
    this.isHelp = isHelp;
  }
}

interface Option<Value extends number | string> {
  readonly value: Value;
  readonly help: string;
}
type Options = Record<string, Option<number> | Option<string>>;
type Values<Given extends Options> = {
  [Name in keyof Given]: Given[Name] extends Option<number> ? number : string;
};

const dashed = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function describe(options: Options): string {
  return Object.entries(options)
    .map(([name, { value, help }]) => `  --${dashed(name).padEnd(20)} ${help}${value === '' ? '' : ` (${value})`}`)
    .join('\n');
}

function parse(parameters: readonly string[], options: Options): Record<string, unknown> {
  const strings = Object.fromEntries(Object.keys(options).map((name) => [dashed(name), { type: 'string' as const }]));
  try {
    return parseArgs({ args: [...parameters], options: { ...strings, help: { type: 'boolean' } } }).values;
  } catch (error) {
    throw new UsageError(
      `${error instanceof Error ? error.message : String(error)}\nthe options are\n${describe(options)}`,
    );
  }
}

function convert(name: string, text: unknown, standard: number | string): number | string {
  if (typeof text !== 'string') return standard;
  if (typeof standard === 'string') return text;
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) {
    throw new UsageError(`--${dashed(name)} must be an integer of 0 or more, not ${text}`);
  }
  return number;
}

/**
 * Parses the options of a benchmark; the type of an option is that of its default value.
 * @throws UsageError for an unknown option, an invalid value, and --help
 */
export function readOptions<Given extends Options>(parameters: readonly string[], options: Given): Values<Given> {
  const values = parse(parameters, options);
  if (values.help) throw new UsageError(describe(options), true);
  return Object.fromEntries(
    Object.entries(options).map(([name, { value }]) => [name, convert(name, values[dashed(name)], value)]),
  ) as Values<Given>;
}
