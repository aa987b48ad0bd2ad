import { type Benchmark, UsageError } from './parts/benchmark.ts';

/** Files of this folder, loaded on demand. */
const names = [
  ...['all', 'ingest', 'history', 'export', 'latest', 'command', 'connections', 'storage', 'growth', 'alarms'],
  ...['soak', 'streams', 'screens', 'gateway', 'codecs', 'webhooks', 'scaling', 'model'],
];

async function load(name: string): Promise<Benchmark> {
  if (!names.includes(name)) throw new UsageError(`unknown benchmark ${name}; the benchmarks are ${names.join(', ')}`);
  return ((await import(`./${name}.ts`)) as { benchmark: Benchmark }).benchmark;
}

try {
  const [wanted, ...parameters] = process.argv.slice(2);
  if (wanted !== undefined && wanted !== '--help') await (await load(wanted)).run(parameters);
  else {
    console.log('npm run bench -- NAME [options]; --help after a name lists its options\n');
    for (const name of names) console.log(`${name.padEnd(12)} ${(await load(name)).description}`);
  }
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  process.exitCode = error instanceof UsageError && error.isHelp ? 0 : 1;
}
