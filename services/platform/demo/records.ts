import { type DemoClient, waitFor } from './client.ts';
import { places } from './itineraries.ts';

/** The driver of the demo's authorizations and bookings. */
export const demoDriver = 'demo-driver';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** An authorization cannot be issued for the past, so the expired one ends after this time. */
const expiryMs = 1500;
const timeoutMs = 15_000;

const parking = {
  ...{ name: 'Depot', address: 'Zollstrasse 1', zipcode: '9494', city: 'Schaan', country: 'Liechtenstein' },
  ...places.depot,
};
/** Around the depot: vehicles of the demo drive in and out. */
const geofence = { name: 'Vaduz', geometry: { type: 'Point', coordinates: [9.5215, 47.141] }, radiusMetres: 1500 };

const fromNow = (milliseconds: number): string => new Date(Date.now() + milliseconds).toISOString();

async function ensureParking(client: DemoClient, vehicleId: string): Promise<void> {
  const { parkings } = await client.get<{ parkings: { id: string }[] }>('/v1/parkings');
  const id = parkings[0]?.id ?? (await client.post<{ parking_id: string }>('/v1/parkings', parking)).parking_id;
  await client.post(`/v1/vehicle/${vehicleId}/parking`, { parkingId: id });
}

/** Issues an authorization of each category that has none. */
async function ensureAuthorizations(client: DemoClient, vehicleId: string): Promise<void> {
  const isListed = async (category: string): Promise<boolean> => {
    const path = `/v1/vehicle/${vehicleId}/authorizations/${category}`;
    return (await client.get<{ authorizations: unknown[] }>(path)).authorizations.length > 0;
  };
  const ensure = async (category: string, fromMs: number, untilMs: number): Promise<void> => {
    if (await isListed(category)) return;
    const interval = { from: fromNow(fromMs), until: fromNow(untilMs) };
    await client.post('/v1/bluetooth-token', { vehicleId, userId: demoDriver, level: 'DRIVE', ...interval });
  };
  await ensure('expired', -2 * dayMs, expiryMs);
  await waitFor(() => isListed('expired'), timeoutMs);
  await ensure('scheduled', 6 * dayMs, 7 * dayMs);
  await ensure('current', -hourMs, 5 * dayMs);
}

/** Books the vehicle for tomorrow, and for now until then. */
async function ensureBookings(client: DemoClient, vehicleId: string): Promise<void> {
  const path = `/v1/vehicle/${vehicleId}/booking`;
  const { bookings } = await client.get<{ bookings: { from: string }[] }>(path);
  if (!bookings.some(({ from }) => Date.parse(from) > Date.now())) {
    const tomorrow = { from: fromNow(dayMs), until: fromNow(dayMs + 2 * hourMs) };
    await client.post(path, { type: 'BOOKING', driver: demoDriver, ...tomorrow });
  }
  const active = await client.get<{ bookings: unknown[] }>('/v1/bookings');
  if (active.bookings.length > 0) return;
  await client.post(path, { type: 'FREE_FLOATING', driver: demoDriver, from: fromNow(0) });
}

/** Creates a geofence that one vehicle must not leave, and rules that the simulated drives break now and then. */
async function ensureAlarmRules(client: DemoClient, vehicleId: string): Promise<void> {
  const { rules } = await client.get<{ rules: unknown[] }>('/v1/x/alarm-rules');
  if (rules.length > 0) return;
  const { id: geofenceId } = await client.post<{ id: string }>('/v1/x/geofences', geofence);
  for (const rule of [
    { name: 'Leaves Vaduz', kind: 'geofence', parameters: { geofenceId, when: 'outside' }, vehicleIds: [vehicleId] },
    { name: 'City speed', kind: 'speed', parameters: { limitKmh: 70 } },
    { name: 'Battery', kind: 'low-battery', parameters: { belowPercent: 20 } },
    { name: 'No contact', kind: 'silent', parameters: { afterMinutes: 30 } },
  ]) {
    await client.post('/v1/x/alarm-rules', rule);
  }
}

/** Creates what is missing: a parking spot, authorizations of each category and bookings of a vehicle, and alarm rules. */
export async function ensureRecords(client: DemoClient, vehicleId: string): Promise<void> {
  await ensureParking(client, vehicleId);
  await ensureAlarmRules(client, vehicleId);
  await ensureAuthorizations(client, vehicleId);
  await ensureBookings(client, vehicleId);
}

/** Sends a command as soon as the device is connected, unless the vehicle has had one. */
export async function ensureCommand(client: DemoClient, vehicleId: string): Promise<void> {
  const { commands } = await client.get<{ commands: unknown[] }>(`/v1/x/commands?vehicleId=${vehicleId}`);
  if (commands.length > 0) return;
  await waitFor(async () => {
    await client.post('/v1/vehicle/honk', { vehicleId });
    return true;
  }, timeoutMs);
}
