import { nearest } from '@odograph/contracts/nearest';
import { adminTokensOf, readAdminToken } from '@odograph/runtime/admin-token';
import { type Config, readConfig, userDirectory } from '@odograph/runtime/config';
import { createAdminApi } from './admin-api.ts';
import { type Command, type CommandContext, command, parseArguments } from './command.ts';
import { accountCommands } from './commands/accounts.ts';
import { backupCommands } from './commands/backup.ts';
import { canCommands } from './commands/can.ts';
import { deviceCommands } from './commands/devices.ts';
import { doctorCommands } from './commands/doctor.ts';
import { gbfsCommands } from './commands/gbfs.ts';
import { importCommands } from './commands/import.ts';
import { loginCommands } from './commands/login.ts';
import { operationCommands } from './commands/operations.ts';
import { operatorCommands } from './commands/operators.ts';
import { registrationCommands } from './commands/registration.ts';
import { reportCommands } from './commands/reports.ts';
import { sourceCommands } from './commands/sources.ts';
import { tailCommands } from './commands/tail.ts';
import { vehicleCommands } from './commands/vehicles.ts';
import { completionScript, shells } from './completion.ts';
import { Refusal, UsageFailure } from './failures.ts';
import { helpFor } from './help.ts';
import { formatForPeople } from './output.ts';
import { headersOf, readServers } from './servers.ts';

/** Every command: parsing, help, completion and the list in docs/operating.md follow from this table. */
export const commands: readonly Command[] = [
  ...accountCommands,
  ...operatorCommands,
  ...vehicleCommands,
  ...deviceCommands,
  ...sourceCommands,
  ...canCommands,
  ...gbfsCommands,
  ...operationCommands,
  ...registrationCommands,
  ...importCommands,
  ...tailCommands,
  ...reportCommands,
  ...backupCommands,
  ...doctorCommands,
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

async function run(command: Command, args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<string> {
  const { values, operands, server, json } = parseArguments(command, args);
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

/** Splits arguments into a command and the arguments after its name; the command is undefined when none matches. */
function findCommand(args: readonly string[]): { command: Command | undefined; rest: readonly string[] } {
  const found = commands.find(({ name }) => name.split(' ').every((word, index) => args[index] === word));
  return { command: found, rest: args.slice(found?.name.split(' ').length ?? 0) };
}

function unknownCommand(args: readonly string[]): UsageFailure {
  const words = args.filter((word) => !word.startsWith('-')).slice(0, 2);
  if (words.length === 0) return new UsageFailure('give a command (see odograph --help)');
  const names = commands.map(({ name }) => name);
  const groups = [...new Set(names.map((name) => name.split(' ')[0] ?? ''))];
  const [first = ''] = words;
  const ofGroup = names.filter((name) => name.startsWith(`${first} `));
  if (words.length === 1 && ofGroup.length > 0) {
    return new UsageFailure(
      `"${first}" needs one of: ${ofGroup.map((name) => name.slice(first.length + 1)).join(', ')}`,
    );
  }
  const meant = nearest(words.join(' '), names) ?? nearest(first, groups);
  const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
  const known = ofGroup.length > 0 ? `; the commands are ${ofGroup.join(', ')}` : '';
  return new UsageFailure(`unknown command "${words.join(' ')}"${hint}${known} (see odograph --help)`);
}

/**
 * Runs the command that the arguments name, and returns the text for stdout.
 * @param environment where the settings are read; that of the process when undefined
 * @throws Error with a message for the operator; exitCodeOf says which exit code it means
 */
export async function runCommandLine(args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<string> {
  const words = args[0] === 'help' ? args.slice(1) : args;
  const { command, rest } = findCommand(words);
  if (args[0] === 'help' || args.includes('--help') || args.includes('-h')) {
    const group = commands.filter(({ name }) => name.split(' ')[0] === words[0]);
    if (words[0] !== undefined && !words[0].startsWith('-') && group.length === 0) throw unknownCommand(words);
    return helpFor(commands, command ? [command] : group.length > 0 ? group : commands);
  }
  if (command) return run(command, rest, environment);
  throw unknownCommand(args);
}
