import { randomUUID } from 'node:crypto';
import { clientWithToken } from '@odograph/testkit/api-client';
import { createApplication } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from './fleet.fixture.ts';

const { platform, admin } = await startFleet();

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
    const application = await createApplication(platform.db);
    const api = clientWithToken(platform.httpUrl, application.token);
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
      platform.db.transaction().execute(async (trx) => {
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
