import { findFreePort } from '@odograph/embedded/free-port';
import { type ChildScript, type ProcessUsage, startScript } from './child-script.ts';
import type { Engines } from './engines.ts';
import type { BenchFleet } from './fleet.ts';
import type { GeneratorSettings } from './load-generator.ts';
import { startServices } from './service-process.ts';

/** Something that takes the load, running. */
export interface Contender {
  readonly name: string;
  readonly port: number;
  /** Where its rows arrive; undefined when it keeps none. */
  readonly table: 'reading' | 'bare_reading' | undefined;
  readonly generator: ChildScript;
  /** Its processes by name. */
  readonly processes: Readonly<Record<string, () => Promise<ProcessUsage>>>;
}

export interface LoadShape {
  connections: number;
  inFlight: number;
}

const usageOf = (script: ChildScript) => () => script.ask<ProcessUsage>({ kind: 'usage' });

async function openScript(engines: Engines, file: URL, settings: object): Promise<ChildScript> {
  const script = await startScript(file, settings);
  engines.onStop(file.pathname, script.stop);
  return script;
}

/** Connections of the load; they stay open over the rounds. */
function openGenerator(engines: Engines, fleet: BenchFleet, port: number, shape: LoadShape): Promise<ChildScript> {
  const deviceIds = fleet.vehicles.slice(0, shape.connections).map(({ deviceId }) => deviceId);
  const settings: GeneratorSettings = { port, deviceIds, secret: fleet.secret, inFlight: shape.inFlight };
  return openScript(engines, new URL('./load-generator.ts', import.meta.url), settings);
}

/** Broker and ingest as processes of their own. */
export async function startOdograph(
  engines: Engines,
  fleet: BenchFleet,
  shape: LoadShape & { ingestProcesses: number; profile: string },
): Promise<Contender> {
  const { profile } = shape;
  const broker = await startServices(engines, ['broker'], { profile });
  const ingest: [string, () => Promise<ProcessUsage>][] = [];
  for (let index = 1; index <= shape.ingestProcesses; index += 1) {
    ingest.push([`ingest ${index}`, (await startServices(engines, ['ingest'], { profile })).usage]);
  }
  const generator = await openGenerator(engines, fleet, broker.mqttPort, shape);
  return {
    name: 'odograph',
    port: broker.mqttPort,
    table: 'reading',
    generator,
    processes: { broker: broker.usage, ...Object.fromEntries(ingest), generator: usageOf(generator) },
  };
}

/** aedes, a job for each micro-batch, JSON.parse, one insert: what the engines can do when nobody checks anything. */
export async function startBarePipeline(engines: Engines, fleet: BenchFleet, shape: LoadShape): Promise<Contender> {
  await engines.pool.query('create table bare_reading (like reading including defaults)');
  await engines.pool.query(
    "select create_hypertable('bare_reading', by_range('time', interval '1 day'), create_default_indexes => false)",
  );
  await engines.pool.query('alter table bare_reading add primary key (vehicle_id, time)');
  await engines.pool.query('create index on bare_reading (application_id, time, vehicle_id)');
  const { redisUrl, databaseUrl } = engines;
  const port = await findFreePort();
  const settings = { port, redisUrl, databaseUrl, prefix: `${engines.queuePrefix}-bare` };
  const worker = await openScript(engines, new URL('./bare-worker.ts', import.meta.url), settings);
  const broker = await openScript(engines, new URL('./bare-broker.ts', import.meta.url), settings);
  const generator = await openGenerator(engines, fleet, port, shape);
  return {
    name: 'bare pipeline',
    port,
    table: 'bare_reading',
    generator,
    processes: { broker: usageOf(broker), worker: usageOf(worker), generator: usageOf(generator) },
  };
}

/** aedes with nothing behind it: how fast MQTT alone is, and more than the load generator will ever have to give. */
export async function startBareAedes(engines: Engines, fleet: BenchFleet, shape: LoadShape): Promise<Contender> {
  const port = await findFreePort();
  const broker = await openScript(engines, new URL('./bare-aedes.ts', import.meta.url), { port });
  const generator = await openGenerator(engines, fleet, port, shape);
  return {
    name: 'bare aedes',
    port,
    table: undefined,
    generator,
    processes: { broker: usageOf(broker), generator: usageOf(generator) },
  };
}
