import { join } from 'node:path';
import { openDatabase } from '@odograph/database/database';
import { createOwnDatabase, type OwnDatabase } from '@odograph/testkit/global-setup';
import { useDirectory } from '@odograph/testkit/scopes';
import { testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBackup } from './backup.ts';
import { restoreBackup } from './restore.ts';

const directory = useDirectory();

async function query(url: string, statement: string): Promise<unknown[]> {
  const db = openDatabase({ url, name: 'test', size: 1 });
  const { rows } = await sql.raw(statement).execute(db);
  await db.destroy();
  return rows;
}

describe('a restore into a database that this version has migrated', () => {
  const models = 'select id, actions, commands from device_model where shipped order by id';
  let target: OwnDatabase;
  let shipped: unknown[];
  let report: Awaited<ReturnType<typeof restoreBackup>>;

  beforeAll(async () => {
    const [source, config] = [await createOwnDatabase('source'), await testConfig()];
    target = await createOwnDatabase('target');
    shipped = await query(target.url, models);
    await query(target.url, 'update installation set cell = 5');
    await query(source.url, `update device_model set actions = '{}', commands = '{}' where shipped`);
    await query(source.url, `update migration set name = 'device_models_0' where name like 'device_models_%'`);
    await query(source.url, 'create table device_before_repair as select * from device');
    await query(source.url, 'create table note (id serial primary key, text text)');
    await query(source.url, `insert into note (text) values ('added')`);
    const file = join(directory, 'odograph.backup');
    await createBackup(config, { databaseUrl: source.url, redisUrl: config.REDIS_URL }, file, undefined);
    await source.drop();
    report = await restoreBackup(config, { databaseUrl: target.url }, file, undefined);
  });
  afterAll(() => target?.drop());

  it('brings the shipped device models of this version', async () => {
    expect(report.applied).toEqual([expect.stringMatching(/^device_models_/)]);
    expect(await query(target.url, models)).toEqual(shipped);
  });

  it('leaves out tables that others have added to the database of the backup', () => {
    expect(report.leftOut).toEqual(['device_before_repair', 'note']);
  });

  it('takes the cell of the backup, even 0', async () => {
    expect(await query(target.url, 'select cell from installation')).toEqual([{ cell: 0 }]);
  });
});
