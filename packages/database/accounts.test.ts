import { randomUUID } from 'node:crypto';
import type { OperatorRole } from '@odograph/contracts/caller';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { createApplication, createUnlinkedVehicle, createUser } from '@odograph/testkit/fixtures';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { accountsIn } from './accounts.ts';
import { openDatabase } from './database.ts';
import { visibleTo } from './vehicle-access.ts';

const db = openDatabase({ url: testDatabaseUrl(), name: 'test', size: 2 });
const { findSignedIn } = accountsIn(db, { SECOND_FACTOR_ROLE: 'none' });
afterAll(() => db.destroy());

async function createOperator(role: OperatorRole, applicationIds: readonly number[] = []): Promise<string> {
  const { id } = await db
    .insertInto('operator')
    .values({ name: randomUUID(), password_hash: '-', role })
    .returning('id')
    .executeTakeFirstOrThrow();
  for (const application_id of applicationIds) {
    await db.insertInto('operator_application').values({ operator_id: id, application_id }).execute();
  }
  return id;
}

/** Signs in a browser. @param ages how long ago in SQL */
async function signIn(
  owner: { operator_id: string } | { session_id: string },
  { used = '0', expires = '1 day' } = {},
): Promise<Buffer> {
  const token_sha256 = hashSecret(createSecret());
  const used_at = sql<Date>`now() - ${used}::interval`;
  const expires_at = sql<Date>`now() + ${expires}::interval`;
  await db
    .insertInto('sign_in')
    .values({ token_sha256, used_at, expires_at, ...owner })
    .execute();
  return token_sha256;
}

describe('a browser session', () => {
  it('belongs to an operator, with role and limits as they are now', async () => {
    const application = await createApplication(db);
    const id = await createOperator('operator', [application.id]);
    const token = await signIn({ operator_id: id });
    expect(await findSignedIn(token)).toMatchObject({
      operator: { id, role: 'operator', applicationIds: [application.id] },
    });
    await db.updateTable('operator').set({ role: 'viewer' }).where('id', '=', id).execute();
    await db.deleteFrom('operator_application').where('operator_id', '=', id).execute();
    const changed = await findSignedIn(token);
    expect(changed).toMatchObject({ operator: { id, role: 'viewer' } });
    expect(changed).not.toHaveProperty('operator.applicationIds');
  });

  it('ends after 12 hours without use, at its latest end, and with its operator', async () => {
    const id = await createOperator('viewer');
    const refusalOf = (token: Buffer) => findSignedIn(token).then(String, ({ code }) => code);
    expect(await refusalOf(await signIn({ operator_id: id }, { used: '11 hours 59 minutes' }))).toBe('[object Object]');
    expect(await refusalOf(await signIn({ operator_id: id }, { used: '12 hours' }))).toBe('TOKEN_EXPIRED');
    expect(await refusalOf(await signIn({ operator_id: id }, { expires: '0' }))).toBe('TOKEN_EXPIRED');
    expect(await refusalOf(hashSecret('unknown'))).toBe('INVALID_TOKEN');
    const token = await signIn({ operator_id: id });
    await db.updateTable('operator').set({ deleted_at: new Date() }).where('id', '=', id).execute();
    expect(await refusalOf(token)).toBe('INVALID_TOKEN');
  });

  it('of a user gives the rights of the user, and ends with its session', async () => {
    const application = await createApplication(db);
    const user = await createUser(db, application);
    const session = await db
      .insertInto('session')
      .values({ application_id: application.id, user_id: user.id })
      .returning('id')
      .executeTakeFirstOrThrow();
    const token = await signIn({ session_id: session.id });
    expect(await findSignedIn(token)).toEqual({ caller: { applicationId: application.id, userId: user.id } });
    await db.updateTable('session').set({ revoked_at: new Date() }).where('id', '=', session.id).execute();
    await expect(findSignedIn(token)).rejects.toThrow('the session has ended');
  });
});

describe('the vehicles that a person sees', () => {
  it('are those of the named applications, or of all, that are not deleted, and for a user the granted ones', async () => {
    const [one, other] = [await createApplication(db), await createApplication(db)];
    const [granted, own, foreign, deleted] = await Promise.all(
      [one, one, other, one].map((application) => createUnlinkedVehicle(db, application)),
    );
    await db.updateTable('vehicle').set({ deleted_at: new Date() }).where('id', '=', Number(deleted)).execute();
    const user = await createUser(db, one, { vehicleIds: [granted ?? '', deleted ?? ''], role: 'viewer' });
    const among = [granted, own, foreign, deleted].map(Number);
    const seenBy = async (viewer: Parameters<typeof visibleTo>[0]) => {
      const rows = await db
        .selectFrom('vehicle')
        .select('id')
        .where('id', 'in', among)
        .where(visibleTo(viewer))
        .execute();
      return new Set(rows.map(({ id }) => String(id)));
    };
    expect(await seenBy({})).toEqual(new Set([granted, own, foreign]));
    expect(await seenBy({ applicationIds: [one.id] })).toEqual(new Set([granted, own]));
    expect(await seenBy({ applicationIds: [one.id, other.id] })).toEqual(new Set([granted, own, foreign]));
    expect(await seenBy({ applicationIds: [] })).toEqual(new Set());
    expect(await seenBy({ applicationIds: [one.id], userId: user.id })).toEqual(new Set([granted]));
    expect(await seenBy({ applicationIds: [other.id], userId: user.id })).toEqual(new Set());
  });
});
