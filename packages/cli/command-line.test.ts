import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { platformVersion } from '@odograph/runtime/platform-version';
import { describe, expect, it } from 'vitest';
import { commands, formatForPeople, runCommandLine } from './command-line.ts';
import { createProgram } from './program.ts';
import { exitCodeOf, Unreachable } from './server/admin-api.ts';

const failureOf = async (...args: string[]) =>
  runCommandLine(args, {}).then(
    (output) => expect.fail(`printed ${output}`),
    (error: Error) => ({ code: exitCodeOf(error), message: error.message }),
  );

/** Splits a line as a shell does, up to a pipe or redirection. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/ [|<>].*$/, '').matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');

describe('the table of commands', () => {
  it('has examples that its own declarations accept', async () => {
    for (const command of commands) {
      for (const example of command.examples) {
        const called: string[] = [];
        const program = createProgram(commands, expect.fail, async ({ name }) => void called.push(name));
        await program.parseAsync(wordsOf(example), { from: 'user' });
        expect([example, called]).toEqual([example, [command.name]]);
      }
    }
  });

  it('is the one in docs/operating.md', async () => {
    const text = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8');
    const [section = ''] = /^## Command line$.*?(?=^## )/ms.exec(text) ?? [];
    const rows = section.split('\n').filter((line) => /^\| [a-z]/.test(line) && line.includes(' | `'));
    const listed = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
    expect(listed.toSorted()).toEqual(commands.map(({ name }) => name).toSorted());
  });
});

it('prints the version of the platform', async () => {
  expect(await runCommandLine(['--version'], {})).toBe(`${platformVersion()}\n`);
});

describe('help', () => {
  it('lists all commands with what they do', async () => {
    for (const args of [['--help'], ['help'], ['-h']]) {
      const text = await runCommandLine(args, {});
      for (const { name } of commands) expect(text).toMatch(new RegExp(`^ {2}odograph ${name} +\\S`, 'm'));
      expect(text).toContain('Exit codes: 0 done, 1 refused or failed, 2 wrong command line, 3 no answer');
    }
  });

  it('shows the commands of a group with examples, and no others', async () => {
    for (const args of [
      ['device', '--help'],
      ['help', 'device'],
    ]) {
      const text = await runCommandLine(args, {});
      expect(text).toContain('$ odograph device move --id 350000000000001 --vehicle 1000000002');
      expect(text).not.toContain('application create');
    }
  });

  it('shows one command with its options', async () => {
    const text = await runCommandLine(['device', 'secret', '--id', 'x', '--help'], {});
    expect(text).toContain('odograph device secret --id … [--overlap …]');
    expect(text).toMatch(/^ {2}--overlap +seconds/m);
    expect(text).not.toContain('device create');
  });
});

describe('a wrong command line', () => {
  it.each([
    [['devcie', 'create'], 'did you mean "device create"?'],
    [['device', 'crate'], 'did you mean "device create"?'],
    [['doctr'], 'did you mean "doctor"?'],
    [['device'], 'needs one of: create, list'],
    [['application', 'list', '--jsn'], 'did you mean --json?'],
    [['application', 'create'], 'missing --name'],
    [['completion', 'fish'], 'bash, zsh'],
    [['application', 'list', '--server', 'fleet.example.com'], '--server'],
    [['tail'], 'VEHICLEID|PLATE'],
    [['login', 'fleet.example.com'], 'https://fleet.example.com'],
  ])('%j exits with 2 and says what was probably meant', async (args, hint) => {
    const { code, message } = await failureOf(...args);
    expect(code).toBe(2);
    expect(message).toContain(hint);
    expect(message).not.toContain('\n');
  });

  it('differs from a refusal and from a server that does not answer by its exit code', () => {
    expect([exitCodeOf(new Error('refused')), exitCodeOf(new Unreachable('away'))]).toEqual([1, 3]);
  });
});

describe('output for people', () => {
  it('is a table of a list, with a column for each member that has a value', () => {
    const vehicles = [
      { id: '1000000001', plate: 'AB-123-CD', vin: '', accessories: ['CARDHOLDER', 'GPS'] },
      { id: '1000000002', plate: 'É', vin: '', accessories: [] },
    ];
    expect(formatForPeople({ vehicles }, 80)).toBe(
      'ID          PLATE      ACCESSORIES\n1000000001  AB-123-CD  CARDHOLDER, GPS\n1000000002  É\n',
    );
    expect(formatForPeople({ vehicles: [] }, 80)).toBe('none\n');
    expect(formatForPeople({}, 80)).toBe('done\n');
  });

  it('is a block for each row where the terminal is too narrow for a table', () => {
    const rows = [{ id: 'a', text: 'x'.repeat(30) }, { id: 'b' }];
    expect(formatForPeople(rows, 20)).toBe(`id    a\ntext  ${'x'.repeat(30)}\n\nid  b\n`);
  });

  it('has no control characters, with which a name could steer the terminal', () => {
    expect(formatForPeople({ name: '\u001b[2Jx\u009b1m' }, 80)).toBe('name  \u{fffd}[2Jx\u{fffd}1m\n');
  });
});

describe('completion', () => {
  const scriptOf = async (shell: string) => {
    const written: string[] = [];
    const command = commands.find(({ name }) => name === 'completion');
    const context = { operand: shell, print: (text: string) => written.push(text) };
    await command?.run(context as unknown as Parameters<typeof command.run>[0], {});
    return written.join('');
  };

  it.each([
    [['odograph', 'dev'], ['device']],
    [
      ['odograph', 'device', 're'],
      ['revoke-certificates', 'release'],
    ],
    [['odograph', 'device', 'create', '--mo'], ['--model']],
    [
      ['odograph', 'operator', 'create', '--role', ''],
      ['viewer', 'operator', 'administrator'],
    ],
    [['odograph', 'operator', 'create', '--role', 'viewer', '--must'], ['--must-change']],
    [['odograph', 'model', 'import', 'docs/oper'], ['docs/operating.md']],
    [['odograph', 'backup', '--passphrase-file', 'docs/oper'], ['docs/operating.md']],
    [
      ['odograph', 'completion', ''],
      ['bash', 'zsh'],
    ],
    [['odograph', 'tail', 'x'], []],
    [['npx', 'odograph', 'vehicle', 's'], ['set']],
  ])('of %j in bash', async (words, expected) => {
    const line = words.map((word) => `'${word}'`).join(' ');
    const call = `COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _odograph; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', `${await scriptOf('bash')}\n${call}`], {
      cwd: new URL('../../', import.meta.url),
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(stdout.split('\n').filter((one) => one !== '')).toEqual(expected);
  });

  it('is a script that zsh understands, where there is one', async () => {
    const { error, stderr } = spawnSync('zsh', ['-f', '-n'], {
      input: await scriptOf('zsh'),
      encoding: 'utf8',
    });
    expect(error === undefined ? stderr : '').toBe('');
  });
});
