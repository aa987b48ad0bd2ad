import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { arrayLiteral } from '../sql-arrays.ts';
import type { UploadInProgress } from '../upload/decode-uploads.ts';
import { arrivalsByDevice, type Run, runOf } from './arrivals.ts';
import type { Range } from './ledger.ts';
import { type Arrival, type ClosedGap, type Gap, type Ledger, recordArrivals } from './ledger.ts';

/** Readings that overtake each other on their way leave gaps that close by themselves at once; those are not noted. */
const notedAfterMs = 10_000;

interface LedgerRow {
  device_id: string;
  started_us: number | null;
  newest_us: number | null;
  received: string;
  gaps: Gap[];
}

/** A multirange as PostgreSQL writes it, lower bounds included and upper ones not. */
function parseRanges(text: string): Range[] {
  return [...text.matchAll(/\[(\d+),(\d+)\)/g)].map(([, from, end]) => [Number(from), Number(end) - 1]);
}

function toLedger({ started_us: started, newest_us: newest, received, gaps }: LedgerRow): Ledger {
  return {
    ...(started !== null && { startedMicroseconds: started }),
    ...(newest !== null && { newestMicroseconds: newest }),
    received: parseRanges(received),
    gaps,
  };
}

/** Locks the ledgers in one order in every job, so that jobs of the same devices wait for each other and never in a ring. */
async function lockLedgers(db: Database, deviceIds: readonly string[]): Promise<Map<string, Ledger>> {
  const { rows } = await sql<LedgerRow>`
    select device_id, started_us, newest_us, received::text as received, gaps from device_sequence
    where device_id = any(${arrayLiteral(deviceIds)}::text[]) order by device_id for update`.execute(db);
  return new Map(rows.map((row) => [row.device_id, toLedger(row)]));
}

async function lockOrCreate(db: Database, deviceIds: readonly string[]): Promise<Map<string, Ledger>> {
  const ledgers = await lockLedgers(db, deviceIds);
  if (ledgers.size === deviceIds.length) return ledgers;
  const isNew = deviceIds.filter((deviceId) => !ledgers.has(deviceId));
  await sql`insert into device_sequence (device_id)
    select device.id from device where id = any(${arrayLiteral(isNew)}::text[]) order by device.id
    on conflict do nothing`.execute(db);
  return lockLedgers(db, deviceIds);
}

const multirange = (ranges: readonly Range[]) => `{${ranges.map(([from, until]) => `[${from},${until}]`).join(',')}}`;
const missing = (gaps: readonly Gap[]) => gaps.reduce((sum, { from, until }) => sum + (until - from + 1), 0);

async function updateLedgers(db: Database, changed: ReadonlyMap<string, Ledger>): Promise<void> {
  if (changed.size === 0) return;
  const ledgers = [...changed.values()];
  await sql`update device_sequence set started_us = new.started_us, newest_us = new.newest_us,
      received = new.received::int8multirange, gaps = new.gaps::jsonb,
      open_gaps = new.open_gaps, missing_readings = new.missing_readings
    from unnest(${arrayLiteral([...changed.keys()])}::text[],
      ${arrayLiteral(ledgers.map(({ startedMicroseconds }) => startedMicroseconds))}::bigint[],
      ${arrayLiteral(ledgers.map(({ newestMicroseconds }) => newestMicroseconds))}::bigint[],
      ${arrayLiteral(ledgers.map(({ received }) => multirange(received)))}::text[],
      ${arrayLiteral(ledgers.map(({ gaps }) => JSON.stringify(gaps)))}::text[],
      ${arrayLiteral(ledgers.map(({ gaps }) => gaps.length))}::integer[],
      ${arrayLiteral(ledgers.map(({ gaps }) => missing(gaps)))}::bigint[])
      as new (device_id, started_us, newest_us, received, gaps, open_gaps, missing_readings)
    where device_sequence.device_id = new.device_id`.execute(db);
}

