import { Command, CommanderError } from 'commander';

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

function convert(name: string, text: string | undefined, standard: number | string): number | string {
  if (text === undefined || typeof standard === 'string') return text ?? standard;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new UsageError(`--${dashed(name)} must be an integer of 0 or more, not ${text}`);
}

/**
 * Parses the options of a benchmark; the type of an option is that of its default value.
 * @throws UsageError for an unknown option, an invalid value, and --help
 */
export function readOptions<Given extends Options>(parameters: readonly string[], options: Given): Values<Given> {
  let help = '';
  const command = new Command('npm run bench -- NAME').exitOverride().configureOutput({
    writeOut: (text) => {
      help += text;
    },
    writeErr: () => undefined,
  });
  for (const [name, { value, help: text }] of Object.entries(options)) {
    command.option(`--${dashed(name)} <value>`, value === '' ? text : `${text} (${value})`);
  }
  try {
    command.parse(parameters, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw new UsageError(
      error.exitCode === 0 ? help : `${error.message}\n${command.helpInformation()}`,
      error.exitCode === 0,
    );
  }
  const given = command.opts<Record<string, string | undefined>>();
  return Object.fromEntries(
    Object.entries(options).map(([name, { value }]) => [name, convert(name, given[name], value)]),
  ) as Values<Given>;
}
