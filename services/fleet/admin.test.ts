import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { openSealer, sourceTokenContext } from '@odograph/runtime/sealing';
import { hashSecret } from '@odograph/runtime/secrets';
import { createApplication } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from './fleet.fixture.ts';

const { platform, application, admin, api, as } = await startFleet();
const { db } = platform;
const path = '/v1/x/admin/sources';

async function createSource() {
  const application = await createApplication(db);
  const { body } = await admin.post(path, { appId: application.appId, format: 'flespi', createDevices: true });
  return { application, sourceId: String(body.sourceId), secret: String(body.secret) };
}

const stored = (sourceId: string) =>
  db.selectFrom('source').selectAll().where('id', '=', sourceId).executeTakeFirstOrThrow();

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
    where chain = ${application.id} and subject = ${`source:${sourceId}`} order by position`.execute(db);
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
  const application = await createApplication(db);
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
    where chain = ${application.id}`.execute(db);
  expect(rows.map(({ entry }) => /source\.command-token\.\w+/.exec(entry)?.[0]).filter(Boolean)).toEqual([
    'source.command-token.set',
    'source.command-token.remove',
  ]);
  const shown = JSON.stringify([answers, rows]);
  for (const secret of [first, second]) expect(shown).not.toContain(secret);
});

it('takes a token for commands only where the other system takes commands', async () => {
  const { appId } = await createApplication(db);
  const commandToken = 'a token without spaces'.replaceAll(' ', '-');
  const refused = await admin.post(path, { appId, format: 'traccar', commandToken });
  expect([refused.status, refused.body.field]).toEqual([400, 'commandToken']);
  const { body } = await admin.post(path, { appId, format: 'traccar' });
  const later = await admin.put(`${path}/${body.sourceId}/command-token`, { token: commandToken });
  expect([later.status, later.body.field]).toEqual([400, 'token']);
  expect((await admin.put(`${path}/${randomUUID()}/command-token`, { token: commandToken })).status).toBe(404);
});

const example = JSON.parse(readFileSync(new URL('../../examples/gbfs-settings.json', import.meta.url), 'utf8'));
const adminPath = `/v1/x/admin/gbfs/${application.appId}`;
const settingsFor = (systemId: string, changes: object = {}) => ({
  ...example,
  system: { ...example.system, system_id: systemId },
  ...changes,
});
const rule = { ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true };

it.each([
  ['an unknown member', { colour: 'red' }, 'colour'],
  ['a text without a translation', { system: { ...example.system, languages: ['en', 'fr'] } }, 'system.name'],
  ['an unknown time zone', { system: { ...example.system, timezone: 'Europe/Atlantis' } }, 'system.timezone'],
  ['an abbreviated time zone', { system: { ...example.system, timezone: 'CET' } }, 'system.timezone'],
  ['an address that is not encrypted', { publicUrl: 'http://share.example' }, 'publicUrl'],
  [
    'a type without its range',
    { vehicleTypes: [{ ...example.vehicleTypes[0], max_range_meters: undefined }] },
    'vehicleTypes.0.max_range_meters',
  ],
  [
    'an unknown pricing plan',
    { pricingPlans: [{ ...example.pricingPlans[0], plan_id: 'other' }] },
    'vehicleTypes.0.default_pricing_plan_id',
  ],
  ['a vehicle that does not exist', { vehicleIds: ['2100000000'] }, 'vehicleIds.0'],
  ['a station that does not exist', { stations: ['AAAAAA'] }, 'stations.0'],
  [
    'a geofence of another application',
    { geofencing: { zones: [{ geofenceId: randomUUID() }], globalRules: [rule] } },
    'geofencing.zones.0.geofenceId',
  ],
])('refuses %s, and names the field', async (_title, changes, field) => {
  const { status, body } = await admin.put(adminPath, settingsFor(`test-${randomUUID()}`, changes));
  expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
});

it('shows what is published, gives no system id to two applications, and ends with the deletion', async () => {
  const systemId = `test-${randomUUID()}`;
  const discoveryUrl = `http://localhost:8080/v1/x/gbfs/${systemId}/gbfs.json`;
  expect((await admin.put(adminPath, settingsFor(systemId))).body).toEqual({ discoveryUrl });
  const { body } = await admin.get(adminPath);
  expect(body).toEqual({ discoveryUrl, updatedAt: expect.any(String), settings: settingsFor(systemId) });
  const other = await createApplication(db);
  const taken = await admin.put(`/v1/x/admin/gbfs/${other.appId}`, settingsFor(systemId));
  expect([taken.status, taken.body.error]).toEqual([409, 'ALREADY_EXISTS']);
  expect((await admin.delete(adminPath)).status).toBe(200);
  for (const act of [() => admin.get(adminPath), () => admin.delete(adminPath)]) {
    expect((await act()).body.error).toBe('NOT_FOUND');
  }
});

interface Row {
  position: number;
  action: string;
  actor: string;
  subject: string;
}

