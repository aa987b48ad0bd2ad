import { randomUUID } from 'node:crypto';
import { openSealer, sourceTokenContext } from '@odograph/runtime/sealing';
import { hashSecret } from '@odograph/runtime/secrets';
import { createApplication } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { startFleet } from './fleet.fixture.ts';

const { platform, admin, api } = await startFleet();
const path = '/v1/x/admin/sources';

async function createSource() {
  const application = await createApplication(platform.db);
  const { body } = await admin.post(path, { appId: application.appId, format: 'flespi', createDevices: true });
  return { application, sourceId: String(body.sourceId), secret: String(body.secret) };
}

const stored = (sourceId: string) =>
  platform.db.selectFrom('source').selectAll().where('id', '=', sourceId).executeTakeFirstOrThrow();

it('creates a source whose secret is shown once and stored as a hash', async () => {
  const { application, sourceId, secret } = await createSource();
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect((await stored(sourceId)).secret_sha256).toEqual(hashSecret(secret));
  const { body } = await admin.get(`${path}?appId=${application.appId}`);
  expect(body.sources).toEqual([
    {
      ...{ sourceId, appId: application.appId, format: 'flespi', createDevices: true },
      ...{ takesCommands: false, createdAt: expect.any(String), lastSeenAt: null },
      ...{ messages: 0, devices: 0, unknownMessages: 0, refusedRequests: 0 },
    },
  ]);
});

it('keeps the replaced secret valid for the overlap, and not at all without one', async () => {
  const { sourceId, secret } = await createSource();
  const rotated = await admin.post(`${path}/${sourceId}/secret`, { overlapHours: 2 });
  const overlapping = await stored(sourceId);
  expect(overlapping.secret_sha256).toEqual(hashSecret(rotated.body.secret));
  expect(overlapping.previous_secret_sha256).toEqual(hashSecret(secret));
  expect(overlapping.previous_secret_until?.getTime()).toBeGreaterThan(Date.now() + 3_600_000);
  await admin.post(`${path}/${sourceId}/secret`, { overlapHours: 0 });
  expect((await stored(sourceId)).previous_secret_sha256).toBeNull();
});

it('deletes a source, which is gone for every route from then on', async () => {
  const { application, sourceId } = await createSource();
  expect((await admin.delete(`${path}/${sourceId}`)).status).toBe(200);
  expect((await admin.get(`${path}?appId=${application.appId}`)).body.sources).toEqual([]);
  for (const id of [sourceId, randomUUID(), 'no-uuid']) {
    expect((await admin.delete(`${path}/${id}`)).body).toMatchObject({ error: 'NOT_FOUND' });
    expect((await admin.post(`${path}/${id}/secret`, {})).body).toMatchObject({ error: 'NOT_FOUND' });
  }
});

it('records each change in the audit of the application, without secrets', async () => {
  const { application, sourceId, secret } = await createSource();
  const { body } = await admin.post(`${path}/${sourceId}/secret`, {});
  await admin.delete(`${path}/${sourceId}`);
  const { rows } = await sql<{ action: string; entry: string }>`select action, to_jsonb(audit)::text as entry from audit
    where chain = ${application.id} and subject = ${`source:${sourceId}`} order by position`.execute(platform.db);
  expect(rows.map(({ action }) => action)).toEqual(['source.create', 'source.secret', 'source.delete']);
  const entries = rows.map(({ entry }) => entry).join();
  for (const one of [secret, body.secret]) expect(entries).not.toContain(one);
});

it('refuses formats that it does not know, unknown applications and access tokens', async () => {
  const { application } = await createSource();
  expect((await admin.post(path, { appId: application.appId, format: 'gpx' })).body).toMatchObject({ field: 'format' });
  expect((await admin.post(path, { appId: 'none', format: 'tesla' })).body.error).toBe('UNKNOWN_APPLICATION');
  expect((await api.get(path)).status).toBe(401);
});

it('seals the token for commands, shows it nowhere, and replaces and removes it', async () => {
  const application = await createApplication(platform.db);
  const [first, second] = [`first-${randomUUID()}`, `second-${randomUUID()}`];
  const { appId } = application;
  const created = await admin.post(path, { appId, format: 'flespi', commandToken: first });
  const { sourceId } = created.body;
  const sealer = await openSealer(platform.config, 'source tokens');
  const tokenOf = async () => {
    const { sealed_command_token: sealed } = await stored(sourceId);
    return sealed && sealer.open(sealed, sourceTokenContext(sourceId)).toString();
  };
  const takesCommands = async () => (await admin.get(`${path}?appId=${appId}`)).body.sources[0].takesCommands;
  expect([await tokenOf(), await takesCommands()]).toEqual([first, true]);
  const token = `${path}/${sourceId}/command-token`;
  const answers = [created.body, (await admin.put(token, { token: second })).body, (await admin.get(path)).body];
  expect(await tokenOf()).toBe(second);
  expect(await admin.post(`${path}/reseal`, {})).toMatchObject({ status: 200, body: { resealed: 0, unreadable: 0 } });
  answers.push((await admin.delete(token)).body);
  expect([await tokenOf(), await takesCommands()]).toEqual([null, false]);
  const { rows } = await sql<{ entry: string }>`select to_jsonb(audit)::text as entry from audit
    where chain = ${application.id}`.execute(platform.db);
  expect(rows.map(({ entry }) => /source\.command-token\.\w+/.exec(entry)?.[0]).filter(Boolean)).toEqual([
    'source.command-token.set',
    'source.command-token.remove',
  ]);
  const shown = JSON.stringify([answers, rows]);
  for (const secret of [first, second]) expect(shown).not.toContain(secret);
});

it('takes a token for commands only where the other system takes commands', async () => {
  const { appId } = await createApplication(platform.db);
  const commandToken = 'a token without spaces'.replaceAll(' ', '-');
  const refused = await admin.post(path, { appId, format: 'traccar', commandToken });
  expect([refused.status, refused.body.field]).toEqual([400, 'commandToken']);
  const { body } = await admin.post(path, { appId, format: 'traccar' });
  const later = await admin.put(`${path}/${body.sourceId}/command-token`, { token: commandToken });
  expect([later.status, later.body.field]).toEqual([400, 'token']);
  expect((await admin.put(`${path}/${randomUUID()}/command-token`, { token: commandToken })).status).toBe(404);
});
