import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyTemplate } from '@odograph/testkit/global-setup';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queryMessage, syncMessage } from './frontend-messages.ts';
import { type EmbeddedTimescale, startEmbeddedTimescale } from './timescaledb.ts';
import { bind, connectWire, execute, flush, parse } from './wire-client.fixture.ts';
import { wireMessage } from './wire-framing.ts';

const idleTimeoutMs = 700;
let dataDirectory: string;
let database: EmbeddedTimescale;
let pool: pg.Pool;

beforeAll(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'embedded-timescale-'));
  await copyTemplate('empty', dataDirectory);
  database = await startEmbeddedTimescale({ dataDirectory, idleTransactionTimeoutMs: idleTimeoutMs });
  pool = new pg.Pool({ connectionString: database.url, max: 10 });
});

afterAll(async () => {
  await pool?.end();
  await database?.stop();
  await rm(dataDirectory, { recursive: true, force: true });
});

async function inTransaction(work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await work(client);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

async function withClient<T>(work: (client: pg.Client) => Promise<T>, options: pg.ClientConfig = {}): Promise<T> {
  const client = new pg.Client({ connectionString: database.url, ...options });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const types = (messages: readonly { type: string }[]): string => messages.map(({ type }) => type).join('');

describe('a client', () => {
  it('finds the defaults of a server: schema public, UTC, table scans, TimescaleDB', async () => {
    const { rows } = await pool.query(`select current_database() as database, current_schema() as schema,
      current_setting('TimeZone') as zone, current_setting('enable_seqscan') as scan,
      (select extversion from pg_extension where extname = 'timescaledb') as timescaledb`);
    expect(rows).toEqual([
      { database: 'postgres', schema: 'public', zone: 'UTC', scan: 'on', timescaledb: expect.stringMatching(/^2\./) },
    ]);
  });

  it('shares 16 MB of buffers, which are resident from the start', async () => {
    expect((await pool.query('show shared_buffers')).rows).toEqual([{ shared_buffers: '16MB' }]);
  });

  it('gets a database error with its SQLSTATE and can continue', async () => {
    await expect(pool.query('select 1/0')).rejects.toMatchObject({ code: '22012' });
    await expect(pool.query('select $1::int / 0', [1])).rejects.toMatchObject({ code: '22012' });
    await expect(pool.query('selec')).rejects.toMatchObject({ code: '42601' });
    expect((await pool.query('select $1::int as x', [7])).rows).toEqual([{ x: 7 }]);
  });

  it('sends and gets a value of several megabytes whole', async () => {
    const value = 'é'.repeat(3_000_000);
    const { rows } = await pool.query<{ value: string }>('select $1::text as value', [value]);
    expect(rows[0]?.value === value).toBe(true);
  });

  it('gets every row of a large answer', async () => {
    const { rows } = await pool.query("select x, repeat('y', 50) as y from generate_series(1, 50000) as x");
    expect(rows.length).toBe(50_000);
    expect(rows.at(-1)).toEqual({ x: 50_000, y: 'y'.repeat(50) });
  });

  it.each(['', 'wrong'])('is rejected with SQLSTATE 28P01 with the password "%s"', async (password) => {
    const url = new URL(database.url);
    const client = new pg.Client({
      host: '127.0.0.1',
      port: Number(url.port),
      user: 'postgres',
      database: 'postgres',
      password,
    });
    await expect(client.connect()).rejects.toThrow(password === '' ? /password/ : /password authentication failed/);
  });

  it('gets a clear error for a database that does not exist', async () => {
    const client = new pg.Client({ connectionString: database.url.replace(/postgres$/, 'other') });
    await expect(client.connect()).rejects.toMatchObject({ code: '3D000' });
  });

  it('can forbid overlapping ranges, which needs btree_gist', async () => {
    await pool.query('create extension btree_gist');
    await pool.query(
      'create table booking (vehicle int, during tstzrange, exclude using gist (vehicle with =, during with &&))',
    );
    await pool.query("insert into booking values (1, '[2026-01-01, 2026-01-03)')");
    const overlapping = pool.query("insert into booking values (1, '[2026-01-02, 2026-01-04)')");
    await expect(overlapping).rejects.toMatchObject({ code: '23P01' });
  });

  it('runs hypertables, compression and upserts into compressed chunks', async () => {
    await pool.query(`create table reading (time timestamptz not null, vehicle int not null, speed float8,
      primary key (vehicle, time))`);
    await pool.query("select create_hypertable('reading', by_range('time', interval '1 day'))");
    const upsert = `insert into reading select t, 1, $1 from
      generate_series('2026-01-01'::timestamptz, '2026-01-02 23:00', '1 hour') as t
      on conflict (vehicle, time) do update set speed = excluded.speed`;
    await pool.query(upsert, [1]);
    await pool.query(upsert, [2]);
    await pool.query(`alter table reading set (timescaledb.compress, timescaledb.compress_segmentby = 'vehicle')`);
    const compressed = await pool.query("select compress_chunk(chunk) from show_chunks('reading') as chunk");
    expect(compressed.rowCount).toBe(2);
    await pool.query(upsert, [3]);
    const { rows } = await pool.query('select count(*)::int as count, min(speed) as least from reading');
    expect(rows).toEqual([{ count: 48, least: 3 }]);
  });
});

describe('concurrent connections', () => {
  it('commit and fail transactions independently', async () => {
    await pool.query('create table entry (worker int, step int)');
    const works = Array.from({ length: 60 }, (_, worker) =>
      inTransaction(async (client) => {
        for (let step = 0; step < 3; step++) await client.query('insert into entry values ($1, $2)', [worker, step]);
        const { rows } = await client.query('select count(*)::int as mine from entry where worker = $1', [worker]);
        expect(rows).toEqual([{ mine: 3 }]);
        if (worker % 3 === 0) await client.query('select 1/0');
      }),
    );
    const results = await Promise.allSettled(works);
    expect(results.filter(({ status }) => status === 'rejected').length).toBe(20);
    const { rows } = await pool.query(
      'select count(*)::int as rows, count(*) filter (where worker % 3 = 0)::int as failed from entry',
    );
    expect(rows).toEqual([{ rows: 120, failed: 0 }]);
  });

  it('use one statement name for different SQL', async () => {
    await withClient(async (first) => {
      await withClient(async (second) => {
        for (let round = 0; round < 3; round++) {
          const one = await first.query({ name: 'same', text: 'select 1 as x' });
          const two = await second.query({ name: 'same', text: 'select $1::text as y', values: ['b'] });
          expect([one.rows, two.rows]).toEqual([[{ x: 1 }], [{ y: 'b' }]]);
        }
      });
    });
  });

  it('keep their statements when another deallocates all of its own', async () => {
    await withClient(async (first) => {
      await first.query({ name: 'kept', text: 'select 1 as x' });
      await withClient((second) => second.query('deallocate all'));
      expect((await first.query({ name: 'kept', text: 'select 1 as x' })).rows).toEqual([{ x: 1 }]);
    });
  });

  it("keep an unnamed statement across another one's", async () => {
    const first = await connectWire(database.url);
    first.send(parse('', "select 'first'"), syncMessage());
    await first.receive();
    await pool.query('select $1::int', [2]);
    first.send(bind('', ''), execute(''), syncMessage());
    const answer = await first.receive();
    expect(types(answer)).toBe('2DCZ');
    expect(answer[1]?.body).toContain('first');
    first.socket.destroy();
  });

  it('keep their settings apart, at once and after RESET ALL', async () => {
    await withClient(async (first) => {
      await withClient(
        async (second) => {
          await first.query("set statement_timeout = '12s'");
          await first.query("set timezone = 'Europe/Paris'");
          const show = `select current_setting('statement_timeout') as timeout, current_setting('TimeZone') as zone,
            current_setting('application_name') as name`;
          expect((await second.query(show)).rows).toEqual([{ timeout: '0', zone: 'UTC', name: 'second' }]);
          expect((await first.query(show)).rows).toEqual([{ timeout: '12s', zone: 'Europe/Paris', name: '' }]);
          await first.query('reset all');
          const after = await first.query('select current_schema() as schema, current_setting($1) as zone', [
            'TimeZone',
          ]);
          expect(after.rows).toEqual([{ schema: 'public', zone: 'UTC' }]);
        },
        { application_name: 'second' },
      );
    });
  });

  it('hold the rights of the user that they logged in as', async () => {
    await pool.query('create role reader; create table secret (x int)');
    await withClient(
      async (client) => {
        await expect(client.query('select * from secret')).rejects.toMatchObject({ code: '42501' });
      },
      { connectionString: database.url.replace('//postgres:', '//reader:') },
    );
    expect((await pool.query('select * from secret')).rows).toEqual([]);
  });

  it('do not interleave with a sequence that was only flushed', async () => {
    const first = await connectWire(database.url);
    first.send(parse('', 'select 41'), bind('', ''), flush());
    expect(types(await first.receive('2'))).toBe('12');
    const other = pool.query('select $1::int as x', [2]);
    first.send(execute(''), syncMessage());
    const answer = await first.receive();
    expect(types(answer)).toBe('DCZ');
    expect(answer[0]?.body).toContain('41');
    expect((await other).rows).toEqual([{ x: 2 }]);
    first.socket.destroy();
  });

  it('skip to Sync after an error in a sequence', async () => {
    const client = await connectWire(database.url);
    client.send(parse('', 'select nope'), bind('', ''), execute(''), queryMessage('select 1'), syncMessage());
    expect(types(await client.receive())).toBe('EZ');
    client.send(queryMessage('select 1'));
    expect(types(await client.receive())).toBe('TDCZ');
    client.socket.destroy();
  });
});

describe('a client that breaks the protocol', () => {
  it('has its transaction rolled back when it disconnects in the middle', async () => {
    await pool.query('create table abandoned (x int)');
    const client = await connectWire(database.url);
    client.send(queryMessage('begin; insert into abandoned values (1)'));
    await client.receive();
    client.socket.resetAndDestroy();
    expect((await pool.query('select * from abandoned')).rows).toEqual([]);
  });

  it('does not block others when it disconnects in the middle of a message or a sequence', async () => {
    const partial = await connectWire(database.url);
    partial.send(parse('', 'select 1'), bind('', ''), flush(), queryMessage('select 1').subarray(0, 7));
    await partial.receive('2');
    partial.socket.destroy();
    expect((await pool.query('select 1 as x')).rows).toEqual([{ x: 1 }]);
  });

  it('loses a transaction that idles while others wait, with SQLSTATE 25P03', async () => {
    await pool.query('create table idling (x int)');
    const client = await connectWire(database.url);
    client.send(queryMessage('begin; insert into idling values (1)'));
    await client.receive();
    const startedAt = Date.now();
    expect((await pool.query('select * from idling')).rows).toEqual([]);
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(idleTimeoutMs * 0.8);
    await expect(client.receive()).rejects.toThrow('25P03');
  });

  it('is disconnected after an invalid message', async () => {
    const client = await connectWire(database.url);
    client.send(wireMessage('?', Buffer.from('what')));
    await expect(client.receive()).rejects.toThrow('08P01');
    expect((await pool.query('select 1 as x')).rows).toEqual([{ x: 1 }]);
  });

  it('may stop reading a large response without blocking others', async () => {
    const client = await connectWire(database.url);
    client.socket.pause();
    client.send(queryMessage("select repeat('x', 20000000)"), queryMessage('select 2'));
    expect((await pool.query('select 1 as x')).rows).toEqual([{ x: 1 }]);
    client.socket.resume();
    expect(types(await client.receive())).toBe('TDCZ');
    expect(types(await client.receive())).toBe('TDCZ');
    client.socket.destroy();
  });
});
