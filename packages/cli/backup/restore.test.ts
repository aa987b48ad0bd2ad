import { join } from 'node:path';
import { openDatabase } from '@odograph/database/database';
import { createOwnDatabase } from '@odograph/testkit/global-setup';
import { createTestDirectory } from '@odograph/testkit/scopes';
import { testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createBackup } from './backup.ts';
import { restoreBackup } from './restore.ts';

/** Backs a database up, and restores it into another one. */
async function copyDatabase(from: string, to: string) {
  const config = await testConfig();
  const file = join(createTestDirectory(), 'odograph.backup');
  await createBackup(config, { databaseUrl: from, redisUrl: config.REDIS_URL }, file, undefined);
  return restoreBackup(config, { databaseUrl: to }, file, undefined);
}

async function query(url: string, statement: string): Promise<unknown[]> {
  const db = openDatabase({ url, name: 'test', size: 1 });
  const { rows } = await sql.raw(statement).execute(db);
  await db.destroy();
  return rows;
}

it('a restore brings the shipped device models of this version into a database that was migrated before', async () => {
  const [older, target] = [await createOwnDatabase('older'), await createOwnDatabase('target')];
  const models = 'select id, actions, commands from device_model where shipped order by id';
  try {
    const shipped = await query(target.url, models);
    await query(older.url, `update device_model set actions = '{}', commands = '{}' where shipped`);
    await query(older.url, `update migration set name = 'device_models_0' where name like 'device_models_%'`);
    const { applied } = await copyDatabase(older.url, target.url);
    expect(applied).toEqual([expect.stringMatching(/^device_models_/)]);
    expect(await query(target.url, models)).toEqual(shipped);
  } finally {
    await older.drop();
    await target.drop();
  }
});

it('a backup is restored without tables that others have added to the database', async () => {
  const [source, target] = [await createOwnDatabase('added'), await createOwnDatabase('plain')];
  try {
    await query(source.url, 'create table device_before_repair as select * from device');
    await query(source.url, 'create table note (id serial primary key, text text)');
    await query(source.url, `insert into note (text) values ('added')`);
    expect(await copyDatabase(source.url, target.url)).toMatchObject({ leftOut: ['device_before_repair', 'note'] });
  } finally {
    await source.drop();
    await target.drop();
  }
});

it('a restore gives the database the cell of the backup, whatever cell it was before', async () => {
  const [source, target] = [await createOwnDatabase('cell0'), await createOwnDatabase('cell5')];
  try {
    await query(target.url, 'update installation set cell = 5');
    await copyDatabase(source.url, target.url);
    expect(await query(target.url, 'select cell from installation')).toEqual([{ cell: 0 }]);
  } finally {
    await source.drop();
    await target.drop();
  }
});
