import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { CompiledQuery, type Kysely } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openDatabase } from './database.ts';
import { CursorRows } from './session.ts';
import type { Tables } from './tables.ts';

let db: Kysely<Tables>;
beforeEach(() => {
  db = openDatabase({ url: testDatabaseUrl(), name: 'test', size: 1, preparedStatements: 2 });
});
afterEach(() => db.destroy());

const run = async (text: string, values: unknown[] = []) =>
  (await db.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text, values))).rows;

/** Prepared statements of this test; the embedded engine also lists those of other connections. */
async function prepared(): Promise<unknown[]> {
  const rows = await run('select statement from pg_prepared_statements order by name');
  return rows.map(({ statement }) => statement).filter((text) => String(text).includes('of_prepare_test'));
}

it('prepares a statement with parameters once, with unchanged results', async () => {
  const text = 'select $1::integer + 1 as sum, true as of_prepare_test';
  const sums: unknown[] = [];
  for (let round = 0; round < 12; round += 1) sums.push((await run(text, [round]))[0]?.['sum']);
  expect(sums).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  expect(await prepared()).toEqual([text]);
});

it('prepares no more statements than the maximum', async () => {
  for (const name of ['a', 'b', 'c']) {
    expect(await run(`select $1::text as ${name}, true as of_prepare_test`, ['x'])).toHaveLength(1);
  }
  expect(await prepared()).toEqual([
    'select $1::text as a, true as of_prepare_test',
    'select $1::text as b, true as of_prepare_test',
  ]);
});

it('survives a change of the table of a prepared statement', async () => {
  await run('create temporary table changing (a integer)');
  const text = 'select a from changing where a = $1';
  for (let round = 0; round < 6; round += 1) await run(text, [1]);
  await run('alter table changing add column b integer');
  await run('insert into changing values (1, 2)');
  expect(await run(text, [1])).toEqual([{ a: 1 }]);
});

it('disables JIT compilation', async () => {
  expect(await run('show jit')).toEqual([{ jit: 'off' }]);
});

it('fetches as many rows of a cursor as asked for, and the others later', async () => {
  await db.transaction().execute(async (transaction) => {
    const fetch = async (count: number, cursor = 'numbers') =>
      (await transaction.executeQuery(CompiledQuery.raw('fetch', [new CursorRows(cursor, count)]))).rows;
    await transaction.executeQuery(
      CompiledQuery.raw('declare numbers no scroll cursor for select n::bigint from generate_series(1, 5) as n'),
    );
    expect(await fetch(2)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await fetch(3)).toEqual([{ n: 3 }, { n: 4 }, { n: 5 }]);
    expect(await fetch(3)).toEqual([]);
  });
});

it('remains usable after a fetch from a cursor that does not exist', async () => {
  const fetch = db.executeQuery(CompiledQuery.raw('fetch', [new CursorRows('missing', 1)]));
  await expect(fetch).rejects.toThrow('portal "missing" does not exist');
  expect(await run('select 1 as one')).toEqual([{ one: 1 }]);
});
