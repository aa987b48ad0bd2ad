import { createApplication, createUnlinkedVehicle, createUser } from '@odograph/testkit/fixtures';
import { testConfig } from '@odograph/testkit/test-platform';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { openDatabase } from './database.ts';
import { accessibleTo, findVehicle, type GrantRole, grantRoles, type VehicleAct, visibleTo } from './vehicle-access.ts';
import { inGroups } from './vehicle-groups.ts';

const config = await testConfig();
const db = openDatabase({ url: config.DATABASE_URL, name: 'test-groups', size: 3 });
afterAll(() => db.destroy());

const createGroup = async (applicationId: number, parentId: string | null = null): Promise<string> => {
  const { rows } = await sql<{ id: string }>`insert into vehicle_group (application_id, parent_id, name)
    values (${applicationId}, ${parentId}, 'group') returning id`.execute(db);
  return rows[0]?.id ?? '';
};
const join = (groupId: string, vehicleId: string) =>
  sql`insert into vehicle_group_member values (${groupId}, ${Number(vehicleId)}) on conflict do nothing`.execute(db);
const leave = (groupId: string, vehicleId: string) =>
  sql`delete from vehicle_group_member where group_id = ${groupId} and vehicle_id = ${Number(vehicleId)}`.execute(db);
const move = (groupId: string, parentId: string | null) =>
  sql`update vehicle_group set parent_id = ${parentId} where id = ${groupId}`.execute(db);
const grant = (userId: string, groupId: string, role: GrantRole) =>
  sql`insert into group_grant (user_id, application_id, group_id, role)
    select ${userId}, application_id, id, ${role} from vehicle_group where id = ${groupId}
    on conflict (user_id, group_id) do update set role = excluded.role`.execute(db);

/** Creates an application with a group, a subgroup that holds a vehicle, and a user without grants. */
async function setUp() {
  const application = await createApplication(db);
  const parent = await createGroup(application.id);
  const child = await createGroup(application.id, parent);
  const vehicle = await createUnlinkedVehicle(db, application);
  await join(child, vehicle);
  const user = await createUser(db, application);
  const caller = { applicationId: application.id, userId: user.id };
  return { application, parent, child, vehicle, user, caller };
}

describe('a grant of a group', () => {
  const permitted: Record<GrantRole, readonly VehicleAct[]> = {
    viewer: ['read'],
    driver: ['read', 'book'],
    manager: ['read', 'book', 'use', 'drive', 'manage'],
  };
  it.each(grantRoles)('with role %s permits exactly the actions of the role on vehicles of subgroups', async (role) => {
    const { parent, vehicle, user, caller } = await setUp();
    await expect(findVehicle(db, caller, vehicle)).rejects.toThrow('no such vehicle');
    await grant(user.id, parent, role);
    const acts: VehicleAct[] = [];
    for (const act of permitted.manager) {
      const { rows } = await sql<{ permitted: boolean }>`select ${accessibleTo(caller, act)} as permitted from vehicle
        where id = ${Number(vehicle)}`.execute(db);
      if (rows[0]?.permitted) acts.push(act);
    }
    expect(acts).toEqual(permitted[role]);
  });

  it('is rejected for a user of another application', async () => {
    const [{ parent, application }, other] = [await setUp(), await setUp()];
    await expect(
      sql`insert into group_grant (user_id, application_id, group_id)
        values (${other.user.id}, ${other.application.id}, ${parent})`.execute(db),
    ).rejects.toThrow('group_grant_group');
    await sql`insert into group_grant (user_id, application_id, group_id)
      values (${other.user.id}, ${application.id}, ${parent})`.execute(db);
    const { rows } = await sql`select from vehicle where ${accessibleTo(other.caller)}`.execute(db);
    expect(rows).toEqual([]);
  });

  it('covers a vehicle that joins before the grant is committed', async () => {
    const { application, parent, child, user, caller } = await setUp();
    const added = await createUnlinkedVehicle(db, application);
    await db.transaction().execute(async (trx) => {
      await sql`insert into group_grant (user_id, application_id, group_id)
        values (${user.id}, ${application.id}, ${parent})`.execute(trx);
      const joined = join(child, added);
      return { joined };
    });
    await expect.poll(() => findVehicle(db, caller, added).catch(() => undefined)).toMatchObject({ id: Number(added) });
  });
});

