import type { Database } from '@odograph/database/database';
import type { Config } from '@odograph/runtime/config';
import { command, flag, optional, required } from '../command.ts';
import { UsageFailure } from '../failures.ts';

const login = required('name of the database user');

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
      const { createReportLogin } = await import('../reports.ts');
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
      const { listReportLogins } = await import('../reports.ts');
      return asOwner(config, async (db) => ({ logins: await listReportLogins(db) }));
    },
  }),
  command({
    name: 'reports rotate',
    summary: 'replace the password of a database user for reports; the new one is shown only once',
    options: { login },
    examples: ['reports rotate --login grafana'],
    async run({ config }, options) {
      const { rotateReportLogin } = await import('../reports.ts');
      return asOwner(config, async (db) => rotateReportLogin(db, options.login));
    },
  }),
  command({
    name: 'reports delete',
    summary: 'delete a database user for reports; its sessions end',
    options: { login },
    examples: ['reports delete --login grafana'],
    async run({ config }, options) {
      const { deleteReportLogin } = await import('../reports.ts');
      return asOwner(config, async (db) => {
        await deleteReportLogin(db, options.login);
        return {};
      });
    },
  }),
];
