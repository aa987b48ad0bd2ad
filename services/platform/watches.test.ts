import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { eventually } from '@odograph/testkit/eventually';
import { afterEach, beforeEach, describe, expect, it, type TestContext } from 'vitest';
import { watchDataDirectory } from './platform.ts';
import { checkDataDirectory } from './start-checks.ts';

let disk: string;
let isMounted = false;

const mount = (options: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', disk]).status === 0;

beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), 'odograph-disk-'));
  isMounted = mount('size=1m');
});
afterEach(async () => {
  if (isMounted) spawnSync('umount', [disk]);
  await rmdir(disk);
});

/** Only root may mount a disk of its own. */
function requireMount({ skip }: TestContext): void {
  if (!isMounted) skip('needs the right to mount');
}

const remount = (way: 'ro' | 'rw') => spawnSync('mount', ['-o', `remount,${way}`, disk]);
const fill = () => writeFile(join(disk, 'fill'), Buffer.alloc(2 * 1024 ** 2)).catch(() => undefined);

describe('a data directory', () => {
  it('on a read-only file system is named, with its parent or without', async (context) => {
    requireMount(context);
    remount('ro');
    for (const directory of [join(disk, 'data'), join(disk, 'parent', 'data')]) {
      await expect(checkDataDirectory(readConfig({ DATA_DIR: directory }))).rejects.toThrow(
        `DATA_DIR: ${directory} is on a read-only file system`,
      );
    }
  });

  it('on a full disk is named', async (context) => {
    requireMount(context);
    await fill();
    await expect(checkDataDirectory(readConfig({ DATA_DIR: disk }))).rejects.toThrow(
      `DATA_DIR: ${disk} is on a full disk`,
    );
  });

  it('can be used again after a process was killed during its check', async () => {
    const config = readConfig({ DATA_DIR: disk });
    const probe = join(disk, `.write-check-${process.pid}`);
    await writeFile(probe, 'left behind');
    await expect(checkDataDirectory(config)).resolves.toBeUndefined();
  });

  it('whose disk fills while running is logged once and turns /health red until there is space', async (context) => {
    requireMount(context);
    const lines: { level: number; msg: string }[] = [];
    const logger = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
    const stops: (() => unknown)[] = [];
    const onStop = (_name: string, stop: () => unknown) => void stops.push(stop);
    const watch = watchDataDirectory({ logger, onStop }, readConfig({ DATA_DIR: disk }), 20);
    const messages = () => lines.map(({ level, msg }) => [level, msg]);
    const full = `DATA_DIR: ${disk} is on a full disk`;
    await fill();
    await eventually(async () => expect(watch.health()).toEqual({ ok: false, state: full }));
    await rm(join(disk, 'fill'));
    await eventually(async () => expect(watch.health()).toEqual({ ok: true, state: 'writable' }));
    remount('ro');
    await eventually(async () => expect(watch.health()).toMatchObject({ ok: false }));
    expect(messages()).toEqual([
      [50, full],
      [30, 'data directory writable'],
      [50, `DATA_DIR: ${disk} is on a read-only file system`],
    ]);
    for (const stop of stops) stop();
  });
});
