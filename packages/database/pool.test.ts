import { expect, inject, it } from 'vitest';
import { createPool } from './pool.ts';

it('compiles no statements, whatever they seem to cost', async () => {
  const pool = createPool({ url: inject('databaseUrl'), name: 'test-pool', size: 1 });
  const { rows } = await pool.query('show jit');
  await pool.end();
  expect(rows).toEqual([{ jit: 'off' }]);
});
