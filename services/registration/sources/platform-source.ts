import type { Source } from '../lookup/rules.ts';
import type { Fields } from '../record/fields.ts';
import { normalizePlate } from '../vin/plate.ts';
import { normalizeVin } from '../vin/vin.ts';

/** A vehicle as the platform's own tables describe it. */
export interface KnownVehicle {
  plate: string;
  vin: string;
  brand: string;
  model: string;
  energy: string;
  seats: number;
  gearbox: string;
  kind: string;
}

function fieldsOf(vehicle: KnownVehicle): Fields {
  const values = {
    'certificate.plate': normalizePlate(vehicle.plate)?.display ?? vehicle.plate,
    'certificate.vin': normalizeVin(vehicle.vin) ?? vehicle.vin,
    'certificate.brand': vehicle.brand,
    'certificate.model': vehicle.model,
    'certificate.energy': vehicle.energy,
    'certificate.seats': vehicle.seats,
    'certificate.national_type': vehicle.kind,
    'additional_information.gearbox_type': vehicle.gearbox,
  };
  return new Map(Object.entries(values).filter(([, value]) => value !== '' && value !== 0));
}

/** What the platform itself knows of one vehicle. */
export function createPlatformSource(vehicle: KnownVehicle): Source {
  const record = fieldsOf(vehicle);
  return { name: 'platform', find: async () => ({ records: [record], outcome: 'found' }) };
}
