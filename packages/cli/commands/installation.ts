import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Database } from '@odograph/database/database';
import type { Config } from '@odograph/runtime/config';
import type { Check } from '../doctor/check.ts';
import { exitCodes, UsageFailure } from '../server/admin-api.ts';
import { command, flag, optional, required } from './command.ts';

const minPassphraseLength = 12;

export async function readPassphrase(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const passphrase = (await readFile(path, 'utf8')).trim();
  if (passphrase.length < minPassphraseLength) {
    throw new Error(`the passphrase in ${path} has fewer than ${minPassphraseLength} characters`);
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
        import('../installation/engines.ts'),
      ]);
      const engines = await openEngines(config);
      try {
        const report = await createBackup(config, engines, operand, passphrase);
        if (report.lacksKeys) {
          process.stderr.write(`odograph: the backup is written, but its keys are ${report.keys}\n`);
          process.exitCode = exitCodes.failed;
        }
        return report;
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
        import('../installation/engines.ts'),
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

const lineOf = ({ check, result, detail, remedy }: Check): string =>
  `${result.toUpperCase().padEnd(8)}${check.padEnd(32)}${detail}${remedy ? `; ${remedy}` : ''}\n`;

/** Diagnosis of a deployment. */
export const doctorCommands = [
  command({
    name: 'doctor',
    summary:
      'check engines, settings, clocks, disks, queues, database roles and certificates; exits with 1 when one has a fault',
    examples: ['doctor', `doctor --json | jq '.[] | select(.result != "ok")'`],
    async run({ config, localUrl }) {
      // The drivers of the engines take as long to load as all the rest.
      const { diagnose } = await import('../doctor/diagnose.ts');
      const checks = await diagnose(config, config.ODOGRAPH_URL ?? localUrl);
      if (checks.some(({ result }) => result === 'fault')) process.exitCode = 1;
      return checks;
    },
    format: (checks) => (checks as Check[]).map(lineOf).join(''),
  }),
];

const reportLogin = required('name of the database user');

/** Runs something as the owner of the tables. @throws Error on the embedded database, where every user is the superuser */
async function asOwner<Result>(config: Config, run: (db: Database, url: URL) => Promise<Result>): Promise<Result> {
  const url = config.MIGRATION_DATABASE_URL ?? config.DATABASE_URL;
  if (url === undefined) {
    throw new Error('set MIGRATION_DATABASE_URL: the embedded database has no users besides its superuser');
  }
  const { openDatabase } = await import('@odograph/database/database');
  const db = openDatabase({ url, name: 'reports', size: 1 });
  try {
    return await run(db, new URL(url));
  } finally {
    await db.destroy();
  }
}

/** Where a tool connects to. */
const addressOf = ({ hostname, port, pathname }: URL) => ({
  ...{ host: hostname, port: Number(port || 5432), database: pathname.slice(1) },
});

/** Database users for Grafana and BI tools. */
export const reportCommands = [
  command({
    name: 'reports create',
    summary: 'create a database user that reads the views of the schema fleet; its password is shown only once',
    options: {
      app: optional('appId of the application that it sees'),
      'all-apps': flag('it sees all applications'),
      login: optional('name of the database user; a random one without it'),
    },
    examples: ['reports create --app app-7f3a', 'reports create --all-apps --login grafana'],
    async run({ config }, { app, login: name, ...options }) {
      if ((app === undefined) === !options['all-apps']) throw new UsageFailure('give either --app or --all-apps');
      const { createReportLogin } = await import('../installation/report-logins.ts');
      return asOwner(config, async (db, url) => ({
        ...(await createReportLogin(db, app, name)),
        ...addressOf(url),
      }));
    },
  }),
  command({
    name: 'reports list',
    summary: 'list the database users for reports, with the application that each sees',
    examples: ['reports list'],
    async run({ config }) {
      const { listReportLogins } = await import('../installation/report-logins.ts');
      return asOwner(config, async (db) => ({ logins: await listReportLogins(db) }));
    },
  }),
  command({
    name: 'reports rotate',
    summary: 'replace the password of a database user for reports; the new one is shown only once',
    options: { login: reportLogin },
    examples: ['reports rotate --login grafana'],
    async run({ config }, options) {
      const { rotateReportLogin } = await import('../installation/report-logins.ts');
      return asOwner(config, async (db) => rotateReportLogin(db, options.login));
    },
  }),
  command({
    name: 'reports delete',
    summary: 'delete a database user for reports; its sessions end',
    options: { login: reportLogin },
    examples: ['reports delete --login grafana'],
    async run({ config }, options) {
      const { deleteReportLogin } = await import('../installation/report-logins.ts');
      return asOwner(config, async (db) => {
        await deleteReportLogin(db, options.login);
        return {};
      });
    },
  }),
];
