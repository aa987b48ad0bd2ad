import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@odograph/testkit/eventually';
import { copyTemplate } from '@odograph/testkit/global-setup';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { holderPid, killHard, startOwner } from '../process/engine-owner.fixture.ts';
import { startEmbeddedTimescale } from './timescaledb.ts';

/** An initialized database without tables, copied for each test: creating one takes seconds. */
let initialized: string;
let dataDirectory: string;

beforeAll(async () => {
  initialized = await mkdtemp(join(tmpdir(), 'embedded-durability-'));
  await copyTemplate('empty', initialized);
  const database = await startEmbeddedTimescale({ dataDirectory: initialized });
  await database.stop();
});

afterAll(() => rm(initialized, { recursive: true, force: true }));

beforeEach(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'embedded-durability-'));
  await cp(initialized, dataDirectory, { recursive: true });
});

afterEach(() => rm(dataDirectory, { recursive: true, force: true }));

/** Inserts one batch after the other until the connection breaks; calls `onBatch` with the number committed. */
async function insertUntilBroken(url: string, onBatch: (committed: number) => void): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query(`create table reading (time timestamptz not null, batch int not null, primary key (batch, time))`);
  await client.query("select create_hypertable('reading', by_range('time', interval '1 day'))");
  let committed = 0;
  try {
    for (;;) {
      await client.query(
        "insert into reading select '2026-01-01'::timestamptz + x * interval '1 minute', $1 from generate_series(1, 500) x",
        [committed],
      );
      onBatch(++committed);
    }
  } catch {
    return committed;
  }
}

async function queryOnce<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

const countBatches = 'select batch, count(*)::int as rows from reading group by batch order by batch';
const batches = (count: number): { batch: number; rows: number }[] =>
  Array.from({ length: count }, (_, batch) => ({ batch, rows: 500 }));

describe('embedded TimescaleDB', { timeout: 60_000 }, () => {
  it('keeps all data across a restart, hypertables included', async () => {
    const first = await startEmbeddedTimescale({ dataDirectory });
    await queryOnce(first.url, 'create table reading (time timestamptz not null)');
    await queryOnce(first.url, "select create_hypertable('reading', by_range('time'))");
    await first.stop();
    const second = await startEmbeddedTimescale({ dataDirectory });
    await queryOnce(second.url, 'insert into reading values (now())');
    expect(await queryOnce(second.url, 'select count(*)::int from only reading')).toEqual([{ count: 0 }]);
    expect(await queryOnce(second.url, 'select count(*)::int from reading')).toEqual([{ count: 1 }]);
    await second.stop();
  });

  it('loses no commit when its process is killed under load, and restarts on the same port', async () => {
    const lines: string[] = [];
    const database = await startEmbeddedTimescale({ dataDirectory, onLine: (line) => lines.push(line) });
    const committed = await insertUntilBroken(database.url, (count) => {
      if (count === 40) setTimeout(() => process.kill(holderPid(dataDirectory), 'SIGKILL'), 15);
    });
    const found = await eventually(() => queryOnce(database.url, countBatches), 30_000);
    // The batch in flight may have been committed without its answer having arrived.
    expect(found.slice(0, committed)).toEqual(batches(committed));
    expect(committed).toBeGreaterThanOrEqual(40);
    expect(lines.join('\n')).toContain('ended unexpectedly (SIGKILL)');
    await database.stop();
  });

  it('loses no commit when its owner is killed under load, and starts at once on the same directory', async () => {
    const owner = await startOwner('timescale', dataDirectory);
    const committed = await insertUntilBroken(owner.url, (count) => {
      if (count === 40) void killHard(owner.process);
    });
    const database = await startEmbeddedTimescale({ dataDirectory });
    const found = await queryOnce(database.url, countBatches);
    expect(found.slice(0, committed)).toEqual(batches(committed));
    expect(committed).toBeGreaterThanOrEqual(40);
    await database.stop();
  });

  it('rejects a directory that is in use, naming the process', async () => {
    const owner = await startOwner('timescale', dataDirectory);
    await expect(startEmbeddedTimescale({ dataDirectory })).rejects.toThrow(
      `${dataDirectory} is in use by process ${owner.process.pid}`,
    );
    await killHard(owner.process);
  });

  it('starts again after the first start was killed half-way', async () => {
    await rm(dataDirectory, { recursive: true });
    const started = startEmbeddedTimescale({ dataDirectory });
    await eventually(async () => process.kill(holderPid(dataDirectory), 'SIGKILL'));
    await expect(started).rejects.toThrow('exited during its start (SIGKILL)');
    const database = await startEmbeddedTimescale({ dataDirectory });
    expect(await queryOnce(database.url, 'select 1 as x')).toEqual([{ x: 1 }]);
    await database.stop();
  });

  it('reports a busy port', async () => {
    const database = await startEmbeddedTimescale({ dataDirectory });
    const port = Number(new URL(database.url).port);
    await copyTemplate('empty', join(dataDirectory, 'second'));
    const second = startEmbeddedTimescale({ dataDirectory: join(dataDirectory, 'second'), port });
    await expect(second).rejects.toThrow(/EADDRINUSE/);
    await database.stop();
  });
});
