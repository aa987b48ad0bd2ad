import { setTimeout as delay } from 'node:timers/promises';
import type { Contender } from './contender.ts';
import type { Pool } from './engines.ts';
import { type ProbedDevice, startLagProbe } from './lag-probe.ts';
import type { LoadOrder, LoadResult } from './load-generator.ts';
import type { TimeHistogram } from './statistics.ts';

const pollMs = 5;
const patienceMs = 300_000;

export interface Measured extends LoadResult {
  /** To the last row, without a table to the last PUBACK. */
  uploadsPerSecond: number;
  /** CPU seconds for a million uploads, by process. */
  cpuSecondsPerMillion: Record<string, number>;
  /** From PUBLISH to queryable; only when a device was probed. */
  lag: TimeHistogram | undefined;
}

/** How many rows there were when the statement began. @param sinceMs UNIX milliseconds */
async function countRows(pool: Pool, table: string, sinceMs: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(`select count(*) from ${table} where time >= to_timestamp($1)`, [
    // Telegraf keeps the time of a reading only to a few microseconds.
    (sinceMs - 0.5) / 1000,
  ]);
  return rows[0]?.count ?? 0;
}

/**
 * Waits until every row of a load can be read. The last reading of each device is cheap to look for; when all of those are
 * there, what other jobs still hold is found by counting. @returns the moment a count that saw every row began, UNIX milliseconds
 */
async function lastRowAt(
  pool: Pool,
  table: string,
  { firstTimestampMs, stepMs, uploads }: LoadOrder,
  devices: number,
): Promise<number> {
  const last = Math.floor(firstTimestampMs + (Math.floor(uploads / devices) - 1) * stepMs);
  const end = Date.now() + patienceMs;
  for (;;) {
    const atEnd = await countRows(pool, table, last);
    if (atEnd >= devices) {
      const countedAt = performance.timeOrigin + performance.now();
      const count = await countRows(pool, table, firstTimestampMs);
      if (count === uploads) return countedAt;
      if (count > uploads) throw new Error(`${count} rows of ${uploads} uploads`);
    }
    if (Date.now() > end)
      throw new Error(`only ${await countRows(pool, table, firstTimestampMs)} of ${uploads} rows arrived`);
    await delay(pollMs);
  }
}

async function readCpu({ processes }: Contender): Promise<Record<string, number>> {
  const entries = Object.entries(processes);
  const usages = await Promise.all(entries.map(([, { usage }]) => usage()));
  return Object.fromEntries(entries.map(([name], index) => [name, usages[index]?.cpuSeconds ?? 0]));
}

/** Empties the tables that a load fills, so that every round starts alike. */
export async function clearTables(pool: Pool, { table }: Contender): Promise<void> {
  if (table === 'reading') await pool.query('truncate reading, reading_change, vehicle_latest');
  else if (table !== undefined) await pool.query(`truncate ${table}`);
  await pool.query('checkpoint');
}

/** A load of which the device times are those of its sending, or at full speed a little older. */
export function orderOf(uploads: number, rate: number, connections: number): LoadOrder {
  const stepMs = rate === 0 ? 1 : Math.max(1, (connections * 1000) / rate);
  return { uploads, rate, firstTimestampMs: Date.now(), stepMs };
}

/** One round of one contender; `order.uploads` is a multiple of the connections. */
export async function measureLoad(
  pool: Pool,
  contender: Contender,
  order: LoadOrder,
  connections: number,
  probed?: ProbedDevice,
): Promise<Measured> {
  const probe = probed && (await startLagProbe(pool, probed, order.firstTimestampMs));
  const before = await readCpu(contender);
  const result = await contender.generator.ask<LoadResult>({ kind: 'load', ...order });
  const endMs = contender.table ? await lastRowAt(pool, contender.table, order, connections) : result.lastPubackAtMs;
  const after = await readCpu(contender);
  const lag = await probe?.stop();
  return {
    ...result,
    lag,
    uploadsPerSecond: (order.uploads * 1000) / (endMs - result.firstPublishAtMs),
    cpuSecondsPerMillion: Object.fromEntries(
      Object.entries(after).map(([name, seconds]) => [name, ((seconds - (before[name] ?? 0)) * 1e6) / order.uploads]),
    ),
  };
}
