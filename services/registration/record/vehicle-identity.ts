import { invalidParameter } from '@odograph/contracts/failures';
import { normalizePlate } from '../vin/plate.ts';
import { normalizeVin } from '../vin/vin.ts';
import type { Fields } from './fields.ts';

/** Which vehicle is looked up: by its VIN, by the key of its plate, or by both. */
export interface VehicleIdentity {
  readonly vin?: string;
  readonly plate?: string;
}

/** Text of 17 characters can only be meant as a VIN, for no plate is that long. */
const vinLength = 17;

/**
 * What a client wrote as plate or VIN.
 * @param field the parameter's name, for the failure
 * @throws Failure INVALID_PARAMETER for text that is neither
 */
export function parsePlateOrVin(field: string, text: string): VehicleIdentity {
  const vin = normalizeVin(text);
  if (vin !== undefined) return { vin };
  const plate = normalizePlate(text);
  if (plate !== undefined) return { plate: plate.key };
  if (text.replace(/[\s._-]/g, '').length >= vinLength) {
    throw invalidParameter(field, 'is no VIN: 17 digits and letters without I, O and Q');
  }
  throw invalidParameter(field, 'is neither a French plate, such as AB-123-CD or 1234 AB 75, nor a VIN');
}

/** The subject of a description that may hold anything: what is no plate or VIN is left out. */
export function identityOf(description: { vin: string; plate: string }): VehicleIdentity {
  const vin = normalizeVin(description.vin);
  const plate = normalizePlate(description.plate);
  return { ...(vin === undefined ? {} : { vin }), ...(plate === undefined ? {} : { plate: plate.key }) };
}

/** The subject that a record names in its certificate. */
export function identityOfFields(fields: Fields): VehicleIdentity {
  return identityOf({
    vin: String(fields.get('certificate.vin') ?? ''),
    plate: String(fields.get('certificate.plate') ?? ''),
  });
}
