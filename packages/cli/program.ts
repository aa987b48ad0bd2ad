import { platformVersion } from '@odograph/runtime/platform-version';
import { Option, Command as Program } from 'commander';
import type { Command } from './commands/command.ts';
import { UsageFailure } from './server/admin-api.ts';

const footer = `
Every command has --help, --json and --server URL. The server is that option, else ODOGRAPH_URL, else the one of the
latest \`odograph login\`, else this host at HTTP_HOST and HTTP_PORT. Credentials are those of the login; without one the admin
token: ADMIN_TOKEN, else the file admin-token in DATA_DIR. A terminal shows tables, everything else gets one JSON value.
Exit codes: 0 done, 1 refused or failed, 2 wrong command line, 3 no answer from the server.
`;

/** A command line as parsed: the values of the command's own options, its operands, and the common options. */
export interface ParsedArguments {
  readonly values: Readonly<Record<string, unknown>>;
  readonly operands: readonly string[];
  readonly server: string | undefined;
  readonly json: boolean;
}

/** Runs a parsed command. */
type Handler = (command: Command, parsed: ParsedArguments) => Promise<void>;

/** Returns one line that shows how to call a command, without its name. */
function usageOf({ operand, options }: Command): string {
  const shown = { required: '--NAME …', optional: '[--NAME …]', list: '[--NAME …]…', flag: '[--NAME]' };
  const words = Object.entries(options).map(([option, { kind }]) => shown[kind].replace('NAME', option));
  return [...(operand === undefined ? [] : [operand]), ...words].join(' ');
}

const examplesOf = ({ examples }: Command) => examples.map((example) => `  $ odograph ${example}\n`).join('');

function checkOperands(operand: string | undefined, operands: readonly string[]): void {
  if (operand === undefined && operands.length > 0) throw new UsageFailure(`unexpected argument "${operands[0]}"`);
  if (operand === undefined || operand.startsWith('[') || operands.length === 1) return;
  throw new UsageFailure(`expected exactly one ${operand}; quote it if it contains spaces`);
}

/** Adds the declared options and operands of a command to its parser, with the common ones. */
function declareArguments(parser: Program, command: Command, handle: Handler): void {
  for (const [name, { kind, help }] of Object.entries(command.options)) {
    const option = new Option(kind === 'flag' ? `--${name}` : `--${name} <value>`, help);
    if (kind === 'list') option.argParser<string[] | undefined>((value, previous) => [...(previous ?? []), value]);
    parser.addOption(option);
  }
  const own = [...parser.options];
  const address = 'address of the platform; without it ODOGRAPH_URL, the server of the latest login, or this host';
  parser
    .option('--server <value>', address)
    .addOption(new Option('--url <value>', 'older name of --server').hideHelp())
    .option('--json', 'print JSON on a terminal too')
    .argument('[operands...]')
    .usage(usageOf(command))
    .action(async (operands: string[], given: { server?: string; url?: string; json?: boolean }) => {
      const givenFor = (option: Option): unknown => parser.getOptionValue(option.attributeName());
      const isMissing = (option: Option) =>
        command.options[option.name()]?.kind === 'required' && givenFor(option) === undefined;
      const missing = own.filter(isMissing).map((option) => option.long);
      if (missing.length > 0) throw new UsageFailure(`missing ${missing.join(', ')}`);
      checkOperands(command.operand, operands);
      const values = own.map((option) => [option.name(), givenFor(option) ?? (option.isBoolean() ? false : undefined)]);
      const server = given.server ?? given.url;
      await handle(command, { values: Object.fromEntries(values), operands, server, json: given.json === true });
    });
}

/** Returns the commands themselves, those of groups included, with the words that call them. */
function flatten(program: Program): Program[] {
  return program.commands.flatMap((each) => (each.commands.length > 0 ? flatten(each) : [each]));
}

function fullName(program: Program): string {
  return program.parent === null ? program.name() : `${fullName(program.parent)} ${program.name()}`;
}

/**
 * Builds the parser of all commands, with help and suggestions.
 * @param print takes the help that is asked for
 */
export function createProgram(commands: readonly Command[], print: (text: string) => void, handle: Handler): Program {
  const program = new Program('odograph')
    .usage('COMMAND [OPTION …]')
    .helpCommand(false)
    .helpOption('-h, --help', 'show the help')
    .version(platformVersion(), '--version', 'show the version')
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: () => undefined })
    .configureHelp({
      helpWidth: process.stdout.columns ?? 240,
      visibleCommands: flatten,
      visibleArguments: () => [],
      subcommandTerm: fullName,
      optionTerm: ({ long }) => long ?? '',
    })
    .addHelpText('after', `\nExamples: odograph COMMAND --help\n${footer}`);
  const openGroup = (first: string): Program => {
    const members = commands.filter(({ name }) => name.startsWith(`${first} `));
    return program
      .command(first)
      .usage('COMMAND [OPTION …]')
      .addHelpText('after', `\nExamples:\n${members.map(examplesOf).join('')}`);
  };
  for (const command of commands) {
    const [first = '', second] = command.name.split(' ');
    const group =
      second === undefined ? program : (program.commands.find((one) => one.name() === first) ?? openGroup(first));
    const leaf = group.command(second ?? first).description(command.summary);
    declareArguments(leaf, command, handle);
    leaf.addHelpText('after', () => `\nExamples:\n${examplesOf(command)}`);
  }
  return program;
}
