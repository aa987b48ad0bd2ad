import { readAdminToken } from '@odograph/runtime/admin-token';
import { type Config, readConfig } from '@odograph/runtime/config';
import { connectAdminApi } from './admin-api.ts';
import { applicationCommands } from './application.ts';
import { auditCommands } from './audit.ts';
import { type Command, parseGiven, usageOf } from './command.ts';
import { deviceCommands } from './device.ts';
import { keyCommands } from './key.ts';
import { personCommands } from './person.ts';
import { quarantineCommands } from './quarantine.ts';
import { registrationCommands } from './registration/commands.ts';
import { requestCommands } from './request.ts';
import { userCommands } from './user.ts';
import { vehicleCommands } from './vehicle.ts';

const commands: readonly Command[] = [
  ...applicationCommands,
  ...userCommands,
  ...vehicleCommands,
  ...deviceCommands,
  ...keyCommands,
  ...requestCommands,
  ...personCommands,
  ...quarantineCommands,
  ...auditCommands,
  ...registrationCommands,
];

function helpFor(listed: readonly Command[]): string {
  const lines = listed.flatMap((command) => [`  odograph ${usageOf(command)}`, `      ${command.summary}`]);
  return [
    'Usage:',
    ...lines,
    '',
    'Every command takes --help and --url (or ODOGRAPH_URL), the address of the platform; else HTTP_HOST and HTTP_PORT',
    'are used. The admin token is ADMIN_TOKEN, else the file admin-token in DATA_DIR. Prints one JSON value.',
    '',
  ].join('\n');
}

/** Where the platform listens; one that listens on every address is reached on this machine. */
function platformUrl(config: Config): string {
  if (config.ODOGRAPH_URL !== undefined) return config.ODOGRAPH_URL;
  const host = config.HTTP_HOST === '0.0.0.0' ? '127.0.0.1' : config.HTTP_HOST === '::' ? '::1' : config.HTTP_HOST;
  return `http://${host.includes(':') ? `[${host}]` : host}:${config.HTTP_PORT}`;
}

function parseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new Error('--url is no http(s) address');
  return text;
}

async function adminToken(config: Config): Promise<string> {
  return readAdminToken(config).catch((cause: unknown) => {
    const file = `${config.DATA_DIR}/admin-token`;
    throw new Error(`there is no admin token: set ADMIN_TOKEN, or DATA_DIR so that ${file} can be read`, { cause });
  });
}

async function run(command: Command, args: readonly string[]): Promise<string> {
  const given = parseGiven(command, args);
  const config = readConfig();
  const url = given.text.url === undefined ? platformUrl(config) : parseUrl(given.text.url);
  const { url: _, ...text } = given.text;
  const answer = await command.run(connectAdminApi(url, await adminToken(config)), { ...given, text });
  return `${JSON.stringify(answer, null, process.stdout.isTTY ? 2 : undefined)}\n`;
}

/** @returns what goes to stdout. @throws Error whose message is for the operator */
async function main(args: readonly string[]): Promise<string> {
  const [group = '', verb = '', ...rest] = args;
  const ofGroup = commands.filter(({ name }) => name.startsWith(`${group} `));
  const command = ofGroup.find(({ name }) => name === `${group} ${verb}`);
  if (args.includes('--help') || args.includes('-h') || args[0] === 'help') {
    return helpFor(command ? [command] : ofGroup.length > 0 ? ofGroup : commands);
  }
  if (!command) {
    const known = (ofGroup.length > 0 ? ofGroup : commands).map(({ name }) => name).join(', ');
    throw new Error(`there is no command "${`${group} ${verb}`.trim()}"; the commands are ${known} (see --help)`);
  }
  return run(command, rest);
}

main(process.argv.slice(2)).then(
  (output) => process.stdout.write(output),
  (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`odograph: ${message.replace(/\s*\n\s*/g, ' ')}\n`);
    process.exitCode = 1;
  },
);
