import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { command, flag, optional } from '../command.ts';
import { exitCodes } from '../failures.ts';

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
      overwrite: flag('replace FILE if it exists'),
    },
    async run({ config, operand }, options) {
      if (existsSync(operand) && !options.overwrite) {
        throw new Error(`${operand} exists: name another file, or give --overwrite`);
      }
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
    summary: 'restore a backup of this or an older version into an empty installation; the platform must be stopped',
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
        const report = await restoreBackup(config, engines, operand, passphrase);
        if (!report.isAuditIntact) {
          process.stderr.write(`odograph: everything is restored, but the audit was changed: ${report.audit}\n`);
          process.exitCode = exitCodes.failed;
        }
        return report;
      } finally {
        await engines.stop();
      }
    },
  }),
];
