import { setTimeout as delay } from 'node:timers/promises';
import type { Contender } from './contender.ts';
import type { Pool } from './engines.ts';
import { type ProbedDevice, startLagProbe } from './lag-probe.ts';
import type { LoadPlan, LoadResult } from './load-generator.ts';
import type { TimeHistogram } from './statistics.ts';

const pollMs = 5;
const timeoutMs = 300_000;

export interface Measured extends LoadResult {
  /** Until the last row is visible; without a table, until the last PUBACK. */
  uploadsPerSecond: number;
  /** CPU seconds per million uploads, by process. */
  cpuSecondsPerMillion: Record<string, number>;
  /** From PUBLISH until a query sees the row; only with a probe. */
  lag: TimeHistogram | undefined;
}

/** Counts the rows of the load. @param sinceMs UNIX milliseconds */
async function countRows(pool: Pool, table: string, sinceMs: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(`select count(*) from ${table} where time >= to_timestamp($1)`, [
    // Telegraf rounds times to a few microseconds.
    (sinceMs - 0.5) / 1000,
  ]);
  return rows[0]?.count ?? 0;
}

/**
 * Waits until every row of a load is visible: first polls for the last reading of each device, which is cheap, then counts
 * all rows. @returns the time at which the count that saw every row began, UNIX milliseconds
 */
async function lastRowAt(
  pool: Pool,
  table: string,
  { firstTimestampMs, stepMs, uploads }: LoadPlan,
  devices: number,
  readings: number,
): Promise<number> {
  const rows = uploads * readings;
  const last = Math.floor(firstTimestampMs + (Math.floor(rows / devices) - 1) * stepMs);
  const end = Date.now() + timeoutMs;
  for (;;) {
    const atEnd = await countRows(pool, table, last);
    if (atEnd >= devices) {
      const countedAt = performance.timeOrigin + performance.now();
      const count = await countRows(pool, table, firstTimestampMs);
      if (count === rows) return countedAt;
      if (count > rows) throw new Error(`${count} rows of ${rows} readings`);
    }
    if (Date.now() > end)
      throw new Error(`only ${await countRows(pool, table, firstTimestampMs)} of ${rows} rows arrived`);
    await delay(pollMs);
  }
}

async function readCpu({ processes }: Contender): Promise<Record<string, number>> {
  const entries = Object.entries(processes);
  const usages = await Promise.all(entries.map(([, { usage }]) => usage()));
  return Object.fromEntries(entries.map(([name], index) => [name, usages[index]?.cpuSeconds ?? 0]));
}

/** Empties the tables that a load fills, so that every round starts from the same state. */
export async function clearTables(pool: Pool, { table }: Contender): Promise<void> {
  if (table === 'reading') await pool.query('truncate reading, reading_change, vehicle_latest');
  else if (table !== undefined) await pool.query(`truncate ${table}`);
  await pool.query('checkpoint');
}

/**
 * Builds a load whose device times are the times of sending, at full speed slightly older.
 * @param ageMs how much older they are
 */
export function planLoad(uploads: number, rate: number, connections: number, ageMs = 0): LoadPlan {
  const stepMs = rate === 0 ? 1 : Math.max(1, (connections * 1000) / rate);
  return { uploads, rate, firstTimestampMs: Date.now() - ageMs, stepMs };
}

/**
 * Runs one round of one contender; `plan.uploads` must be a multiple of the connections.
 * @param readings of an upload
 */
export async function measureLoad(
  pool: Pool,
  contender: Contender,
  plan: LoadPlan,
  connections: number,
  probed?: ProbedDevice,
  readings = 1,
): Promise<Measured> {
  const probe = probed && (await startLagProbe(pool, probed, plan.firstTimestampMs));
  const before = await readCpu(contender);
  const result = await contender.generator.ask<LoadResult>({ kind: 'load', ...plan });
  const endMs = contender.table
    ? await lastRowAt(pool, contender.table, plan, connections, readings)
    : result.lastPubackAtMs;
  const after = await readCpu(contender);
  const lag = await probe?.stop();
  return {
    ...result,
    lag,
    uploadsPerSecond: (plan.uploads * 1000) / (endMs - result.firstPublishAtMs),
    cpuSecondsPerMillion: Object.fromEntries(
      Object.entries(after).map(([name, seconds]) => [name, ((seconds - (before[name] ?? 0)) * 1e6) / plan.uploads]),
    ),
  };
}
