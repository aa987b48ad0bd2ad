import { adminTokensOf, readAdminToken } from '@odograph/runtime/admin-token';
import { type Config, readConfig } from '@odograph/runtime/config';
import { createAdminApi } from './admin-api.ts';
import { type Command, helpOf, parseArguments } from './command.ts';
import { accountCommands } from './commands/accounts.ts';
import { backupCommands } from './commands/backup.ts';
import { canCommands } from './commands/can.ts';
import { deviceCommands } from './commands/devices.ts';
import { doctorCommands } from './commands/doctor.ts';
import { operationCommands } from './commands/operations.ts';
import { operatorCommands } from './commands/operators.ts';
import { registrationCommands } from './commands/registration.ts';
import { sourceCommands } from './commands/sources.ts';
import { vehicleCommands } from './commands/vehicles.ts';

const commands: readonly Command[] = [
  ...accountCommands,
  ...operatorCommands,
  ...vehicleCommands,
  ...deviceCommands,
  ...sourceCommands,
  ...canCommands,
  ...operationCommands,
  ...registrationCommands,
  ...backupCommands,
  ...doctorCommands,
];

const footer = `
Every command accepts --help and --url, the address of the platform; the default is ODOGRAPH_URL, else HTTP_HOST and
HTTP_PORT. The admin token is ADMIN_TOKEN, else the file admin-token in DATA_DIR. Results are printed as one JSON value.
`;

function helpFor(listed: readonly Command[]): string {
  return `Usage:\n${listed.map(helpOf).join('\n')}\n${footer}`;
}

/** Returns where the platform listens; one that listens on all addresses is reached on this host. */
function platformUrl(config: Config): string {
  if (config.ODOGRAPH_URL !== undefined) return config.ODOGRAPH_URL;
  const host = config.HTTP_HOST === '0.0.0.0' ? '127.0.0.1' : config.HTTP_HOST === '::' ? '::1' : config.HTTP_HOST;
  return `http://${host.includes(':') ? `[${host}]` : host}:${config.HTTP_PORT}`;
}

function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new Error('--url must be an http or https URL');
  return text;
}

async function readToken(config: Config): Promise<string> {
  const token = await readAdminToken(config).catch((cause: unknown) => {
    const file = `${config.DATA_DIR}/admin-token`;
    throw new Error(`no admin token: set ADMIN_TOKEN, or DATA_DIR so that ${file} is readable`, { cause });
  });
  // During a rotation the platform may not know the newest token yet.
  return adminTokensOf(token).at(-1) ?? token;
}

async function run(command: Command, args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<string> {
  const { values, operands, url } = parseArguments(command, args);
  const givenUrl = url === undefined ? undefined : parseUrl(url);
  const config = readConfig(environment);
  const api = createAdminApi(givenUrl ?? platformUrl(config), () => readToken(config));
  const result = await command.run({ api, config, operands, operand: operands[0] ?? '' }, values);
  if (process.stdout.isTTY && command.format) return command.format(result);
  return `${JSON.stringify(result, null, process.stdout.isTTY ? 2 : undefined)}\n`;
}

/** Splits arguments into a command and the arguments after its name; the command is undefined when none matches. */
function findCommand(args: readonly string[]): { command: Command | undefined; rest: readonly string[] } {
  const command = commands.find(({ name }) => name.split(' ').every((word, index) => args[index] === word));
  return { command, rest: args.slice(command?.name.split(' ').length ?? 0) };
}

/**
 * Runs the command that the arguments name, and returns the text for stdout.
 * @param environment where the settings are read; that of the process when undefined
 * @throws Error with a message for the operator
 */
export async function runCommandLine(args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<string> {
  const { command, rest } = findCommand(args);
  const group = commands.filter(({ name }) => name.split(' ')[0] === args[0]);
  const related = group.length > 0 ? group : commands;
  if (args.includes('--help') || args.includes('-h') || args[0] === 'help') {
    return helpFor(command ? [command] : related);
  }
  if (command) return run(command, rest, environment);
  const known = related.map(({ name }) => name).join(', ');
  throw new Error(`unknown command "${args.slice(0, 2).join(' ')}"; the commands are ${known} (see --help)`);
}