describe('access through groups', () => {
  it('is the strongest role of all grants after any sequence of changes to grants and the tree', async () => {
    const application = await createApplication(db);
    const groups: string[] = [];
    for (let one = 0; one < 4; one += 1) groups.push(await createGroup(application.id));
    const vehicles = await Promise.all([0, 1, 2].map(() => createUnlinkedVehicle(db, application)));
    const users = await Promise.all([0, 1].map(() => createUser(db, application)));
    const parents = new Map<string, string>();
    const members = new Set<string>();
    const grants = new Map<string, GrantRole>();

    const lineage = (group: string): string[] => {
      const above = parents.get(group);
      return [group, ...(above === undefined ? [] : lineage(above))];
    };
    const expected = () => {
      const found: Record<string, GrantRole> = {};
      for (const user of users) {
        for (const vehicle of vehicles) {
          const holders = groups.filter((group) => members.has(`${group} ${vehicle}`)).flatMap(lineage);
          const roles = [vehicle, ...holders].flatMap((holder) => grants.get(`${user.id} ${holder}`) ?? []);
          const strongest = grantRoles.findLast((role) => roles.includes(role));
          if (strongest) found[`${user.id} ${vehicle}`] = strongest;
        }
      }
      return found;
    };
    const pick = <One>(list: readonly One[], index: number) => list[index % list.length] as One;
    /** Each step changes the model, and returns the equivalent database change. */
    const steps = {
      join: (group: string, vehicle: string) => members.add(`${group} ${vehicle}`) && join(group, vehicle),
      leave: (group: string, vehicle: string) => members.delete(`${group} ${vehicle}`) && leave(group, vehicle),
      move(group: string, _vehicle: string, _user: string, parent: string) {
        if (lineage(parent).includes(group)) return undefined;
        return parents.set(group, parent) && move(group, parent);
      },
      detach(group: string) {
        parents.delete(group);
        return move(group, null);
      },
      grant: (group: string, _vehicle: string, user: string, _parent: string, role: GrantRole) =>
        grants.set(`${user} ${group}`, role) && grant(user, group, role),
      revoke: (group: string, _vehicle: string, user: string) =>
        grants.delete(`${user} ${group}`) &&
        sql`delete from group_grant where user_id = ${user} and group_id = ${group}`.execute(db),
      grantVehicle: (_group: string, vehicle: string, user: string, _parent: string, role: GrantRole) =>
        grants.set(`${user} ${vehicle}`, role) &&
        sql`insert into vehicle_grant values (${user}, ${Number(vehicle)}, ${role})
          on conflict (user_id, vehicle_id) do update set role = excluded.role`.execute(db),
      revokeVehicle: (_group: string, vehicle: string, user: string) =>
        grants.delete(`${user} ${vehicle}`) &&
        sql`delete from vehicle_grant where user_id = ${user} and vehicle_id = ${Number(vehicle)}`.execute(db),
    } as const;
    const kinds = Object.keys(steps) as (keyof typeof steps)[];
    const step = fc.tuple(fc.constantFrom(...kinds), fc.nat(), fc.nat(), fc.nat(), fc.nat(), fc.nat());
    const stored = async () => {
      const { rows } = await sql<{ key: string; role: GrantRole }>`select user_id || ' ' || vehicle_id as key, role
        from vehicle_access where user_id = any(${users.map(({ id }) => id)}::uuid[])`.execute(db);
      return Object.fromEntries(rows.map(({ key, role }) => [key, role]));
    };
    const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (sequence) => {
      for (const [kind, ...picks] of sequence) {
        const [group, vehicle, user, parent, role] = picks;
        const chosen = [
          pick(groups, group),
          pick(vehicles, vehicle),
          pick(users, user).id,
          pick(groups, parent),
        ] as const;
        await steps[kind](...chosen, pick(grantRoles, role));
        expect(await stored()).toEqual(expected());
      }
    });
    await fc.assert(property, { numRuns: 15 });
  });

  it('ends when the group is deleted', async () => {
    const { child, vehicle, user, caller } = await setUp();
    await grant(user.id, child, 'manager');
    await sql`delete from vehicle_group where id = ${child}`.execute(db);
    await expect(findVehicle(db, caller, vehicle)).rejects.toThrow('no such vehicle');
  });
});

describe('a filter by groups', () => {
  it('includes subgroups, and matches nothing for foreign, unknown and malformed ids', async () => {
    const { application, parent, child, vehicle } = await setUp();
    await createUnlinkedVehicle(db, application);
    const foreign = await setUp();
    const found = async (...ids: string[]) => {
      const { rows } = await sql<{ id: string }>`select id::text from vehicle
        where ${inGroups(ids)} and ${visibleTo({ applicationIds: [application.id] })}`.execute(db);
      return rows.map(({ id }) => id);
    };
    expect(await found(parent)).toEqual([vehicle]);
    expect(await found(child, parent)).toEqual([vehicle]);
    expect(await found(foreign.parent, crypto.randomUUID(), "'; drop", '')).toEqual([]);
    expect(await found()).toEqual([]);
  });
});
