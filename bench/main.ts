import { UsageError } from './parts/options.ts';

interface Benchmark {
  /** One line for the list of benchmarks. */
  readonly description: string;
  run(parameters: readonly string[]): Promise<void>;
}

/** Every benchmark; modules are loaded on demand. */
const benchmarks: Record<string, () => Promise<Benchmark>> = {
  all: () => import('./all.ts'),
  ingest: () => import('./ingest.ts'),
  history: () => import('./history.ts'),
  export: () => import('./export.ts'),
  latest: () => import('./latest.ts'),
  command: () => import('./command.ts'),
  connections: () => import('./connections.ts'),
  storage: () => import('./storage.ts'),
  growth: () => import('./growth.ts'),
  trips: () => import('./trips.ts'),
  alarms: () => import('./alarms.ts'),
  soak: () => import('./soak.ts'),
  console: () => import('./console.ts'),
  gateway: () => import('./gateway.ts'),
  codecs: () => import('./codecs.ts'),
  webhooks: () => import('./webhooks.ts'),
};

async function list(): Promise<void> {
  console.log('npm run bench -- NAME [options]; --help after a name lists its options\n');
  for (const [name, load] of Object.entries(benchmarks))
    console.log(`${name.padEnd(12)} ${(await load()).description}`);
}

async function main([name, ...parameters]: readonly string[]): Promise<void> {
  if (name === undefined) return list();
  const load = Object.hasOwn(benchmarks, name) ? benchmarks[name] : undefined;
  if (!load) {
    throw new UsageError(`unknown benchmark ${name}; the benchmarks are ${Object.keys(benchmarks).join(', ')}`);
  }
  return (await load()).run(parameters);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  process.exitCode = error instanceof UsageError && error.isHelp ? 0 : 1;
}
