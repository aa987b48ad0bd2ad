import type { Config } from '@odograph/runtime/config';
import type { Engines } from '../installation/engines.ts';
import { command, required } from './command.ts';
import { readPassphrase } from './installation.ts';

const app = required('appId of the application');
const passphraseFile = required('file with the passphrase that protects secrets in the files', 'file');

/** Runs a step of a move with the engines of this host. */
async function withEngines<Result>(config: Config, run: (engines: Engines) => Promise<Result>): Promise<Result> {
  const { openEngines } = await import('../installation/engines.ts');
  const engines = await openEngines(config);
  try {
    return await run(engines);
  } finally {
    await engines.stop();
  }
}

/** Moving an application between cells, on a host of each. */
export const moveCommands = [
  command({
    name: 'application move-out',
    summary: 'stop an application and write all of it to a directory, for another cell',
    examples: ['application move-out --app app-7f3a --to /srv/app-7f3a --passphrase-file passphrase'],
    options: { app, to: required('a new directory', 'file'), 'passphrase-file': passphraseFile },
    async run({ config }, { app: appId, to: directory, 'passphrase-file': path }) {
      const passphrase = (await readPassphrase(path)) ?? '';
      const { moveOut } = await import('../move/move-out.ts');
      const report = (text: string) => process.stderr.write(`${text}\n`);
      return withEngines(config, (engines) => moveOut(config, engines, { appId, directory, passphrase, report }));
    },
  }),
  command({
    name: 'application move-in',
    summary: 'load an application that another cell wrote; prints the receipt for hand-over',
    examples: ['application move-in /srv/app-7f3a --passphrase-file passphrase'],
    operand: 'DIR',
    options: { 'passphrase-file': passphraseFile },
    async run({ config, operand: directory }, { 'passphrase-file': path }) {
      const passphrase = (await readPassphrase(path)) ?? '';
      const { moveIn } = await import('../move/move-in.ts');
      return withEngines(config, ({ databaseUrl }) => moveIn(config, databaseUrl, { directory, passphrase }));
    },
  }),
  command({
    name: 'application hand-over',
    summary: 'give a moved application up for good; prints the release with which the other cell activates it',
    examples: ['application hand-over --app app-7f3a --receipt RECEIPT'],
    options: { app, receipt: required('as move-in printed it') },
    async run({ config }, { app: appId, receipt }) {
      const { handOver } = await import('../move/move-out.ts');
      return withEngines(config, ({ databaseUrl }) => handOver(databaseUrl, appId, receipt));
    },
  }),
  command({
    name: 'application activate',
    summary: 'activate an application that move-in has loaded',
    examples: ['application activate --app app-7f3a --release RELEASE'],
    options: { app, release: required('as hand-over printed it') },
    async run({ config }, { app: appId, release }) {
      const { activate } = await import('../move/move-in.ts');
      return withEngines(config, ({ databaseUrl }) => activate(databaseUrl, appId, release));
    },
  }),
  command({
    name: 'application cancel-move',
    summary: 'cancel a move before hand-over: active again in the cell that it was leaving, removed from the other',
    examples: ['application cancel-move --app app-7f3a'],
    options: { app },
    async run({ config }, { app: appId }) {
      const { cancelMove } = await import('../move/move-out.ts');
      return withEngines(config, ({ databaseUrl }) => cancelMove(databaseUrl, appId));
    },
  }),
  command({
    name: 'application purge',
    summary: 'delete what an application that was handed over has left in this cell; irreversible',
    examples: ['application purge --app app-7f3a'],
    options: { app },
    async run({ config }, { app: appId }) {
      const { purgeMoved } = await import('../move/move-out.ts');
      return withEngines(config, ({ databaseUrl }) => purgeMoved(databaseUrl, appId));
    },
  }),
];