/** Creates an application with one audit row for each action of an operator. */
async function auditedApplication(): Promise<string> {
  const { body: application } = await admin.post('/v1/x/admin/applications', { name: 'Acme' });
  const { appId } = application;
  const create = async (path: string, body: object) => (await admin.post(`/v1/x/admin/${path}`, body)).body;
  const { id: vehicleId } = await create('vehicles', { appId, plate: 'AB-123-CD' });
  const { deviceId } = await create('devices', { id: `test-${randomUUID()}`, model: 'generic', appId });
  const { userId } = await create('users', { appId, username: 'anna', password: 'a long password' });
  await create(`users/${userId}/vehicles`, { vehicleId });
  await create(`devices/${deviceId}/link`, { vehicleId });
  await admin.put(`/v1/x/admin/devices/${deviceId}/link`, { vehicleId });
  await create(`devices/${deviceId}/secret`, {});
  await admin.delete(`/v1/x/admin/devices/${deviceId}/link`);
  await admin.delete(`/v1/x/admin/users/${userId}/vehicles/${vehicleId}`);
  return appId;
}

describe('/v1/x/admin/audit', () => {
  it('is searched by actor, action or subject in any case, and by time, newest first in pages', async () => {
    const appId = await auditedApplication();
    const list = async (query: string) => (await admin.get(`/v1/x/admin/audit?appId=${appId}&${query}`)).body.audit;
    const actions = (rows: readonly Row[]) => rows.map(({ action }) => action);
    expect(actions(await list('search=GRANT.'))).toEqual(['grant.give', 'grant.take']);
    expect(actions(await list('search=vehicle:1&order=newest&limit=1'))).toEqual(['grant.take']);
    expect(actions(await list('search=%25'))).toEqual([]);
    const newest = await list('order=newest&limit=4');
    const older = await list(`order=newest&after=${newest.at(-1).position}`);
    expect(actions([...newest, ...older])).toEqual(actions(await list('limit=100')).toReversed());
    const middle = newest[2].at;
    const [before, since] = [await list(`until=${middle}`), await list(`from=${middle}`)];
    expect(actions([...before, ...since])).toEqual(actions(await list('limit=100')));
    expect(since).toHaveLength(3);
    expect((await admin.get(`/v1/x/admin/audit?appId=${appId}&from=soon`)).body.field).toBe('from');
  });

  it('lists the actions of the operator on an application in pages, without secrets', async () => {
    const appId = await auditedApplication();
    const { body } = await admin.get(`/v1/x/admin/audit?appId=${appId}`);
    expect(body.audit.map(({ action }: Row) => action)).toEqual([
      'vehicle.create',
      'device.create',
      'user.create',
      'grant.give',
      'device.link',
      'device.move',
      'device.secret',
      'device.unlink',
      'grant.take',
    ]);
    expect(new Set(body.audit.map(({ actor }: Row) => actor))).toEqual(new Set(['operator']));
    expect(body.audit[0]).toEqual({
      position: 1,
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      actor: 'operator',
      address: '127.0.0.1',
      action: 'vehicle.create',
      subject: expect.stringMatching(/^vehicle:\d{10}$/),
      details: {},
      outcome: 'done',
    });
    const page = await admin.get(`/v1/x/admin/audit?appId=${appId}&after=2&limit=3`);
    expect(page.body.audit).toEqual(body.audit.slice(2, 5));
    const own = await admin.get('/v1/x/admin/audit?limit=10000');
    expect(own.body.audit).toContainEqual(
      expect.objectContaining({ action: 'application.create', subject: `application:${appId}` }),
    );
  });

  it('lists the actions of an application under its name', async () => {
    const application = await createApplication(db);
    const api = as(application.token);
    const { body: vehicle } = await admin.post('/v1/x/admin/vehicles', { appId: application.appId, plate: 'AA-1' });
    const { body: device } = await admin.post('/v1/x/admin/devices', { id: `test-${randomUUID()}`, model: 'generic' });
    const { deviceId, claimCode } = device;
    await api.post('/v1/device', { vehicleId: vehicle.id, deviceId, claimCode });
    await api.delete('/v1/device', { deviceId: device.deviceId });
    const { body } = await admin.get(`/v1/x/admin/audit?appId=${application.appId}&after=1`);
    const subject = `device:${device.deviceId}`;
    expect(body.audit).toMatchObject([
      { action: 'device.link', actor: 'application', subject, details: { from: null, to: vehicle.id } },
      { action: 'device.unlink', actor: 'application', subject, details: { from: vehicle.id, to: null } },
    ]);
  });

  it('verifies, and names the chain and row of a change', async () => {
    const appId = await auditedApplication();
    const chainOf = async () => {
      const { status, body } = await admin.get('/v1/x/admin/audit/verify');
      expect(status).toBe(200);
      return body.chains.find((chain: { appId: string }) => chain.appId === appId);
    };
    const before = await chainOf();
    expect(before).toEqual({
      appId,
      length: 9,
      prunedThrough: 0,
      erasedRows: 0,
      head: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const change = async (outcome: string) =>
      db.transaction().execute(async (trx) => {
        await sql`alter table audit disable trigger audit_append_only`.execute(trx);
        await sql`update audit set outcome = ${outcome} where position = 4
          and chain = (select id from application where app_id = ${appId})`.execute(trx);
        await sql`alter table audit enable trigger audit_append_only`.execute(trx);
      });
    await change('refused');
    expect(await chainOf()).toEqual({ ...before, fault: { position: 4, reason: 'CHANGED' } });
    expect((await admin.get('/v1/x/admin/audit/verify')).body.ok).toBe(false);
    await change('done');
    expect(await chainOf()).toEqual(before);
  });

  it('answers UNKNOWN_APPLICATION, and names malformed parameters', async () => {
    expect((await admin.get('/v1/x/admin/audit?appId=none')).body.error).toBe('UNKNOWN_APPLICATION');
    expect((await admin.get('/v1/x/admin/audit?after=-1')).body.field).toBe('after');
  });
});
