import { type Command, commonOptions } from './command.ts';

const footer = `
Every command has --help, --json and --server URL. The server is that option, else ODOGRAPH_URL, else the one of the
latest \`odograph login\`, else this host at HTTP_HOST and HTTP_PORT. Credentials are those of the login; without one the admin
token: ADMIN_TOKEN, else the file admin-token in DATA_DIR. A terminal shows tables, everything else gets one JSON value.
Exit codes: 0 done, 1 refused or failed, 2 wrong command line, 3 no answer from the server.
`;

/** Returns one line that shows how to call a command. */
export function usageOf({ name, operand, options }: Command): string {
  const shown = { required: '--NAME …', optional: '[--NAME …]', list: '[--NAME …]…', flag: '[--NAME]' };
  const words = Object.entries(options).map(([option, { kind }]) => shown[kind].replace('NAME', option));
  return [name, ...(operand === undefined ? [] : [operand]), ...words].join(' ');
}

function listed(rows: readonly (readonly [string, string])[], indent: string): string[] {
  const width = Math.max(...rows.map(([name]) => name.length), 0);
  return rows.map(([name, help]) => `${indent}${name.padEnd(width)}  ${help}`);
}

/** Explains one command: usage, summary, examples, and a line for each option. */
function explain(shown: Command, hasOptions: boolean): string[] {
  const options = Object.entries({ ...shown.options, ...commonOptions });
  const helps = options.map(([name, { help }]) => [`--${name}`, help] as const);
  return [
    `  odograph ${usageOf(shown)}`,
    `      ${shown.summary}`,
    ...shown.examples.map((example) => `      $ odograph ${example}`),
    ...(hasOptions ? ['', 'Options:', ...listed(helps, '  ')] : []),
    '',
  ];
}

/** Returns the help for the commands that the words before --help name: all, those of a group, or one. */
export function helpFor(commands: readonly Command[], chosen: readonly Command[]): string {
  const [one, ...others] = chosen;
  if (one !== undefined && others.length === 0) return `Usage:\n${explain(one, true).join('\n')}`;
  if (chosen.length < commands.length) {
    const lines = chosen.flatMap((each) => explain(each, false));
    return `Usage:\n${lines.join('\n')}\nOptions: odograph COMMAND --help\n`;
  }
  const names = listed(
    commands.map(({ name, summary }) => [`odograph ${name}`, summary]),
    '  ',
  );
  return `Usage: odograph COMMAND [OPTION …]\n\n${names.join('\n')}\n\nExamples: odograph COMMAND --help\n${footer}`;
}
