import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createApplication } from '@odograph/testkit/fixtures';
import { expect, it } from 'vitest';
import { startFleet } from './fleet.fixture.ts';

const { platform, application, admin } = await startFleet();
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
  const other = await createApplication(platform.db);
  const taken = await admin.put(`/v1/x/admin/gbfs/${other.appId}`, settingsFor(systemId));
  expect([taken.status, taken.body.error]).toEqual([409, 'ALREADY_EXISTS']);
  expect((await admin.delete(adminPath)).status).toBe(200);
  for (const act of [() => admin.get(adminPath), () => admin.delete(adminPath)]) {
    expect((await act()).body.error).toBe('NOT_FOUND');
  }
});
