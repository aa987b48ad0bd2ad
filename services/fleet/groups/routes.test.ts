import { createApplication, createUnlinkedVehicle, createUser } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { api, application, platform, admin, as } = await startFleet();
const { db } = platform;

const create = async (name: string, parentId?: string, client = api): Promise<string> => {
  const { status, body } = await client.post('/v1/x/groups', { name, parentId });
  expect([status, body.error]).toEqual([200, undefined]);
  return body.id;
};
const fill = (id: string, vehicleIds: readonly string[], client = api) =>
  client.put(`/v1/x/groups/${id}/vehicles`, { vehicleIds });
const newVehicle = () => createUnlinkedVehicle(db, application);
/** A client of a user with the grant of a group. */
async function granted(groupId: string, role = 'viewer') {
  const user = await createUser(db, application);
  const { status } = await admin.post(`/v1/x/admin/users/${user.id}/groups`, { groupId, role });
  expect(status).toBe(200);
  return { ...user, api: as(user.token) };
}

describe('the tree of groups', () => {
  it('lists each group before its subgroups, and counts a vehicle in several groups once', async () => {
    const other = await createApplication(db);
    const client = as(other.token);
    const vehicles = [await createUnlinkedVehicle(db, other), await createUnlinkedVehicle(db, other)];
    const north = await create('North', undefined, client);
    await create('East', undefined, client);
    const vans = await create('Vans', north, client);
    await fill(north, vehicles, client);
    await fill(vans, vehicles.slice(0, 1), client);
    const { body } = await client.get('/v1/x/groups');
    expect(body.groups).toEqual([
      expect.objectContaining({ name: 'East', depth: 0, vehicleCount: 0, totalVehicleCount: 0 }),
      { id: north, appId: other.appId, name: 'North', depth: 0, vehicleCount: 2, totalVehicleCount: 2 },
      { id: vans, appId: other.appId, name: 'Vans', depth: 1, parentId: north, vehicleCount: 1, totalVehicleCount: 1 },
    ]);
    expect((await client.get(`/v1/x/groups/${vans}`)).body).toEqual({ ...body.groups[2], vehicleIds: [vehicles[0]] });
  });

  it('rejects a parent below the group or of another application, naming parentId', async () => {
    const foreign = await create('foreign', undefined, as((await createApplication(db)).token));
    const top = await create('top');
    const middle = await create('middle', top);
    const bottom = await create('bottom', middle);
    for (const parentId of [bottom, top, foreign, 'nonsense', crypto.randomUUID()]) {
      const { status, body } = await api.put(`/v1/x/groups/${top}`, { parentId });
      expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'parentId']);
    }
    expect((await api.put(`/v1/x/groups/${bottom}`, { name: 'moved', parentId: '' })).status).toBe(200);
    expect((await api.get(`/v1/x/groups/${bottom}`)).body).toMatchObject({ name: 'moved', depth: 0 });
    const { body } = await api.put(`/v1/x/groups/${middle}`, { name: 'renamed' });
    expect(body).toEqual({ id: middle });
    expect((await api.get(`/v1/x/groups/${middle}`)).body).toMatchObject({ name: 'renamed', parentId: top });
  });

  it('answers NOT_FOUND for a group of another application in every route, as for a missing one', async () => {
    const foreign = await create('foreign', undefined, as((await createApplication(db)).token));
    const user = await createUser(db, application);
    for (const id of [foreign, crypto.randomUUID(), 'nonsense']) {
      for (const answer of [
        api.get(`/v1/x/groups/${id}`),
        api.put(`/v1/x/groups/${id}`, { name: 'mine' }),
        fill(id, []),
        api.delete(`/v1/x/groups/${id}`),
        admin.post(`/v1/x/admin/users/${user.id}/groups`, { groupId: id }),
        admin.delete(`/v1/x/admin/users/${user.id}/groups/${id}`),
      ]) {
        const { status, body } = await answer;
        expect([status, body.error]).toEqual([404, 'NOT_FOUND']);
      }
    }
  });

  it('rejects foreign, missing and deleted vehicles, leaving the members unchanged', async () => {
    const id = await create('own');
    const own = await newVehicle();
    const deleted = await newVehicle();
    const foreign = await createUnlinkedVehicle(db, await createApplication(db));
    await db.updateTable('vehicle').set({ deleted_at: new Date() }).where('id', '=', Number(deleted)).execute();
    expect((await fill(id, [own])).status).toBe(200);
    for (const vehicle of [foreign, deleted, '1999999999', 'nonsense']) {
      expect((await fill(id, [own, vehicle])).body.error).toBe('UNKNOWN_VEHICLE');
    }
    expect((await api.get(`/v1/x/groups/${id}`)).body.vehicleIds).toEqual([own]);
  });

  it('does not delete a group with subgroups', async () => {
    const top = await create('top');
    const below = await create('below', top);
    expect((await api.delete(`/v1/x/groups/${top}`)).body).toMatchObject({
      error: 'IN_USE',
      message: expect.stringContaining('below'),
    });
    for (const id of [below, top]) expect((await api.delete(`/v1/x/groups/${id}`)).body).toEqual({ deleted: true });
  });

  it('does not delete a group with a report schedule', async () => {
    const id = await create('north');
    await sql`insert into report_schedule (application_id, kind, format, every, time_zone, hour, language, recipients, group_id,
        next_due_at)
      values (${application.id}, 'trips', 'pdf', 'month', 'UTC', 6, 'en', '{office@example.com}', ${id}, now())`.execute(
      db,
    );
    const { status, body } = await api.delete(`/v1/x/groups/${id}`);
    expect([status, body.error, body.message]).toEqual([409, 'IN_USE', expect.stringContaining('report schedule')]);
    await sql`delete from report_schedule where group_id = ${id}`.execute(db);
    expect((await api.delete(`/v1/x/groups/${id}`)).body).toEqual({ deleted: true });
  });
});

