import { findFreePort } from '@odograph/embedded/process/free-port';
import { type ChildScript, type ProcessUsage, startScript } from './child-script.ts';
import type { Engines } from './engines.ts';
import type { BenchFleet } from './fleet.ts';
import type { GeneratorSettings } from './load-generator.ts';
import { startServices } from './service-process.ts';
import { startTelegraf, telegrafTable } from './telegraf.ts';

/** A running system under load. */
export interface Contender {
  readonly name: string;
  readonly port: number;
  /** Table of its rows; undefined when it stores none. */
  readonly table: 'reading' | 'bare_reading' | typeof telegrafTable | undefined;
  readonly generator: ChildScript;
  /** Its processes by name, including the load generator. */
  readonly processes: Readonly<Record<string, Part>>;
  stop(): Promise<void>;
}

interface Part {
  usage(): Promise<ProcessUsage>;
  stop(): Promise<void>;
}

export interface LoadShape {
  connections: number;
  inFlight: number;
  /** Readings of an upload; 1 when undefined. */
  readings?: number;
}

const partOf = (script: ChildScript): Part => ({
  usage: () => script.ask<ProcessUsage>({ kind: 'usage' }),
  stop: script.stop,
});

async function openScript(engines: Engines, file: URL, settings: object): Promise<ChildScript> {
  const script = await startScript(file, settings);
  engines.onStop(file.pathname, script.stop);
  return script;
}

/** Starts the load generator, whose connections stay open between rounds. */
function openGenerator(engines: Engines, fleet: BenchFleet, port: number, shape: LoadShape): Promise<ChildScript> {
  const { connections, inFlight, readings = 1 } = shape;
  const deviceIds = fleet.vehicles.slice(0, connections).map(({ deviceId }) => deviceId);
  const settings: GeneratorSettings = { port, deviceIds, secret: fleet.secret, inFlight, readings };
  return openScript(engines, new URL('./load-generator.ts', import.meta.url), settings);
}

/** Combines the parts of a contender; `stop` stops the load generator first. */
function contender(
  kind: Pick<Contender, 'name' | 'port' | 'table'>,
  generator: ChildScript,
  parts: Readonly<Record<string, Part>>,
): Contender {
  return {
    ...kind,
    generator,
    processes: { ...parts, generator: partOf(generator) },
    async stop() {
      await generator.stop();
      for (const { stop } of Object.values(parts)) await stop();
    },
  };
}

/** Starts broker and ingest, each in a child process. */
export async function startOdograph(
  engines: Engines,
  fleet: BenchFleet,
  shape: LoadShape & { ingestProcesses: number; profile: string },
): Promise<Contender> {
  const { profile, ingestProcesses } = shape;
  const broker = await startServices(engines, ['broker'], { profile });
  const parts: Record<string, Part> = { broker };
  for (let index = 1; index <= ingestProcesses; index += 1) {
    parts[`ingest ${index}`] = await startServices(engines, ['ingest'], { profile });
  }
  const generator = await openGenerator(engines, fleet, broker.mqttPort, shape);
  return contender({ name: 'odograph', port: broker.mqttPort, table: 'reading' }, generator, parts);
}

/** Starts the reference pipeline, the limit of the engines: aedes, a job per batch, JSON.parse, one insert, no checks. */
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
  const parts = { broker: partOf(broker), worker: partOf(worker) };
  return contender({ name: 'bare pipeline', port, table: 'bare_reading' }, generator, parts);
}

/** Starts aedes alone: the limit of MQTT and of the load generator. */
export async function startBareAedes(engines: Engines, fleet: BenchFleet, shape: LoadShape): Promise<Contender> {
  const port = await findFreePort();
  const broker = await openScript(engines, new URL('./bare-aedes.ts', import.meta.url), { port });
  const generator = await openGenerator(engines, fleet, port, shape);
  return contender({ name: 'bare aedes', port, table: undefined }, generator, { broker: partOf(broker) });
}

/** Starts aedes with Telegraf, which writes to PostgreSQL; its PUBACKs do not imply durability. */
export async function startTelegrafPipeline(
  engines: Engines,
  fleet: BenchFleet,
  shape: LoadShape,
  program: string,
): Promise<Contender> {
  const port = await findFreePort();
  const broker = await openScript(engines, new URL('./bare-aedes.ts', import.meta.url), { port });
  const telegraf = await startTelegraf(engines, program, port);
  const generator = await openGenerator(engines, fleet, port, shape);
  return contender({ name: 'Telegraf', port, table: telegrafTable }, generator, { broker: partOf(broker), telegraf });
}
