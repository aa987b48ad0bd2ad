import { readFile } from 'node:fs/promises';
import { command, optional } from '../command.ts';

const shortestPassphrase = 12;

async function readPassphrase(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const passphrase = (await readFile(path, 'utf8')).trim();
  if (passphrase.length < shortestPassphrase) {
    throw new Error(`the passphrase in ${path} has fewer than ${shortestPassphrase} characters`);
  }
  return passphrase;
}

/** Backup and restore, on this host. */
export const backupCommands = [
  command({
    name: 'backup',
    summary: 'write database, settings and (encrypted) keys to one file; the platform may run',
    examples: ['backup odograph.tar --passphrase-file passphrase'],
    operand: 'FILE',
    options: {
      'passphrase-file': optional(
        'file with the passphrase that encrypts the keys; without it they are left out',
        'file',
      ),
    },
    async run({ config, operand }, options) {
      const passphrase = await readPassphrase(options['passphrase-file']);
      const [{ createBackup }, { openEngines }] = await Promise.all([
        import('../backup/backup.ts'),
        import('../engines.ts'),
      ]);
      const engines = await openEngines(config);
      try {
        return await createBackup(config, engines, operand, passphrase);
      } finally {
        await engines.stop();
      }
    },
  }),
  command({
    name: 'restore',
    summary: 'restore a backup into an empty installation; the platform must be stopped',
    examples: ['restore odograph.tar --passphrase-file passphrase'],
    operand: 'FILE',
    options: { 'passphrase-file': optional('file with the passphrase of the keys', 'file') },
    async run({ config, operand }, options) {
      const passphrase = await readPassphrase(options['passphrase-file']);
      const [{ restoreBackup }, { openEngines }] = await Promise.all([
        import('../backup/restore.ts'),
        import('../engines.ts'),
      ]);
      const engines = await openEngines(config);
      try {
        if (engines.arePlatforms) throw new Error('stop the platform first');
        return await restoreBackup(config, engines, operand, passphrase);
      } finally {
        await engines.stop();
      }
    },
  }),
];
