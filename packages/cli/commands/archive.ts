import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Config } from '@odograph/runtime/config';
import { UsageFailure } from '../server/admin-api.ts';
import { command, required } from './command.ts';

const progressMs = 2000;

/** Parses a number of whole days such as `400d`. @throws UsageFailure */
function parseDays(text: string): number {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? [];
  if (days === undefined || Number(days) === 0)
    throw new UsageFailure('--older-than must be a number of days, such as 400d');
  return Number(days);
}

/** Commands for archives of readings, on this host. */
export const archiveCommands = [
  command({
    name: 'archive',
    summary: 'move weeks of old readings to Parquet files; each is read back before its readings are dropped',
    examples: ['archive --older-than 400d --to /srv/archive', 'archive --older-than 400d --to s3://bucket/archive'],
    options: {
      'older-than': required('age of the readings in days, such as 400d; whole weeks are archived'),
      to: required('a directory, or s3://BUCKET/PREFIX with the AWS_ settings', 'file'),
    },
    async run({ config }, { 'older-than': age, to }) {
      const days = parseDays(age);
      const [{ archiveReadings }, { openStore }, { openEngines }] = await Promise.all([
        import('../archive/archive-readings.ts'),
        import('../archive/store.ts'),
        import('../installation/engines.ts'),
      ]);
      const store = openStore(to, config);
      const engines = await openEngines(config);
      try {
        return await archiveReadings(engines.databaseUrl, days, store, ({ from, until, rows, files }) =>
          process.stderr.write(`${from} to ${until}: ${rows} readings in ${files.join(', ')}\n`),
        );
      } finally {
        await engines.stop();
      }
    },
  }),
];

/** Restores an archive file from this host or a bucket. */
export async function restoreArchive(config: Config, place: string): Promise<object> {
  const [{ restoreReadings }, { openStore }, { openEngines }] = await Promise.all([
    import('../archive/restore-readings.ts'),
    import('../archive/store.ts'),
    import('../installation/engines.ts'),
  ]);
  const directory = await mkdtemp(join(tmpdir(), 'odograph-archive-'));
  const engines = await openEngines(config);
  try {
    const path = join(directory, 'read');
    await openStore(dirname(place), config).get(basename(place), path);
    let shownMs = performance.now();
    const restored = await restoreReadings(engines.databaseUrl, path, (rows) => {
      if (performance.now() - shownMs < progressMs) return;
      shownMs = performance.now();
      process.stderr.write(`${rows} rows\n`);
    });
    return { file: place, ...restored };
  } finally {
    await engines.stop();
    await rm(directory, { recursive: true, force: true });
  }
}
