import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createApplication } from '@odograph/testkit/fixtures';
import { useDatabase } from '@odograph/testkit/scopes';
import { afterEachStatement } from '@odograph/testkit/statements';
import { expect, it } from 'vitest';
import { FeedCache } from './routes.ts';

const db = useDatabase();
const settings = readFileSync(new URL('../../../examples/gbfs-settings.json', import.meta.url), 'utf8');

it('computes the feeds of a system once in its TTL, however many ask', async () => {
  const { id } = await createApplication(db);
  const systemId = `test-${randomUUID()}`;
  await db
    .insertInto('gbfs_system')
    .values({ application_id: id, system_id: systemId, settings, id_key: Buffer.alloc(32) })
    .execute();
  let statements = 0;
  const count = afterEachStatement(() => {
    statements += 1;
  });
  const cache = new FeedCache(db.withPlugin(count));
  await expect(cache.read('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const all = await Promise.all(Array.from({ length: 200 }, () => cache.read(systemId)));
  const afterFirst = statements;
  expect(afterFirst).toBeLessThan(10);
  expect(new Set(all).size).toBe(1);
  expect(await cache.read(systemId)).toBe(all[0]);
  expect(statements).toBe(afterFirst);
});
