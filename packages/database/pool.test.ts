import { testDatabaseUrl } from '@odograph/testkit/test-database';
import type { Pool } from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPool } from './pool.ts';

let pool: Pool;
beforeEach(() => {
  pool = createPool({ url: testDatabaseUrl(), name: 'test', size: 1, preparedStatements: 2 });
});
afterEach(() => pool.end());

/** Prepared statements of this test; the embedded engine also lists those of other connections. */
async function prepared(): Promise<string[]> {
  const { rows } = await pool.query<{ statement: string }>(
    'select statement from pg_prepared_statements order by name',
  );
  return rows.map(({ statement }) => statement).filter((statement) => statement.includes('of_prepare_test'));
}

it('prepares a statement with parameters once, with unchanged results', async () => {
  const text = 'select $1::integer + 1 as sum, true as of_prepare_test';
  const sums: unknown[] = [];
  for (let round = 0; round < 12; round += 1) sums.push((await pool.query(text, [round])).rows[0].sum);
  expect(sums).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  expect(await prepared()).toEqual([text]);
});

it('prepares no more statements than the maximum', async () => {
  for (const name of ['a', 'b', 'c'])
    expect((await pool.query(`select $1::text as ${name}, true as of_prepare_test`, ['x'])).rowCount).toBe(1);
  expect(await prepared()).toEqual([
    'select $1::text as a, true as of_prepare_test',
    'select $1::text as b, true as of_prepare_test',
  ]);
});

it('survives a change of the table of a prepared statement', async () => {
  await pool.query('create temporary table changing (a integer)');
  const text = 'select a from changing where a = $1';
  for (let round = 0; round < 6; round += 1) await pool.query(text, [1]);
  await pool.query('alter table changing add column b integer');
  await pool.query('insert into changing values (1, 2)');
  expect((await pool.query(text, [1])).rows).toEqual([{ a: 1 }]);
});

it('disables JIT compilation', async () => {
  expect((await pool.query('show jit')).rows).toEqual([{ jit: 'off' }]);
});
