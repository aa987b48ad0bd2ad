import { Failure, type FailureCode, invalidParameter } from '@odograph/contracts/failures';

/** The fields of a parking spot in a request; undefined if left out. */
export interface SpotFields {
  name?: string;
  address?: string;
  address2?: string;
  zipcode?: string;
  city?: string;
  country?: string;
  /** Degrees. */
  latitude?: number | undefined;
  longitude?: number | undefined;
}

const required = [
  ['name', 'MISSING_NAME'],
  ['address', 'MISSING_ADDRESS'],
  ['zipcode', 'MISSING_ZIPCODE'],
  ['city', 'MISSING_CITY'],
  ['country', 'MISSING_COUNTRY'],
] as const satisfies readonly (readonly [keyof SpotFields, FailureCode])[];

/** The failure codes of the required fields. */
export const missingCodes: readonly FailureCode[] = required.map(([, code]) => code);

/**
 * Completes a new spot; only address2 may be empty.
 * @throws Failure MISSING_… for the first field that is missing or blank
 */
export function requireSpot(fields: SpotFields): Required<SpotFields> {
  const { name = '', address = '', address2 = '', zipcode = '', city = '', country = '' } = fields;
  const { latitude, longitude } = fields;
  const spot = { name, address, address2, zipcode, city, country, latitude, longitude };
  requireFilled(spot);
  return spot;
}

/**
 * Checks a change of a spot.
 * @throws Failure MISSING_… for the first required field that is given and blank, INVALID_PARAMETER for half a place
 */
export function requireFilled(fields: SpotFields): void {
  if ((fields.latitude === undefined) !== (fields.longitude === undefined)) {
    throw invalidParameter('longitude', 'must be given together with latitude');
  }
  const blank = required.find(([field]) => fields[field]?.trim() === '');
  if (blank) throw new Failure(blank[1], undefined, { field: blank[0] });
}
