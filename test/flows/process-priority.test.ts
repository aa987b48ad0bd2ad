import { constants, getPriority } from 'node:os';
import { settingsFrom, spawnPlatform } from '@odograph/testkit/child-platform';
import { testConfig } from '@odograph/testkit/test-platform';
import { expect, it, onTestFinished } from 'vitest';

const { PRIORITY_BELOW_NORMAL, PRIORITY_NORMAL } = constants.priority;

it.each([
  [['ingest'], PRIORITY_BELOW_NORMAL],
  [['ingest', 'broker'], PRIORITY_NORMAL],
])(
  '%j in one process run at priority %i: only a process that merely ingests lowers its priority',
  async (services, priority) => {
    const platform = await spawnPlatform(services, await settingsFrom(await testConfig()));
    onTestFinished(async () => void (await platform.end('SIGKILL')));
    expect(getPriority(platform.process.pid)).toBe(priority);
    expect(await platform.end('SIGTERM')).toBe(0);
  },
);
