import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@odograph/testkit/free-port';
import type { BareSettings, QueueSettings } from './bare-broker.ts';
import type { Engines, Pool } from './engines.ts';
import type { BenchFleet } from './fleet.ts';
import type { GeneratorSettings, LoadPlan, LoadResult } from './load-generator.ts';
import { startProbe } from './mqtt.ts';
import { type Process, type ScriptProcess, startScript, startServices } from './processes.ts';
import { TimeHistogram } from './report.ts';

/** A running system under load. */
export interface Contender {
  readonly port: number;
  /** Table of its rows; undefined when it stores none. */
  readonly table: 'reading' | 'bare_reading' | undefined;
  /** Generates the load; its connections stay open between rounds. */
  readonly generator: ScriptProcess;
  readonly shape: LoadShape;
  /** Its processes by name, including the load generator. */
  readonly processes: Readonly<Record<string, Process>>;
  /** Stops the load generator first. */
  stop(): Promise<void>;
}

export interface LoadShape {
  connections: number;
  inFlight: number;
  /** Readings of an upload; 1 when undefined. */
  readings?: number;
}

/** Connects the load generator to the broker of a system. */
async function load(
  engines: Engines,
  fleet: BenchFleet,
  shape: LoadShape,
  { port, table, parts }: Pick<Contender, 'port' | 'table'> & { parts: Readonly<Record<string, Process>> },
): Promise<Contender> {
  const { connections, inFlight, readings = 1 } = shape;
  const deviceIds = fleet.vehicles.slice(0, connections).map(({ deviceId }) => deviceId);
  const settings: GeneratorSettings = { port, deviceIds, secret: fleet.secret, inFlight, readings };
  const generator = await startScript(engines, 'load-generator', settings);
  const stop = async (): Promise<void> => {
    for (const process of [generator, ...Object.values(parts)]) await process.stop();
  };
  return { port, table, generator, shape, processes: { ...parts, generator }, stop };
}

/** Starts a broker and ingest processes with a shard each. @param ingestDatabaseUrl how ingest reaches the database */
export async function startOdograph(
  engines: Engines,
  fleet: BenchFleet,
  shape: LoadShape,
  ingestProcesses = 1,
  ingestDatabaseUrl = engines.databaseUrl,
): Promise<Contender> {
  const shards = { UPLOAD_SHARDS: String(ingestProcesses) };
  const broker = await startServices(engines, ['broker'], shards);
  const parts: Record<string, Process> = { broker };
  for (let index = 1; index <= ingestProcesses; index += 1) {
    parts[`ingest ${index}`] = await startServices(engines, ['ingest'], { ...shards, DATABASE_URL: ingestDatabaseUrl });
  }
  return load(engines, fleet, shape, { port: broker.mqttPort, table: 'reading', parts });
}

/** Starts a process of aedes, which acknowledges every upload, or queues it. */
export async function startAedes(engines: Engines, queue?: QueueSettings): Promise<ScriptProcess & { port: number }> {
  const settings: BareSettings = { port: await freePort(), ...(queue && { queue }) };
  return { ...(await startScript(engines, 'bare-broker', settings)), port: settings.port };
}

/** Starts the reference pipeline, the limit of the engines: aedes, a job per batch, JSON.parse, one insert, no checks. */
export async function startBarePipeline(engines: Engines, fleet: BenchFleet, shape: LoadShape): Promise<Contender> {
  const { pool, redisUrl, databaseUrl } = engines;
  await pool.query('create table bare_reading (like reading including defaults)');
  await pool.query(
    "select create_hypertable('bare_reading', by_range('time', interval '1 day'), create_default_indexes => false)",
  );
  await pool.query('alter table bare_reading add primary key (vehicle_id, time)');
  await pool.query('create index on bare_reading (application_id, time, vehicle_id)');
  const settings: QueueSettings = { redisUrl, databaseUrl, prefix: `${engines.queuePrefix}-bare` };
  const worker = await startScript(engines, 'bare-worker', settings);
  const broker = await startAedes(engines, settings);
  return load(engines, fleet, shape, { port: broker.port, table: 'bare_reading', parts: { broker, worker } });
}

/** Starts aedes alone: the limit of MQTT and of the load generator. */
export async function startBareAedes(engines: Engines, fleet: BenchFleet, shape: LoadShape): Promise<Contender> {
  const broker = await startAedes(engines);
  return load(engines, fleet, shape, { port: broker.port, table: undefined, parts: { broker } });
}

/** Empties the tables that a load fills, so that every round starts from the same state. */
export async function clearTables(pool: Pool, { table }: Contender): Promise<void> {
  if (table === 'reading') await pool.query('truncate reading, reading_change, vehicle_latest');
  else if (table !== undefined) await pool.query(`truncate ${table}`);
  await pool.query('checkpoint');
}

const pollMs = 5;
const timeoutMs = 300_000;

/**
 * Counts the rows of a load. No index begins with the time: the condition on the application makes one usable.
 * @param sinceMs UNIX milliseconds
 */
async function countRows(pool: Pool, table: string, sinceMs: number): Promise<number> {
  const statement = `select count(*) from ${table}
    where application_id = any(array(select id from application)) and time >= to_timestamp($1)`;
  const { rows } = await pool.query<{ count: number }>(statement, [(sinceMs - 0.5) / 1000]);
  return rows[0]?.count ?? 0;
}

