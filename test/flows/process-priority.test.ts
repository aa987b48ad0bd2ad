import { constants, getPriority } from 'node:os';
import { settingsFrom, spawnPlatform } from '@odograph/testkit/child-platform';
import { testConfig } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createSeparateDatabase, type SeparateDatabase } from '../faults/parts/separate-database.fixture.ts';

const { PRIORITY_BELOW_NORMAL, PRIORITY_NORMAL } = constants.priority;

// The embedded engine has one session: on a shared one, a statement of another test could delay the shutdown.
let database: SeparateDatabase;
beforeAll(async () => {
  database = await createSeparateDatabase();
}, 180_000);
afterAll(() => database?.drop());

it.each([
  [['ingest'], PRIORITY_BELOW_NORMAL],
  [['ingest', 'broker'], PRIORITY_NORMAL],
])(
  '%j in one process run at priority %i: only a process that merely ingests lowers its priority',
  async (services, priority) => {
    const platform = await spawnPlatform(
      services,
      await settingsFrom(await testConfig({ DATABASE_URL: database.url })),
    );
    onTestFinished(async () => void (await platform.end('SIGKILL')));
    expect(getPriority(platform.process.pid)).toBe(priority);
    expect(await platform.end('SIGTERM')).toBe(0);
  },
);
