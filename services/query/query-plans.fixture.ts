import type { Database } from '@odograph/database/database';
import { createPool } from '@odograph/database/pool';
import { openSessions } from '@odograph/database/session';
import type { Tables } from '@odograph/database/tables';
import { compressReadings } from '@odograph/testkit/compress-readings';
import { createApplication } from '@odograph/testkit/fixtures';
import { CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import { createFleet } from './query.fixture.ts';

/** The part of EXPLAIN's JSON that is shown. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Custom Plan Provider'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'CTE Name'?: string;
  readonly 'Subplan Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Chunks and their indexes are numbered in the order of their creation. */
const withoutNumbers = (name: string): string =>
  name.replace(/^(compress|)_hyper_\d+_\d+_chunk/, '$1_chunk').replace(/^\d+_\d+_|^_/, '');

/** Names the compared columns of a condition, without values. */
const columnsOf = (condition: string): string =>
  [
    ...new Set([...condition.matchAll(/\(?\b([a-z_][a-z_.]*)\)? (?:=|<|>|<=|>=|<@|@>|&&) /g)].map(([, name]) => name)),
  ].join(', ');

function nameOf(node: PlanNode): string {
  const { 'Index Name': index, 'Relation Name': table, 'Index Cond': condition, 'CTE Name': cte } = node;
  const type = node['Custom Plan Provider'] ?? node['Node Type'];
  const of = table ?? cte;
  return [
    type,
    index === undefined ? '' : ` using ${withoutNumbers(index)}`,
    of === undefined ? '' : ` on ${withoutNumbers(of)}`,
    condition === undefined ? '' : ` (${columnsOf(condition)})`,
  ].join('');
}

/** Writes a plan as indented lines; equal neighbours, such as the scans of chunks, once. */
export function writePlan(node: PlanNode, depth = 0): string {
  const children = (node.Plans ?? []).map((child) => writePlan(child, depth + 1));
  const distinct = children.filter((child, index) => child !== children[index - 1]);
  return [`${'  '.repeat(depth)}${nameOf(node)}\n`, ...distinct].join('');
}

/** Lists the nodes of a plan. */
export const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** Opens a database that records the statements of functions, and explains them. */
export function openExplained(url: string) {
  const recorded: CompiledQuery[] = [];
  const pool = createPool({ url, name: 'test-plans', size: 1 });
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: openSessions(pool, 0) }),
    log({ query }) {
      recorded.push(query);
    },
  });
  /** Runs `read` and plans its statements again, in the order of their first use. */
  async function explain(read: (db: Kysely<Tables>) => Promise<unknown>): Promise<PlanNode[]> {
    recorded.length = 0;
    await read(db);
    const statements = recorded.filter((one) => /^\s*(?:select|with|declare)\b/.test(one.sql));
    const distinct = [...new Map(statements.map((one) => [one.sql, one])).values()];
    const plans: PlanNode[] = [];
    for (const { sql: text, parameters } of distinct) {
      const query = CompiledQuery.raw(`explain (costs off, format json) ${text}`, [...parameters]);
      const { rows } = await db.executeQuery<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>(query);
      if (rows[0]) plans.push(rows[0]['QUERY PLAN'][0].Plan);
    }
    return plans;
  }
  return { db, explain };
}

/** Weeks begin on Thursday, as chunks do. */
export const from = BigInt(Date.parse('2025-11-06T00:00:00Z')) * 1000n;
export const until = BigInt(Date.parse('2025-12-04T00:00:00Z')) * 1000n;

/** A filled database: two applications with 20 vehicles each, four weeks of readings, the first two compressed. */
export interface FilledDatabase {
  readonly applicationId: number;
  readonly vehicleIds: readonly number[];
}

/** Fills an empty database as ingest does, and has the only connection prefer indexes. */
export async function fillDatabase(db: Database): Promise<FilledDatabase> {
  const own = await createApplication(db);
  const vehicleIds = (await createFleet(db, own.id, 20)).map(Number);
  await createFleet(db, (await createApplication(db)).id, 20);
  await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, speed, mileage, device_id, received_at)
    select timestamptz '2025-11-06T00:00:00Z' + n * interval '2 hours' + id % 100 * interval '1 second', application_id, id,
      48 + n / 1e5, 2, 50, n, 'fleet-' || id, now()
    from vehicle cross join generate_series(0, 335) as n`.execute(db);
  await sql`insert into vehicle_latest (vehicle_id, earliest_time, time, received_at, location, location_time)
    select vehicle_id, min(time), max(time), now(), '{"latitude": 48, "longitude": 2}', max(time) from reading
    group by vehicle_id`.execute(db);
  await sql`insert into reading_change (application_id, transaction_id, vehicle_ids, times)
    select application_id, (floor(extract(epoch from time - '2025-11-06') / 3600)::bigint + 3)::text::xid8,
      array_agg(vehicle_id), array_agg(time)
    from reading group by application_id, time`.execute(db);
  await sql`insert into event (application_id, transaction_id, type, vehicle_id, occurred_at, subject)
    select application_id, (n + 3)::text::xid8, 'trip.finished', id, now(), gen_random_uuid()
    from vehicle cross join generate_series(0, 100) as n`.execute(db);
  await sql`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled, inferred, distance_km)
    select id, start, start + interval '1 hour', start + interval '1 hour', true, false, 12
    from vehicle cross join generate_series(timestamptz '2025-11-06', '2025-12-03', '12 hours') as start`.execute(db);
  await compressReadings(db, Number(from / 1_000_000n), Number(from / 1_000_000n) + 13 * 86_400);
  await sql`analyze`.execute(db);
  // Tables that would be large in production are small here: plan as if reading them whole were too expensive.
  await sql`set enable_seqscan = off`.execute(db);
  return { applicationId: own.id, vehicleIds };
}
