import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { openDatabase } from '@odograph/database/database';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, inject, it, type TestContext } from 'vitest';
import { queryService } from './service.ts';

const poolSize = 2;
const applicationName = `query-${randomUUID()}`;
let platform: TestPlatform;
let application: TestApplication;
let vehicle: TestVehicle;

function databaseUrlWith(settings: Record<string, string>): string {
  const url = new URL(inject('databaseUrl'));
  for (const [name, value] of Object.entries(settings)) url.searchParams.set(name, value);
  return url.href;
}

/** A page far larger than all buffers on its way. */
beforeAll(async () => {
  platform = await startTestPlatform([queryService], {
    DATABASE_POOL_SIZE: String(poolSize),
    QUERY_DATABASE_URL: databaseUrlWith({ application_name: applicationName }),
  });
  application = await createApplication(platform.db);
  vehicle = await createVehicle(platform.db, application);
  await sql`insert into reading (time, application_id, vehicle_id, can, device_id, received_at)
    select '2025-10-10T08:00:00Z'::timestamptz + n * interval '1 second', ${application.id}, ${vehicle.id}::integer,
      jsonb_build_array(jsonb_build_object('key', 'k', 'value', repeat('x', 8000))), 'test', now()
    from generate_series(1, 10000) as n`.execute(platform.db);
});
afterAll(() => platform.stop());

const path = () => `/v1/vehicle/${vehicle.id}/customcan/from/2025-10-10`;
const headers = () => ({ 'x-service-token': application.token });

/** The answer at its first byte, with nothing taken from it yet. */
async function openAnswer(): Promise<IncomingMessage> {
  const request = get(new URL(path(), platform.httpUrl), { headers: headers(), agent: false });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  expect(answer.statusCode).toBe(200);
  return answer;
}

/** Server processes of the query service in the middle of an answer. */
async function busyProcesses(): Promise<number[]> {
  const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity
    where application_name = ${applicationName} and state <> 'idle'`.execute(platform.db);
  return rows.map(({ pid }) => pid);
}

/** The embedded database is one session: while an answer is under way, nobody can look or interfere. */
async function skipOnOneSession({ skip }: TestContext): Promise<void> {
  const { rows } = await sql<{ version: string }>`select version()`.execute(platform.db);
  skip(/emscripten|wasm/i.test(rows[0]?.version ?? ''), 'needs a database with several sessions');
}

it('sends the first bytes while later rows are still unread', async (context) => {
  await skipOnOneSession(context);
  const answer = await openAnswer();
  expect(await busyProcesses()).toHaveLength(1);
  expect(JSON.parse(await text(answer))).toHaveLength(10_000);
  await eventually(async () => expect(await busyProcesses()).toEqual([]));
});

it('gives the database connection back when the client goes away', async (context) => {
  await skipOnOneSession(context);
  for (let round = 0; round < 2; round += 1) {
    const answers = await Promise.all(Array.from({ length: poolSize }, openAnswer));
    expect(await busyProcesses()).toHaveLength(poolSize);
    for (const answer of answers) answer.destroy();
    await eventually(async () => expect(await busyProcesses()).toEqual([]));
  }
  const { status } = await fetch(new URL('/v1/vehicles/status', platform.httpUrl), { headers: headers() });
  expect(status).toBe(200);
});

it('breaks the connection when the database fails in the middle, so that half an answer never looks whole', async (context) => {
  await skipOnOneSession(context);
  const answer = await openAnswer();
  const [pid] = await busyProcesses();
  await sql`select pg_terminate_backend(${pid})`.execute(platform.db);
  await expect(text(answer)).rejects.toThrow('aborted');
});

it('answers OVERLOADED when the database does not answer in time', async (context) => {
  await skipOnOneSession(context);
  const impatient = await startTestPlatform([queryService], {
    QUERY_DATABASE_URL: databaseUrlWith({ statement_timeout: '200' }),
  });
  const blocker = openDatabase({ url: inject('databaseUrl'), name: 'test', size: 1 });
  try {
    await blocker.transaction().execute(async (transaction) => {
      await sql`lock table vehicle_latest in access exclusive mode`.execute(transaction);
      const answer = await fetch(new URL('/v1/vehicles/status', impatient.httpUrl), { headers: headers() });
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await answer.json()).toMatchObject({ error: 'OVERLOADED' });
    });
  } finally {
    await blocker.destroy();
    await impatient.stop();
  }
});
