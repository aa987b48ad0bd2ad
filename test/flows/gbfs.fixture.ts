import { readFileSync } from 'node:fs';
import type { Database } from '@odograph/database/database';
import type { ApiClient } from '@odograph/testkit/api-client';
import { createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';

/** Reads a JSON file. @param path relative to this folder */
export const readJson = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));

/** The settings that docs/gbfs.md begins with. */
export const settingsExample = readJson('../../examples/gbfs-settings.json');

/** The example under another system id. */
export const settingsFor = (systemId: string, changes: object = {}) => ({
  ...settingsExample,
  system: { ...settingsExample.system, system_id: systemId },
  ...changes,
});

/** Field groups of a vehicle's latest state. */
export interface State {
  location?: object;
  status?: object;
  electric?: object;
}
const parkedState: State = {
  location: { latitude: 48.85661234, longitude: 2.35221234, speed: 0 },
  status: { ignition: false, autonomy: 187.654 },
  electric: { soc: 61.4 },
};

/** Creates a car that stands free in the street, as its device reported these seconds ago. */
export async function createParked(
  db: Database,
  application: TestApplication,
  state: State = {},
  secondsAgo = 60,
): Promise<TestVehicle> {
  const vehicle = await createVehicle(db, application);
  const { location, status, electric } = { ...parkedState, ...state };
  await sql`insert into vehicle_latest (vehicle_id, time, received_at, location, location_time, status, status_time, electric,
      electric_time)
    select ${Number(vehicle.id)}, at, at, ${JSON.stringify(location)}::jsonb, at, ${JSON.stringify(status)}::jsonb, at,
      ${JSON.stringify(electric)}::jsonb, at
    from (select now() - make_interval(secs => ${secondsAgo}) as at) as moment`.execute(db);
  return vehicle;
}

/** Creates a parking spot at the place of parked cars, or without a place. */
export async function createParkingSpot(api: ApiClient, place: object = { latitude: 48.8566, longitude: 2.3522 }) {
  const fields = { name: 'Town Hall', address: '1 Square', zipcode: '75004', city: 'Paris', country: 'France' };
  const { body } = await api.post('/v1/parkings', { ...fields, ...place });
  return (await api.get(`/v1/parkings/${body.parking_id}`)).body;
}
