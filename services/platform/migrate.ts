import { InvalidSettings, readConfig } from '@odograph/runtime/config';
import { checkDatabase, migrateDatabase, migrationSetting, StartFailure } from './start-checks.ts';

/** The database may start at the same time. */
const timeoutMs = 30_000;

/** Migrates the database of MIGRATION_DATABASE_URL, else of DATABASE_URL, and exits. */
async function main(): Promise<void> {
  const config = readConfig();
  const setting = migrationSetting(config);
  const url = config[setting];
  if (url === undefined) throw new InvalidSettings(['MIGRATION_DATABASE_URL: is required']);
  await checkDatabase(setting, url, timeoutMs);
  const applied = await migrateDatabase(setting, url, (name) =>
    process.stderr.write(`migration ${name} is waiting for locks\n`),
  );
  process.stdout.write(`${JSON.stringify({ applied })}\n`);
}

main().catch((error: unknown) => {
  const isExpected = error instanceof InvalidSettings || error instanceof StartFailure;
  process.stderr.write(`${isExpected ? error.message : String((error as Error)?.stack ?? error)}\n`);
  process.exit(1);
});
