import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

/** Defaults of the full-length run; each is a command-line option, such as `--rounds 50`. */
const long = {
  seed: 1,
  rounds: 12,
  devices: 200,
  uploadPauseMs: 20,
  chaosRounds: 50,
  stormDevices: 10_000,
  backlogReadings: 604_800,
  awayMs: 120_000,
  strangerConnections: 18_000,
  strangerDescriptors: 8192,
  installationMs: 120_000,
};

/**
 * Runs the faults suite at full length: `npm run test:faults -- [--rounds N …] [--minutes N] [--report FILE] [file name filter …]`.
 * With `--minutes` it repeats, with another seed each time, until the time is over or a test fails; an hour of fuzzing every
 * interface is `npm run test:faults -- --minutes 60 fuzz`.
 */
async function main(): Promise<void> {
  const names = Object.keys(long) as (keyof typeof long)[];
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      report: { type: 'string' },
      minutes: { type: 'string', default: '0' },
      ...Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
    },
  });
  const faults = { ...long, isFullLength: true };
  for (const name of names) {
    const given = (values as Record<string, string | undefined>)[name];
    if (given === undefined) continue;
    if (!/^\d+$/.test(given)) throw new Error(`--${name} must be a whole number`);
    faults[name] = Number(given);
  }
  const faultReport = resolve(values.report ?? join(mkdtempSync(join(tmpdir(), 'odograph-faults-')), 'figures.jsonl'));
  writeFileSync(faultReport, '');
  const filters = positionals.length > 0 ? positionals.map((name) => `test/faults/${name}`) : ['test/faults/'];
  if (!/^\d+$/.test(values.minutes)) throw new Error('--minutes is a whole number');
  const end = performance.now() + Number(values.minutes) * 60_000;
  do {
    const vitest = await startVitest('test', filters, {
      watch: false,
      fileParallelism: false,
      provide: { faults, faultReport },
    });
    await vitest.close();
    faults.seed += 1;
  } while (performance.now() < end && !process.exitCode);
  console.log(`\nfigures (${faultReport}):\n${readFileSync(faultReport, 'utf8')}`);
}

await main();
