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

/** Names a place for people: by its address, else by its coordinates. */
export const namePlace = ({ latitude, longitude, address }: Place): string =>
  address ?? `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`;

/** Adds the known address to the location of an event. The geocoder is not asked: the message would have to wait. */
export async function addAddress<
  E extends { readonly vehicleId?: string; readonly data: Readonly<Record<string, unknown>> },
>(db: Database, event: E): Promise<E> {
  const { vehicleId, data } = event;
  const { location } = data;
  if (vehicleId === undefined || !isPlace(location)) return event;
  const [address] = await addresses.find(db, [{ ...location, vehicleId }]);
  return { ...event, data: { ...data, location: { ...location, address } } };
}
