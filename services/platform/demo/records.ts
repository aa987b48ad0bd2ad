import { type DemoClient, waitFor } from './client.ts';

/** The driver of the demo's authorizations and bookings. */
export const demoDriver = 'demo-driver';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** An authorization cannot be issued for the past, so the expired one ends after this time. */
const expiryMs = 1500;
const patienceMs = 15_000;

const parking = { name: 'Depot', address: '1 rue de Rivoli', zipcode: '75001', city: 'Paris', country: 'France' };

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
  await waitFor(() => isListed('expired'), patienceMs);
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

/** Creates what is missing of a parking spot, authorizations of each category and bookings of a vehicle. */
export async function ensureRecords(client: DemoClient, vehicleId: string): Promise<void> {
  await ensureParking(client, vehicleId);
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
  }, patienceMs);
}
