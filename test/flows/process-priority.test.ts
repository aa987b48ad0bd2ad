import { constants, getPriority } from 'node:os';
import { settingsFrom, spawnPlatform } from '@odograph/testkit/child-platform';
import { testConfig } from '@odograph/testkit/test-platform';
import { expect, it, onTestFinished } from 'vitest';

const { PRIORITY_BELOW_NORMAL, PRIORITY_NORMAL } = constants.priority;

it('only a process that merely ingests lowers its priority', async () => {
  const priorityOf = async (...services: string[]): Promise<number> => {
    const platform = await spawnPlatform(services, await settingsFrom(await testConfig()));
    onTestFinished(async () => void (await platform.end('SIGKILL')));
    const priority = getPriority(platform.process.pid);
    expect(await platform.end('SIGTERM')).toBe(0);
    return priority;
  };
  const priorities = await Promise.all([priorityOf('ingest'), priorityOf('ingest', 'broker')]);
  expect(priorities).toEqual([PRIORITY_BELOW_NORMAL, PRIORITY_NORMAL]);
});
