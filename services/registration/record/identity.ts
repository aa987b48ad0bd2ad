import { invalidParameter } from '@odograph/contracts/failures';
import type { Fields } from './fields.ts';
import { normalizeVin } from './vin.ts';

/** Format since 2009: AB-123-CD, without the letters I, O and U, the group SS and the number 000. */
const currentFormat = /^(?!SS)([A-HJ-NP-TV-Z]{2})(?!000)(\d{3})(?!SS)([A-HJ-NP-TV-Z]{2})$/;
/** Format from 1950 to 2009: up to four digits, one to three letters without I and O, and the department. */
const formerFormat = /^0*([1-9]\d{0,3})([A-HJ-NP-Z]{1,3})(0[1-9]|[1-8]\d|9[0-5]|2[AB]|97[1-8]|98[4-8])$/;

/** A French plate: `key` for comparison, `display` with separators. */
export interface Plate {
  key: string;
  display: string;
}

/**
 * Parses a French plate with any separators and in any case.
 * @returns undefined for text in neither the current nor the former format
 */
export function normalizePlate(text: string): Plate | undefined {
  const compact = text.replace(/[\s._·–—-]/g, '');
  if (!/^[A-Za-z0-9]{1,12}$/.test(compact)) return undefined;
  const capitals = compact.toUpperCase();
  const current = currentFormat.exec(capitals);
  if (current) return plateOf(current.slice(1), '-');
  const former = formerFormat.exec(capitals);
  return former ? plateOf(former.slice(1), ' ') : undefined;
}

function plateOf(groups: readonly string[], separator: string): Plate {
  return { key: groups.join(''), display: groups.join(separator) };
}

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
