import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** One database for each worker of the run. */
    databaseUrls: readonly string[];
    /** Whether the databases are on a TimescaleDB server; the embedded engine has one session and no background jobs. */
    isNativeDatabase: boolean;
  }
}

/** Returns the address of the database that the test files of this worker share, one after the other. */
export function testDatabaseUrl(): string {
  const url = inject('databaseUrls')[Number(process.env['VITEST_POOL_ID']) - 1];
  if (url === undefined) throw new Error(`worker ${process.env['VITEST_POOL_ID']} of the run has no database`);
  return url;
}
