import { nearest } from '@odograph/contracts/nearest';
import { adminTokensOf, readAdminToken } from '@odograph/runtime/admin-token';
import { type Config, readConfig, userDirectory } from '@odograph/runtime/config';
import { CommanderError } from 'commander';
import { accountCommands, operatorCommands } from './commands/accounts.ts';
import { archiveCommands } from './commands/archive.ts';
import { type Command, type CommandContext, command } from './commands/command.ts';
import { groupCommands } from './commands/groups.ts';
import { importCommands, registrationCommands } from './commands/imports.ts';
import { backupCommands, doctorCommands, reportCommands } from './commands/installation.ts';
import { loginCommands } from './commands/login.ts';
import { mapCommands } from './commands/map.ts';
import { moveCommands } from './commands/move.ts';
import { notificationCommands } from './commands/notifications.ts';
import { operationCommands } from './commands/operations.ts';
import { fleetReportCommands } from './commands/reports.ts';
import { canCommands, gbfsCommands, sourceCommands } from './commands/sources.ts';
import { tailCommands } from './commands/tail.ts';
import { deviceCommands, shareCommands, vehicleCommands } from './commands/vehicles.ts';
import { completionScript, shells } from './completion.ts';
import { createProgram, type ParsedArguments } from './program.ts';
import { createAdminApi, Refusal, UsageFailure } from './server/admin-api.ts';
import { headersOf, readServers } from './server/logins.ts';

const maxKeyLength = 40;

/** Replaces control characters: a name that a device chose must not steer the terminal. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, '\u{fffd}');

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return printable(value);
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return printable(value.join(', '));
  return printable(JSON.stringify(value));
}

type Row = Readonly<Record<string, unknown>>;
const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

function fields(row: Row): string {
  const shown = Object.entries(row).filter(([, value]) => cellOf(value) !== '');
  const width = Math.min(Math.max(...shown.map(([key]) => key.length), 0), maxKeyLength);
  return shown.map(([key, value]) => `${printable(key).padEnd(width)}  ${cellOf(value)}\n`).join('');
}

/** Formats rows as lines, or as blocks if a line would exceed the width of the terminal. */
function table(rows: readonly Row[], columns: number): string {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((key) =>
    rows.some((row) => cellOf(row[key]) !== ''),
  );
  const lines = [keys.map((key) => key.toUpperCase()), ...rows.map((row) => keys.map((key) => cellOf(row[key])))];
  const widths = keys.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  if (widths.reduce((sum, width) => sum + width + 2, -2) > columns) return rows.map(fields).join('\n');
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function listOf(values: readonly unknown[], columns: number): string {
  if (values.length === 0) return 'none\n';
  return values.every(isRow) ? table(values, columns) : values.map((value) => `${cellOf(value)}\n`).join('');
}

/**
 * Formats a result for people: a list as a table, anything else as a line for each member.
 * @param columns width of the terminal
 */
export function formatForPeople(result: unknown, columns: number): string {
  if (Array.isArray(result)) return listOf(result, columns);
  if (!isRow(result)) return `${cellOf(result)}\n`;
  const entries = Object.entries(result);
  if (entries.length === 0) return 'done\n';
  const isList = ([, value]: [string, unknown]) => Array.isArray(value) && (value.length === 0 || value.every(isRow));
  const lists = entries.filter(isList);
  const rest = fields(Object.fromEntries(entries.filter((entry) => !isList(entry))));
  const parts = lists.map(([key, value]) => {
    const title = lists.length > 1 || rest !== '' ? `${key}:\n` : '';
    return `${title}${listOf(value as unknown[], columns)}`;
  });
  return [...(rest === '' ? [] : [rest]), ...parts].join('\n');
}

/** Every command: parsing, help, completion and the list in docs/operating.md follow from this table. */
export const commands: readonly Command[] = [
  ...accountCommands,
  ...groupCommands,
  ...operatorCommands,
  ...vehicleCommands,
  ...shareCommands,
  ...deviceCommands,
  ...sourceCommands,
  ...canCommands,
  ...gbfsCommands,
  ...notificationCommands,
  ...operationCommands,
  ...registrationCommands,
  ...importCommands,
  ...tailCommands,
  ...fleetReportCommands,
  ...reportCommands,
  ...archiveCommands,
  ...backupCommands,
  ...moveCommands,
  ...doctorCommands,
  ...mapCommands,
  ...loginCommands,
  command({
    name: 'completion',
    summary: 'print the script by which a shell completes commands, options and files',
    operand: 'SHELL',
    operandValues: shells,
    examples: ['completion bash >> ~/.bashrc', 'completion zsh > ~/.zfunc/_odograph'],
    async run({ operand, print }) {
      print(completionScript(commands, operand));
      return undefined;
    },
  }),
];

/** Some terminals do not say how wide they are. */
const usualColumns = 80;

/** Returns where the platform listens on this host; one that listens on all addresses is reached by the loopback. */
function localUrl(config: Config): string {
  const host = config.HTTP_HOST === '0.0.0.0' ? '127.0.0.1' : config.HTTP_HOST === '::' ? '::1' : config.HTTP_HOST;
  return `http://${host.includes(':') ? `[${host}]` : host}:${config.HTTP_PORT}`;
}

function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) {
    throw new UsageFailure('--server (or --url) must be an http or https URL');
  }
  return new URL(text).origin;
}

