import { openDatabase } from '@odograph/database/database';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appendAudit, verifyAudit } from './audit.ts';

const db = openDatabase({ url: testDatabaseUrl(), name: 'test', size: 4 });
let chain = 1_900_000_000 + Math.floor(Math.random() * 100_000_000);

const entry = (action: string) => ({
  chain,
  actor: 'application',
  address: '127.0.0.1',
  action,
  subject: 'vehicle:1000000001',
  details: { b: 1, a: 'x', 'é"': null },
  outcome: 'done',
});

async function verdict() {
  return (await verifyAudit(db)).find((one) => one.chain === chain);
}

async function tamper(work: () => Promise<unknown>): Promise<void> {
  await sql`alter table audit disable trigger user`.execute(db);
  try {
    await work();
  } finally {
    await sql`alter table audit enable trigger user`.execute(db);
  }
}

describe('the audit', () => {
  beforeAll(async () => {
    for (let index = 0; index < 6; index += 1) await appendAudit(db, entry(`step ${index}`));
  });
  afterAll(() => db.destroy());

  it('verifies after concurrent appends', async () => {
    chain += 1;
    await Promise.all(
      Array.from({ length: 20 }, (_unused, index) =>
        db.transaction().execute((transaction) => appendAudit(transaction, entry(`at once ${index}`))),
      ),
    );
    expect(await verdict()).toMatchObject({ length: 20 });
    expect(await verdict()).not.toHaveProperty('fault');
    chain -= 1;
  });

  it('refuses changes and removals', async () => {
    await expect(sql`update audit set outcome = 'x' where chain = ${chain}`.execute(db)).rejects.toThrow(
      'only ever added',
    );
    await expect(sql`delete from audit where chain = ${chain}`.execute(db)).rejects.toThrow('only ever added');
    await expect(sql`truncate audit`.execute(db)).rejects.toThrow('only ever added');
  });

  it.each(['at', 'actor', 'address', 'action', 'subject', 'details', 'outcome', 'salt', 'personal_sha256', 'sha256'])(
    'finds a changed %s',
    async (column) => {
      const at = fc.sample(fc.integer({ min: 1, max: 6 }), 1)[0] ?? 1;
      const { rows } = await sql<{ kept: unknown }>`select to_jsonb(audit) as kept from audit
        where chain = ${chain} and position = ${at}`.execute(db);
      const changed =
        { at: `'2020-01-01'`, details: `'{"a":1}'`, salt: `'\\x00'`, personal_sha256: `'\\x00'`, sha256: `'\\x00'` }[
          column
        ] ?? `'changed'`;
      await tamper(() =>
        sql`update audit
          set ${sql.ref(column)} = ${sql.raw(changed)} where chain = ${chain} and position = ${at}`.execute(db),
      );
      expect((await verdict())?.fault).toEqual({ position: at, reason: 'CHANGED' });
      await tamper(() =>
        sql`update audit set ${sql.ref(column)} = (jsonb_populate_record(null::audit, ${JSON.stringify(rows[0]?.kept)}::jsonb)).${sql.ref(column)}
          where chain = ${chain} and position = ${at}`.execute(db),
      );
      expect(await verdict()).not.toHaveProperty('fault');
    },
  );

  it('finds a removed row, in the middle and at the end, and an inserted one', async () => {
    const copy = async (position: number, to: number) =>
      sql`insert into audit select chain, ${to}, at, actor, address, action, subject, details, outcome, salt, personal_sha256,
        sha256 from audit where chain = ${chain} and position = ${position}`.execute(db);
    await copy(6, 7);
    expect((await verdict())?.fault).toEqual({ position: 7, reason: 'NOT_IN_CHAIN' });
    await tamper(() => sql`delete from audit where chain = ${chain} and position in (6, 7)`.execute(db));
    expect((await verdict())?.fault).toEqual({ position: 6, reason: 'MISSING' });
    await tamper(() => sql`delete from audit where chain = ${chain} and position = 3`.execute(db));
    expect((await verdict())?.fault).toEqual({ position: 3, reason: 'MISSING' });
  });

  it('verifies after retention removed the oldest rows, and still finds a missing one', async () => {
    chain += 2;
    for (let index = 0; index < 5; index += 1) await appendAudit(db, entry(`step ${index}`));
    await tamper(() =>
      sql`update audit set at = at - interval '10 days' where chain = ${chain} and position <= 3`.execute(db),
    );
    const before = (await verdict())?.fault;
    expect(before).toEqual({ position: 1, reason: 'CHANGED' });
    await sql`select prune_audit(interval '5 days')`.execute(db);
    expect(await verdict()).toMatchObject({ length: 5, prunedThrough: 3 });
    // The anchor is the original hash of row 3, so its changed time is not detected.
    expect(await verdict()).not.toHaveProperty('fault');
    await tamper(() => sql`delete from audit where chain = ${chain} and position = 4`.execute(db));
    expect((await verdict())?.fault).toEqual({ position: 4, reason: 'MISSING' });
    chain -= 2;
  });
});