/**
 * Waits until every row of a load is visible: first polls for the last reading of each device, which is cheap, then counts
 * all rows. @returns the time at which the count that saw every row began, UNIX milliseconds
 */
async function lastRowAt(
  pool: Pool,
  { table = 'reading', shape: { connections, readings = 1 } }: Contender,
  { firstTimestampMs, stepMs, uploads }: LoadPlan,
): Promise<number> {
  const expected = uploads * readings;
  const last = Math.floor(firstTimestampMs + (Math.floor(expected / connections) - 1) * stepMs);
  for (const end = Date.now() + timeoutMs; ; await delay(pollMs)) {
    const isOver = Date.now() > end;
    if (!isOver && (await countRows(pool, table, last)) < connections) continue;
    const countedAt = performance.timeOrigin + performance.now();
    const count = await countRows(pool, table, firstTimestampMs);
    if (count === expected) return countedAt;
    if (count > expected || isOver) throw new Error(`${count} rows of ${expected} readings`);
  }
}

async function readCpu({ processes }: Contender): Promise<Record<string, number>> {
  const entries = Object.entries(processes);
  const usages = await Promise.all(entries.map(([, { usage }]) => usage()));
  return Object.fromEntries(entries.map(([name], index) => [name, usages[index]?.cpuSeconds ?? 0]));
}

/**
 * Builds a load whose device times are the times of sending, at full speed slightly older.
 * @param uploads rounded to a multiple of the connections, so that every device has the same last reading
 * @param rate uploads per second; 0 sends as fast as PUBACKs arrive
 * @param ageMs how much older the device times are
 */
export function planLoad(uploads: number, rate: number, { connections }: LoadShape, ageMs = 0): LoadPlan {
  const stepMs = rate === 0 ? 1 : Math.max(1, (connections * 1000) / rate);
  const whole = Math.max(1, Math.round(uploads / connections)) * connections;
  return { uploads: whole, rate, firstTimestampMs: Date.now() - ageMs, stepMs };
}

export interface Measured extends LoadResult {
  /** Until the last row is visible; without a table, until the last PUBACK. */
  readonly uploadsPerSecond: number;
  /** CPU seconds per million uploads, by process. */
  readonly cpuSecondsPerMillion: Readonly<Record<string, number>>;
}

/** Runs one round of one contender. */
export async function measureLoad(pool: Pool, contender: Contender, plan: LoadPlan): Promise<Measured> {
  const before = await readCpu(contender);
  const result = await contender.generator.ask<LoadResult>({ kind: 'load', ...plan });
  const endMs = contender.table ? await lastRowAt(pool, contender, plan) : result.lastPubackAtMs;
  const after = await readCpu(contender);
  return {
    ...result,
    uploadsPerSecond: (plan.uploads * 1000) / (endMs - result.firstPublishAtMs),
    cpuSecondsPerMillion: Object.fromEntries(
      Object.entries(after).map(([name, seconds]) => [name, ((seconds - (before[name] ?? 0)) * 1e6) / plan.uploads]),
    ),
  };
}

const probeMs = 10;
const lagTimeoutMs = 10_000;

/**
 * Measures lag during a load: one more device uploads a hundred readings per second, and a query polls for their rows every
 * 10 ms. Lag is from the write of the PUBLISH to the socket until the answer of a statement that sees the row.
 * @param beforeMs UNIX milliseconds; the probe's device times lie in the 100 s before, apart from those of the load
 * @returns stops after the uploads in flight; resolves with the lags
 */
export async function startLagProbe(
  pool: Pool,
  { port, table }: Contender,
  device: { deviceId: string; vehicleId: number; secret: string },
  beforeMs: number,
): Promise<() => Promise<TimeHistogram>> {
  const histogram = new TimeHistogram();
  const sentAt = new Map<number, number>();
  const timeOf = (sent: number): number => {
    const timeMs = beforeMs - 100_000 + sent;
    sentAt.set(timeMs, performance.now());
    return timeMs;
  };
  const probe = await startProbe({ port, clientId: device.deviceId, password: device.secret }, probeMs, { timeOf });
  const look = async (): Promise<void> => {
    const [oldest] = sentAt.keys();
    if (oldest === undefined) return;
    const { rows } = await pool.query<{ ms: number }>(
      `select round(extract(epoch from time) * 1000)::bigint as ms from ${table} where vehicle_id = $1 and time >= to_timestamp($2)`,
      [device.vehicleId, oldest / 1000 - 0.0005],
    );
    const seenAt = performance.now();
    for (const { ms } of rows) {
      const at = sentAt.get(ms);
      if (at !== undefined) histogram.record(seenAt - at);
      sentAt.delete(ms);
    }
  };
  let endMs = Number.POSITIVE_INFINITY;
  const watch = async (): Promise<void> => {
    for (; endMs === Number.POSITIVE_INFINITY || (sentAt.size > 0 && Date.now() < endMs); await delay(probeMs)) {
      await look();
    }
  };
  const watching = watch();
  return async () => {
    probe.stop();
    endMs = Date.now() + lagTimeoutMs;
    await watching;
    probe.close();
    if (sentAt.size > 0) throw new Error(`${sentAt.size} readings of the probe were not stored in time`);
    return histogram;
  };
}