async function readToken(config: Config): Promise<string> {
  const token = await readAdminToken(config).catch((cause: unknown) => {
    const file = `${config.DATA_DIR}/admin-token`;
    const message = `no admin token: set ADMIN_TOKEN, or DATA_DIR so that ${file} is readable, or run odograph login`;
    throw new Error(message, { cause });
  });
  // During a rotation the platform may not know the newest token yet.
  return adminTokensOf(token).at(-1) ?? token;
}

/** Finds the platform and what to authenticate with: the login at that server, else the admin token. */
async function connect(config: Config, directory: string, given: string | undefined) {
  const { current, logins } = await readServers(directory);
  const url = given ?? config.ODOGRAPH_URL ?? current ?? localUrl(config);
  const login = logins[new URL(url).origin];
  return createAdminApi(url, async () =>
    login === undefined
      ? { authorization: `Bearer ${await readToken(config)}` }
      : headersOf(directory, new URL(url).origin, login),
  );
}

/** Adds to a refusal of credentials how to get others. */
function explain(error: unknown, url: string, isSignedIn: boolean): unknown {
  if (!(error instanceof Refusal) || error.status !== 401 || !isSignedIn) return error;
  return new Refusal(error.status, `${error.message}; sign in again: odograph login ${url}`);
}

async function run(
  command: Command,
  { values, operands, server, json }: ParsedArguments,
  environment: NodeJS.ProcessEnv | undefined,
): Promise<string> {
  const given = server === undefined ? undefined : parseUrl(server);
  const config = readConfig(environment);
  const directory = userDirectory(environment);
  const api = await connect(config, directory, given);
  const isForPeople = process.stdout.isTTY && !json;
  const context: CommandContext = {
    ...{ api, config, operands, isForPeople, operand: operands[0] ?? '' },
    ...{ userDirectory: directory, localUrl: localUrl(config) },
    print: (text) => process.stdout.write(text),
  };
  const result = await command.run(context, values).catch(async (error: unknown) => {
    const { logins } = await readServers(directory);
    throw explain(error, api.url, logins[new URL(api.url).origin] !== undefined);
  });
  if (result === undefined) return '';
  if (!isForPeople) return `${JSON.stringify(result, null, process.stdout.isTTY ? 2 : undefined)}\n`;
  return command.format ? command.format(result) : formatForPeople(result, process.stdout.columns || usualColumns);
}

function unknownCommand(words: readonly string[]): UsageFailure {
  const names = commands.map(({ name }) => name);
  const [first = ''] = words;
  const ofGroup = names.filter((name) => name.startsWith(`${first} `));
  const meant =
    nearest(words.join(' '), names) ??
    nearest(
      first,
      names.map((name) => name.split(' ')[0] ?? ''),
    );
  const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
  const known = ofGroup.length > 0 ? `; the commands are ${ofGroup.join(', ')}` : '';
  return new UsageFailure(`unknown command "${words.join(' ')}"${hint}${known} (see odograph --help)`);
}

/** Turns an error of the parser into one line; a group without its command lists them. */
function usageFailure({ message, code }: CommanderError, args: readonly string[]): UsageFailure {
  const words = args.filter((word) => !word.startsWith('-')).slice(0, 2);
  if (code === 'commander.unknownCommand') return unknownCommand(words);
  if (code !== 'commander.help') {
    const text = message.replace(/^error: /, '').replace(/\n\(D(.*)\)$/, '; d$1');
    return new UsageFailure(text);
  }
  const [group] = words;
  if (group === undefined) return new UsageFailure('give a command (see odograph --help)');
  const names = commands.map(({ name }) => name.split(' ')).filter(([first]) => first === group);
  return new UsageFailure(`"${group}" needs one of: ${names.map(([, second]) => second).join(', ')}`);
}

/**
 * Runs the command that the arguments name, and returns the text for stdout.
 * @param environment where the settings are read; that of the process when undefined
 * @throws Error with a message for the operator; exitCodeOf returns its exit code
 */
export async function runCommandLine(args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<string> {
  let output = '';
  const print = (text: string) => {
    output += text;
  };
  const program = createProgram(commands, print, async (command, parsed) => {
    output += await run(command, parsed, environment);
  });
  const words = args[0] === 'help' ? [...args.slice(1), '--help'] : args;
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw usageFailure(error, words);
  }
  return output;
}
