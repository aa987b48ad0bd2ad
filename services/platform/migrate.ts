import { migrate } from '@odograph/database/migrate';
import { InvalidSettings, readConfig } from '@odograph/runtime/config';

/** Brings the database of MIGRATION_DATABASE_URL, else of DATABASE_URL, to the newest migration, and ends. */
async function main(): Promise<void> {
  const config = readConfig();
  const url = config.MIGRATION_DATABASE_URL ?? config.DATABASE_URL;
  if (url === undefined) throw new InvalidSettings(['MIGRATION_DATABASE_URL: is needed']);
  const applied = await migrate(url, {
    onWait: (name) => process.stderr.write(`${name} waits for others to release their locks\n`),
  });
  process.stdout.write(`${JSON.stringify({ applied })}\n`);
}

main().catch((error: unknown) => {
  const text = error instanceof InvalidSettings ? error.message : String((error as Error)?.stack ?? error);
  process.stderr.write(`${text}\n`);
  process.exit(1);
});
