import { openDatabase } from '@odograph/database/database';
import { sqlState } from '@odograph/database/postgres-failure';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BinaryRows, copyInto, instantArray, integerArray, type RowWriter } from './sql-values.ts';

// One connection, because a temporary table exists in one session.
const db = openDatabase({ url: testDatabaseUrl(), name: 'test', size: 1 });
const columns = ['id', 'whole', 'small', 'big', 'fraction', 'yes', 'word', 'document', 'moment'];

beforeAll(async () => {
  await sql`create temporary table copied (id integer primary key, whole integer, small smallint, big bigint,
    fraction double precision, yes boolean, word text, document jsonb, moment timestamptz)`.execute(db);
});
afterAll(async () => {
  await sql`drop table copied`.execute(db);
  await db.destroy();
});

const moment = fc.integer({ min: -8_000_000_000_000_000, max: Number.MAX_SAFE_INTEGER });
const row = fc.record(
  {
    whole: fc.integer(),
    small: fc.integer({ min: -32_768, max: 32_767 }),
    big: fc.maxSafeInteger(),
    fraction: fc.double({ noNaN: true }),
    yes: fc.boolean(),
    word: fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
    document: fc.dictionary(fc.stringMatching(/^\w+$/), fc.stringMatching(/^[\w é"\\🚗]*$/u)),
    moment,
  },
  { requiredKeys: [] },
);
type Row = typeof row extends fc.Arbitrary<infer Value> ? Value : never;

function add(rows: RowWriter, id: number, value: Row): void {
  rows.row(columns.length);
  rows.integer(id);
  rows.integer(value.whole);
  rows.smallint(value.small);
  rows.bigint(value.big);
  rows.double(value.fraction);
  rows.boolean(value.yes);
  rows.text(value.word);
  rows.jsonb(value.document);
  rows.timestamptz(value.moment);
}

describe('copied rows', () => {
  it('are read as they were written, for any values and number of rows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row), fc.integer({ min: 1, max: 400 }), async (values, times) => {
        await sql`truncate copied`.execute(db);
        const all = Array.from({ length: times }, () => values).flat();
        const rows = new BinaryRows(0);
        for (const [id, value] of all.entries()) add(rows, id, value);
        await copyInto(db, 'copied', columns, rows);
        const stored = await sql`select whole, small, big, fraction, yes, word, document,
          (extract(epoch from moment) * 1000000)::bigint as moment from copied order by id`.execute(db);
        const absent = { whole: null, small: null, big: null, fraction: null, yes: null, word: null };
        expect(stored.rows).toEqual(all.map((value) => ({ ...absent, document: null, moment: null, ...value })));
      }),
      { numRuns: 60 },
    );
  });

  it('are all rejected when one is, and the connection stays usable', async () => {
    await sql`truncate copied`.execute(db);
    const twice = new BinaryRows();
    for (const id of [1, 2, 1]) add(twice, id, {});
    await db.connection().execute(async (connection) => {
      const refused = copyInto(connection, 'copied', columns, twice);
      await expect(refused).rejects.toSatisfy((error) => sqlState(error) === '23505');
      const count = await sql<{ count: number }>`select count(*) as count from copied`.execute(connection);
      expect(count.rows).toEqual([{ count: 0 }]);
    });
    await expect(copyInto(db, 'no_such_table', columns, new BinaryRows())).rejects.toSatisfy(
      (error) => sqlState(error) === '42P01',
    );
  });
});

describe('arrays', () => {
  it('are read back unchanged, for any values', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer()), fc.array(moment), async (whole, moments) => {
        const { rows } = await sql`select ${integerArray(whole)} as whole,
          array(select (extract(epoch from one) * 1000000)::bigint from unnest(${instantArray(moments)}) as one) as moments`.execute(
          db,
        );
        expect(rows).toEqual([{ whole, moments: moments.map(String) }]);
      }),
      { numRuns: 60 },
    );
  });
});
