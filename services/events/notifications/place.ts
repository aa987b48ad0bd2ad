import { Addresses } from '@odograph/database/addresses';
import type { Database } from '@odograph/database/database';

interface Place {
  readonly latitude: number;
  readonly longitude: number;
  readonly address?: string;
}

const addresses = new Addresses();

export const isPlace = (value: unknown): value is Place =>
  Number.isFinite(Object(value).latitude) && Number.isFinite(Object(value).longitude);

/** Adds the known address to the location of an event. The geocoder is not asked: the message would have to wait. */
export async function addAddress<
  E extends { readonly vehicleId?: string; readonly data: Readonly<Record<string, unknown>> },
>(db: Database, event: E): Promise<E> {
  const { vehicleId, data } = event;
  if (vehicleId === undefined || !isPlace(data['location'])) return event;
  const location = { ...data['location'] };
  await addresses.addTo(db, [[vehicleId, location]]);
  return { ...event, data: { ...data, location } };
}
