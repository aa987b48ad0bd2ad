import { EventEmitter, once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { openDatabase } from '@odograph/database/database';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { describe, expect, inject, it } from 'vitest';
import { queryService } from '../service.ts';
import { Answers } from './answers.ts';
import { ReadBudget } from './read-budget.ts';

const mebibyte = 1024 * 1024;
const budgetBytes = 32 * mebibyte;

/** 10,000 readings, about 50 MB: far more than the buffers between database and client. */
const platform = await usePlatform([queryService], {}, { maxAnswerBytes: budgetBytes });
const application = await createApplication(platform.db);
const vehicle = await createVehicle(platform.db, application);
await sql`insert into reading (time, application_id, vehicle_id, can, mileage, device_id, received_at)
  select '2025-10-10T08:00:00Z'::timestamptz + n * interval '1 second', ${application.id}, ${vehicle.id}::integer,
    jsonb_build_array(jsonb_build_object('key', 'k', 'value', repeat('x', 5000))), n, 'test', now()
  from generate_series(1, 12000) as n`.execute(platform.db);

const path = () => `/v1/vehicle/${vehicle.id}/customcan/from/2025-10-10`;

/** Sends a request and reads only the headers of the answer. */
async function openUnread({ httpUrl } = platform): Promise<IncomingMessage> {
  const headers = { 'x-service-token': application.token };
  const request = get(new URL(path(), httpUrl), { headers, agent: false });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  return answer;
}

async function heldBytes({ metrics } = platform): Promise<number> {
  const metric = await metrics.getSingleMetric('odograph_query_answer_bytes')?.get();
  return metric?.values[0]?.value ?? Number.NaN;
}

interface Reading {
  readonly status: { readonly mileage: number };
}
const numbers = (readings: readonly Reading[]) => readings.map(({ status }) => status.mileage);
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe('a page that is larger than all buffers', () => {
  it('is complete and in order, and the next page continues after it', async () => {
    const answer = await openUnread();
    const body = JSON.parse(await text(answer)) as Reading[];
    expect(numbers(body)).toEqual(range(1, 10_000));
    const next = /^<([^>]*)>; rel="next"$/.exec(String(answer.headers.link))?.[1] ?? '';
    const rest = await fetch(new URL(next, platform.httpUrl), { headers: { 'x-service-token': application.token } });
    const following = numbers((await rest.json()) as Reading[]);
    expect(following).toEqual(range(10_001, 10_000 + following.length));
    // Its client follows links, so this page may end by bytes.
    expect(following.length).toBeLessThan(2000);
    expect(rest.headers.get('x-has-more')).toBe('true');
  });

  it('releases its bytes and its database connection when the client disconnects', async () => {
    const answer = await openUnread();
    expect(answer.statusCode).toBe(200);
    expect(await heldBytes()).toBeGreaterThan(0);
    answer.destroy();
    await eventually(async () => expect(await heldBytes()).toBe(0));
  });

  it('does not contain readings that were stored after it began', async () => {
    const answer = await openUnread();
    await sql`insert into reading (time, application_id, vehicle_id, mileage, device_id, received_at)
      select '2025-10-10T08:00:00.5Z'::timestamptz + n * interval '1 second', ${application.id}, ${vehicle.id}::integer,
        -1, 'test', now() from generate_series(9000, 9100) as n`.execute(platform.db);
    const body = JSON.parse(await text(answer)) as Reading[];
    await sql`delete from reading where vehicle_id = ${vehicle.id}::integer and mileage = -1`.execute(platform.db);
    expect(numbers(body)).toEqual(range(1, 10_000));
  });
});

describe('clients that do not read their pages', () => {
  it('do not delay others and hold no more bytes than the budget, regardless of their number', async () => {
    const other = await createApplication(platform.db);
    await createVehicle(platform.db, other);
    let largest = 0;
    const watch = setInterval(() => {
      void heldBytes().then((held) => {
        largest = Math.max(largest, held);
      });
    }, 5);
    const headers = { 'x-service-token': application.token };
    const unread = Array.from({ length: 20 }, () =>
      get(new URL(path(), platform.httpUrl), { headers, agent: false }).on('error', () => undefined),
    );
    await eventually(async () => expect(await heldBytes()).toBeGreaterThan(mebibyte));
    // Answered although the budget is in use, not after it is free again.
    for (let round = 0; round < 5; round += 1) {
      const { status } = await fetch(new URL('/v1/vehicles', platform.httpUrl), {
        headers: { 'x-service-token': other.token },
      });
      expect(status).toBe(200);
    }
    expect(await heldBytes()).toBeGreaterThan(mebibyte);
    for (const request of unread) request.destroy();
    clearInterval(watch);
    await eventually(async () => expect(await heldBytes()).toBe(0), 20_000);
    expect(largest).toBeGreaterThan(mebibyte);
    expect(largest).toBeLessThanOrEqual(budgetBytes);
  });

  it('are disconnected', async () => {
    const impatient = await startTestPlatform([queryService], {}, { answerRateWindowMs: 500 });
    try {
      const answer = await openUnread(impatient);
      expect(await heldBytes(impatient)).toBeGreaterThan(0);
      await eventually(async () => expect(await heldBytes(impatient)).toBe(0), 20_000);
      await expect(text(answer)).rejects.toThrow('aborted');
    } finally {
      await impatient.stop();
    }
  });
});

describe('an answer', () => {
  const reader = (token: string, applicationId = 1) => ({ caller: { applicationId }, token });
  const open = (budget: ReadBudget) =>
    new Answers({
      db: openDatabase({ url: platform.config.DATABASE_URL, name: 'test', size: 1 }),
      budget,
      minimumBytesPerSecond: 1,
      rateWindowMs: 15_000,
    });

  it('is aborted when the database fails after the first part, so that it does not look complete', async () => {
    const budget = new ReadBudget(budgetBytes, 1000);
    const body = await open(budget).open<number>(reader('one'), async ({ from }) => {
      if (from !== undefined) throw new Error('database unavailable');
      return { text: '[1', next: 1 };
    });
    await expect(text(body)).rejects.toThrow('database unavailable');
    expect(budget.heldBytes).toBe(0);
  });

  it('reaches its client while its first part is still being read, and is destroyed when the rest fails', async () => {
    const budget = new ReadBudget(budgetBytes, 1000);
    const database = new EventEmitter();
    const body = await open(budget).open(reader('one'), async ({ send }) => {
      send('[1');
      await once(database, 'failure');
      throw new Error('database unavailable');
    });
    const [first] = (await once(body, 'data')) as [Buffer];
    expect(String(first)).toBe('[1');
    database.emit('failure');
    await expect(text(body)).rejects.toThrow('database unavailable');
    expect(budget.heldBytes).toBe(0);
  });

  it('fails as a whole when nothing of it has been read', async () => {
    const budget = new ReadBudget(budgetBytes, 1000);
    const failing = open(budget).open(reader('one'), async () => {
      throw new Error('database unavailable');
    });
    await expect(failing).rejects.toThrow('database unavailable');
    expect(budget.heldBytes).toBe(0);
  });

  it('waits while its token or its application holds its share, and fails when that lasts', async () => {
    const budget = new ReadBudget(100, 100);
    const first = await budget.reserve(reader('one'), 25);
    await expect(budget.reserve(reader('one'), 1)).rejects.toMatchObject({ code: 'OVERLOADED' });
    await budget.reserve(reader('two'), 25);
    await expect(budget.reserve(reader('three'), 1)).rejects.toMatchObject({ code: 'OVERLOADED' });
    await budget.reserve(reader('four', 2), 25);
    const waiting = budget.reserve(reader('three'), 5);
    first.shrinkTo(20);
    (await waiting).release();
    first.release();
    expect(budget.heldBytes).toBe(50);
  });
});

it('answers OVERLOADED when the database does not answer in time', async ({ skip }) => {
  skip(!inject('isNativeDatabase'), 'the embedded database has one session');
  const url = new URL(testDatabaseUrl());
  url.searchParams.set('statement_timeout', '200');
  const impatient = await startTestPlatform([queryService], { QUERY_DATABASE_URL: url.href });
  const blocker = openDatabase({ url: testDatabaseUrl(), name: 'test', size: 1 });
  try {
    await blocker.transaction().execute(async (transaction) => {
      await sql`lock table vehicle_latest in access exclusive mode`.execute(transaction);
      const headers = { 'x-service-token': application.token };
      const answer = await fetch(new URL('/v1/vehicles/status', impatient.httpUrl), { headers });
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await answer.json()).toMatchObject({ error: 'OVERLOADED' });
    });
  } finally {
    await blocker.destroy();
    await impatient.stop();
  }
});
