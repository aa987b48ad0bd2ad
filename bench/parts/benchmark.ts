import { Command, CommanderError } from 'commander';
import { type Engines, withEngines } from './engines.ts';
import { printMachine } from './report.ts';

/** An invalid command line or a request for help; the message is shown to the user. */
export class UsageError extends Error {
  readonly isHelp: boolean;

  constructor(message: string, isHelp = false) {
    super(message);
    this.isHelp = isHelp;
  }
}

type Option<Value> = readonly [defaultValue: Value, help: string];
type Options = Readonly<Record<string, Option<number> | Option<string>>>;
export type Settings<Given extends Options> = {
  readonly [Name in keyof Given]: Given[Name][0] extends number ? number : string;
};

export interface Benchmark {
  /** One line for the list of benchmarks. */
  readonly description: string;
  /** @throws UsageError for an invalid command line */
  run(parameters: readonly string[]): Promise<void>;
}

const profile = ['', 'directory for CPU profiles of the services'] as const;
const dashed = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function convert(name: string, text: string | undefined, defaultValue: number | string): number | string {
  if (text === undefined || typeof defaultValue === 'string') return text ?? defaultValue;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new UsageError(`--${dashed(name)} must be an integer of 0 or more, not ${text}`);
}

/**
 * Parses the options of a benchmark; the type of an option is that of its default value.
 * @throws UsageError for an unknown option, an invalid value, and --help
 */
export function readOptions<Given extends Options>(parameters: readonly string[], options: Given): Settings<Given> {
  let help = '';
  const command = new Command('npm run bench -- NAME').exitOverride().configureOutput({
    writeOut: (text) => {
      help += text;
    },
    writeErr: () => undefined,
  });
  for (const [name, [defaultValue, text]] of Object.entries(options)) {
    command.option(`--${dashed(name)} <value>`, defaultValue === '' ? text : `${text} (${defaultValue})`);
  }
  try {
    command.parse(parameters, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const isHelp = error.exitCode === 0;
    throw new UsageError(isHelp ? help : `${error.message}\n${command.helpInformation()}`, isHelp);
  }
  const given = command.opts<Record<string, string | undefined>>();
  return Object.fromEntries(
    Object.entries(options).map(([name, [defaultValue]]) => [name, convert(name, given[name], defaultValue)]),
  ) as Settings<Given>;
}

/** Defines a benchmark that runs on its own database and Redis, which all its services use. */
export function defineBenchmark<const Given extends Options>(
  description: string,
  options: Given,
  work: (engines: Engines, settings: Settings<Given>) => Promise<void>,
): Benchmark {
  return {
    description,
    async run(parameters) {
      const settings = readOptions(parameters, { ...options, profile });
      await withEngines(String(settings.profile), async (engines) => {
        printMachine(engines);
        await work(engines, settings);
      });
    },
  };
}

/** Measures the contenders in turns, so that all are exposed to the same noise. @returns results by name */
export async function inTurns<Result>(
  contenders: Readonly<Record<string, (round: number) => Promise<Result>>>,
  rounds: number,
): Promise<Record<string, Result[]>> {
  const results: Record<string, Result[]> = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, measure] of Object.entries(contenders)) results[name]?.push(await measure(round));
  }
  return results;
}
