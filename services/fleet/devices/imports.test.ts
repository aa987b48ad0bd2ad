import { randomUUID } from 'node:crypto';
import { hashSecret } from '@odograph/runtime/secrets';
import { createBrowser } from '@odograph/testkit/api-client';
import { createApplication, createOperator, createUnlinkedVehicle, createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { maximumDevices } from './imports.ts';

const { platform, application, admin } = await startFleet();
const { db } = platform;
const newId = () => `import-${randomUUID()}`;
const post = (csv: string, check = false, as = admin) => as.post('/v1/x/admin/device-imports', { csv, check });
const file = (...lines: string[]) => ['id,model,appId,vehicleId,plate,bluetoothName', ...lines].join('\r\n');
const stored = async (...ids: string[]) =>
  db.selectFrom('device').selectAll().where('id', 'in', ids).orderBy('id').execute();

describe('POST /v1/x/admin/device-imports', () => {
  it('creates all devices of a file with their links, and shows each secret once', async () => {
    const [first, second, third] = ['a', 'b', 'c'].map((letter) => `${letter}-${newId()}`) as [string, string, string];
    const [byId, byPlate] = [
      await createUnlinkedVehicle(db, application),
      await createUnlinkedVehicle(db, application),
    ];
    const plate = `PL ${randomUUID().slice(0, 8)}`;
    await sql`update vehicle set plate = ${plate} where id = ${byPlate}::integer`.execute(db);
    const { body } = await post(
      file(
        `${first},generic,${application.appId},${byId},,ODO-1`,
        `${second}, tracker ,,,${plate.replace(' ', '-')},`,
        '',
        `${third},obd`,
      ),
    );
    expect(body).toMatchObject({ lines: 3, faults: [] });
    const rows = await stored(first, second, third);
    expect(
      rows.map(({ model_id, application_id, bluetooth_name }) => [model_id, application_id, bluetooth_name]),
    ).toEqual([
      ['generic', application.id, 'ODO-1'],
      ['tracker', application.id, ''],
      ['obd', null, ''],
    ]);
    expect(rows.map(({ secret_sha256 }) => secret_sha256)).toEqual(
      body.devices.map(({ secret }: { secret: string }) => hashSecret(secret)),
    );
    expect(body.devices[2].claimCode).toMatch(/^[A-Z0-9-]+$/);
    const links = await sql<{ vehicle: string }>`select vehicle_id::text as vehicle from device_link
      where device_id in (${first}, ${second}) order by device_id`.execute(db);
    expect(links.rows.map(({ vehicle }) => vehicle)).toEqual([byId, byPlate]);
    const audit = await sql<{ actions: string[] }>`select array_agg(action order by action) as actions from audit
      where subject in (${`device:${first}`}, ${`device:${third}`})`.execute(db);
    expect(audit.rows[0]?.actions).toEqual(['device.create', 'device.create', 'device.link']);
  });

  it.each([true, false])('names the fault of every line, and writes none of them (check: %s)', async (check) => {
    const linked = await createVehicle(db, application);
    const free = await createUnlinkedVehicle(db, application);
    const good = newId();
    const { body } = await post(
      file(
        `${good},generic,${application.appId},${free}`,
        'not an id,generic',
        `${newId()},none`,
        `${linked.deviceId},generic`,
        `${newId()},generic,${application.appId},${linked.id}`,
        `${good},generic`,
        `${newId()},generic,,${free}`,
        `${newId()},generic,app-missing`,
        `${newId()},generic,,,ZZ-MISSING`,
        `${newId()},generic,,1,AB-1`,
        `${newId()},generic,a,b,c,d,e`,
      ),
      check,
    );
    const messages = body.faults.map(({ line, column }: { line: number; column: string }) => [line, column]);
    expect(messages).toEqual([
      [3, 'id'],
      [4, 'model'],
      [5, ''],
      [6, ''],
      [7, ''],
      [8, ''],
      [9, ''],
      [10, 'plate'],
      [11, 'plate'],
      [12, ''],
    ]);
    expect(body.faults[1].message).toMatch(/^must be a device model: /);
    expect(body.devices).toEqual([]);
    expect(await stored(good)).toEqual([]);
  });

  it('writes nothing when it only checks, also for a file without a fault', async () => {
    const id = newId();
    expect((await post(`id;model\n${id};generic`, true)).body).toEqual({ lines: 1, faults: [], devices: [] });
    expect(await stored(id)).toEqual([]);
    expect((await post(`id;model\n${id};generic`)).body.devices).toHaveLength(1);
  });

  it.each([
    ['', 'INVALID_PARAMETER'],
    ['id,type\na,b', [1, 'type']],
    ['model\ngeneric', [1, 'id']],
    ['id,model,id\na,b,c', [1, 'id']],
    ['id,model', [1, '']],
    ['id,model\n"a,b', [2, '']],
    ['\n\n', [1, '']],
    [`id,model\n${'a,generic\n'.repeat(maximumDevices + 1)}`, [1, '']],
  ])('refuses a file that is no table of devices: %j', async (csv, expected) => {
    const { body } = await post(csv);
    const [fault] = body.faults ?? [];
    expect(fault ? [fault.line, fault.column] : body.error).toEqual(expected);
  });

  it('confines an operator with limits to its applications, and refuses one who only reads', async () => {
    const foreign = await createApplication(db);
    const vehicle = await createUnlinkedVehicle(db, foreign);
    const browserOf = async (role: 'viewer' | 'operator') =>
      createBrowser(platform.httpUrl, (await createOperator(db, { role, applicationIds: [application.id] })).cookie);
    const csv = file(
      `${newId()},generic,${foreign.appId}`,
      `${newId()},generic,,${vehicle}`,
      `${newId()},generic`,
      `${newId()},generic,${application.appId}`,
    );
    const { body } = await post(csv, false, await browserOf('operator'));
    expect(body.faults.map(({ line }: { line: number }) => line)).toEqual([2, 3, 4]);
    expect((await post(csv, false, await browserOf('viewer'))).status).toBe(403);
  });
});
