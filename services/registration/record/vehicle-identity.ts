import { invalidParameter } from '@odograph/contracts/failures';
import { normalizePlate } from '../vin/plate.ts';
import { normalizeVin } from '../vin/vin.ts';
import type { Fields } from './fields.ts';

/** Identifies a vehicle by its VIN, by the key of its plate, or by both. */
export interface VehicleIdentity {
  readonly vin?: string;
  readonly plate?: string;
}

/** No plate is that long, so longer text is meant as a VIN. */
const vinLength = 17;

/**
 * Parses a plate or VIN given by a client.
 * @param field the parameter's name, for the failure
 * @throws Failure INVALID_PARAMETER for text that is neither
 */
export function parsePlateOrVin(field: string, text: string): VehicleIdentity {
  const vin = normalizeVin(text);
  if (vin !== undefined) return { vin };
  const plate = normalizePlate(text);
  if (plate !== undefined) return { plate: plate.key };
  if (text.replace(/[\s._-]/g, '').length >= vinLength) {
    throw invalidParameter(field, 'is not a VIN: 17 digits and letters without I, O and Q');
  }
  throw invalidParameter(field, 'is neither a French plate, such as AB-123-CD or 1234 AB 75, nor a VIN');
}

/** Identifies a vehicle by free text; text that is not a valid plate or VIN is left out. */
export function identityOf(description: { vin: string; plate: string }): VehicleIdentity {
  const vin = normalizeVin(description.vin);
  const plate = normalizePlate(description.plate);
  return { ...(vin === undefined ? {} : { vin }), ...(plate === undefined ? {} : { plate: plate.key }) };
}

/** Identifies the vehicle of a record by its certificate. */
export function identityOfFields(fields: Fields): VehicleIdentity {
  return identityOf({
    vin: String(fields.get('certificate.vin') ?? ''),
    plate: String(fields.get('certificate.plate') ?? ''),
  });
}