it('a group with a webhook is not deleted', async () => {
  const id = await create('north');
  await sql`insert into webhook (application_id, url, event_types, all_vehicles, group_id, sealed_secret, position)
    values (${application.id}, 'https://receiver.invalid/', '{*}', true, ${id}, '', '')`.execute(db);
  const { status, body } = await api.delete(`/v1/x/groups/${id}`);
  expect([status, body.error, body.message]).toEqual([409, 'IN_USE', expect.stringContaining('webhook')]);
});

describe('a user with the grant of a group', () => {
  it('sees the vehicles of the group and its subgroups while they are members', async () => {
    const top = await create('top');
    const below = await create('below', top);
    const user = await granted(top);
    const vehicle = await newVehicle();
    const sees = async () => (await user.api.get(`/v1/vehicle/${vehicle}`)).status;
    expect(await sees()).toBe(404);
    await fill(below, [vehicle]);
    expect(await sees()).toBe(200);
    await api.put(`/v1/x/groups/${below}`, { parentId: '' });
    expect(await sees()).toBe(404);
    await api.put(`/v1/x/groups/${below}`, { parentId: top });
    expect(await sees()).toBe(200);
    await fill(below, []);
    expect(await sees()).toBe(404);
  });

  it('sees only the groups and counts of its own vehicles, and cannot change groups in any role', async () => {
    const top = await create('top');
    const below = await create('below', top);
    const hidden = await create('hidden', top);
    const [own, other] = [await newVehicle(), await newVehicle()];
    await fill(below, [own]);
    await fill(hidden, [other]);
    const user = await granted(below, 'manager');
    const { body } = await user.api.get('/v1/x/groups');
    expect(
      body.groups.map(({ id, totalVehicleCount }: { id: string; totalVehicleCount: number }) => [
        id,
        totalVehicleCount,
      ]),
    ).toEqual([
      [top, 1],
      [below, 1],
    ]);
    expect((await user.api.get(`/v1/x/groups/${hidden}`)).status).toBe(404);
    for (const answer of [
      user.api.post('/v1/x/groups', { name: 'mine' }),
      user.api.put(`/v1/x/groups/${below}`, { parentId: hidden }),
      fill(below, [own, other], user.api),
      user.api.delete(`/v1/x/groups/${below}`),
    ]) {
      expect((await answer).body.error).toBe('UNAUTHORIZED');
    }
  });

  it('is listed with the grant, and loses access when it is revoked', async () => {
    const group = await create('vans');
    const vehicle = await newVehicle();
    await fill(group, [vehicle]);
    const user = await granted(group, 'driver');
    const { body } = await admin.get(`/v1/x/admin/users?appId=${application.appId}`);
    expect(body.users.find(({ userId }: { userId: string }) => userId === user.id)).toMatchObject({
      groupGrants: [{ groupId: group, name: 'vans', role: 'driver' }],
      grants: [],
    });
    expect((await admin.delete(`/v1/x/admin/users/${user.id}/groups/${group}`)).status).toBe(200);
    expect((await user.api.get(`/v1/vehicle/${vehicle}`)).status).toBe(404);
    expect((await admin.delete(`/v1/x/admin/users/${user.id}/groups/${group}`)).body.error).toBe('NOT_FOUND');
  });
});
