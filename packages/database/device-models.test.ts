import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate } from './migrate.ts';

const client = new Client({ connectionString: testDatabaseUrl() });
beforeAll(() => client.connect());
afterAll(() => client.end());

it('a release changes the device models that it ships, and none that an operator has changed', async () => {
  await client.query("update device_model set bluetooth = true where id = 'osmand'");
  await client.query("update device_model set bluetooth = true, shipped = false where id = 'owntracks'");
  // Devices that other tests have left in this database.
  await client.query("update device set model_id = 'tracker' where model_id = 'tesla'");
  await client.query("delete from device_model where id = 'tesla'");
  // As if the models had another content when they were last applied.
  await client.query("delete from migration where name like 'device_models_%'");
  expect(await migrate(testDatabaseUrl())).toEqual([expect.stringMatching(/^device_models_/)]);
  const { rows } = await client.query(`select id, bluetooth from device_model
    where id in ('osmand', 'owntracks', 'tesla') order by id`);
  expect(rows.map(({ id, bluetooth }) => [id, bluetooth])).toEqual([
    ['osmand', false],
    ['owntracks', true],
    ['tesla', false],
  ]);
  await client.query("update device_model set bluetooth = false, shipped = true where id = 'owntracks'");
  expect(await migrate(testDatabaseUrl())).toEqual([]);
});