async function noteClosed(db: Database, closed: readonly (ClosedGap & { deviceId: string })[], nowMs: number) {
  const noted = closed.filter(({ sinceMs }) => nowMs - sinceMs >= notedAfterMs);
  if (noted.length === 0) return;
  await sql`insert into closed_gap (device_id, from_sequence, until_sequence, since, closed_at, outcome)
    select device_id, "from", until, to_timestamp(since_ms / 1000.0), to_timestamp(${nowMs} / 1000.0), outcome
    from unnest(${arrayLiteral(noted.map(({ deviceId }) => deviceId))}::text[],
      ${arrayLiteral(noted.map(({ from }) => from))}::bigint[],
      ${arrayLiteral(noted.map(({ until }) => until))}::bigint[],
      ${arrayLiteral(noted.map(({ sinceMs }) => sinceMs))}::bigint[],
      ${arrayLiteral(noted.map(({ outcome }) => outcome))}::text[])
      as noted (device_id, "from", until, since_ms, outcome)`.execute(db);
}

function sameLedger(a: Ledger, b: Ledger): boolean {
  return a.newestMicroseconds === b.newestMicroseconds && multirange(a.received) === multirange(b.received);
}

/**
 * Goes on with counts at which nothing new is missing: the next numbers of devices, recorded after all before them. That is
 * what nearly every batch brings, and it leaves the gaps as they are.
 * @returns the devices whose count that was
 */
async function continueCounts(db: Database, runs: ReadonlyMap<string, Run>): Promise<Set<string>> {
  if (runs.size === 0) return new Set();
  const incoming = [...runs].map(([deviceId, { from, until, oldestMicroseconds, newestMicroseconds }]) => ({
    device_id: deviceId,
    from_sequence: from,
    until_sequence: until,
    oldest_us: oldestMicroseconds,
    run_newest_us: newestMicroseconds,
  }));
  const { rows } = await sql<{ device_id: string }>`
    update device_sequence set newest_us = run.run_newest_us,
      received = received + int8multirange(int8range(run.from_sequence, run.until_sequence, '[]'))
    from jsonb_to_recordset(${JSON.stringify(incoming)}::jsonb) as run (device_id text,
      from_sequence bigint, until_sequence bigint, oldest_us bigint, run_newest_us bigint)
    where device_sequence.device_id = run.device_id
      and upper(received) = run.from_sequence and newest_us <= run.oldest_us
    returning device_sequence.device_id`.execute(db);
  return new Set(rows.map(({ device_id: deviceId }) => deviceId));
}

async function recordAll(db: Database, arrivals: ReadonlyMap<string, Arrival[]>, nowMs: number): Promise<void> {
  if (arrivals.size === 0) return;
  const ledgers = await lockOrCreate(db, [...arrivals.keys()]);
  const changed = new Map<string, Ledger>();
  const closed: (ClosedGap & { deviceId: string })[] = [];
  // A device that was deleted since has no ledger.
  for (const [deviceId, before] of ledgers) {
    const recorded = recordArrivals(before, arrivals.get(deviceId) ?? [], nowMs);
    if (!sameLedger(before, recorded.ledger)) changed.set(deviceId, recorded.ledger);
    for (const gap of recorded.closed) closed.push({ ...gap, deviceId });
  }
  await updateLedgers(db, changed);
  await noteClosed(db, closed, nowMs);
}

/**
 * Notes, in the transaction that stores readings, which of their devices' readings are missing now: one statement for the
 * devices that count on, two for the others, and one more for gaps that close.
 * @param uploads with the faults of those that go to quarantine
 */
export async function writeGaps(db: Database, uploads: readonly UploadInProgress[], nowMs: number): Promise<void> {
  const arrivals = arrivalsByDevice(uploads);
  const runs = new Map<string, Run>();
  for (const deviceId of [...arrivals.keys()].sort()) {
    const run = runOf(arrivals.get(deviceId) ?? []);
    if (run) runs.set(deviceId, run);
  }
  for (const deviceId of await continueCounts(db, runs)) arrivals.delete(deviceId);
  await recordAll(db, arrivals, nowMs);
}

/** How many gaps are open, of how many readings. */
export async function countGaps(db: Database): Promise<{ gaps: number; missing: number }> {
  const { rows } = await sql<{ gaps: number; missing: number }>`
    select coalesce(sum(open_gaps), 0)::bigint as gaps, coalesce(sum(missing_readings), 0)::bigint as missing
    from device_sequence where open_gaps > 0`.execute(db);
  return rows[0] ?? { gaps: 0, missing: 0 };
}
