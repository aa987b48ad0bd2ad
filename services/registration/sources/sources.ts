import type { Caller } from '@odograph/contracts/caller';
import type { Database } from '@odograph/database/database';
import { accessibleTo, findVehicle } from '@odograph/database/vehicle-access';
import { hasPlate } from '@odograph/database/vehicle-conditions';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { type RawBuilder, sql } from 'kysely';
import { findRecords } from '../imports/queries.ts';
import { normalizePlate } from '../record/identity.ts';
import { decodeVin, normalizeVin } from '../record/vin.ts';
import type { Finding, Source } from './lookup.ts';
import { createProviderSource, type ProviderHost } from './provider.ts';
import { type ProviderLimits, readProviderSettings } from './provider-settings.ts';

/** The sources of registration data: registers in descending priority, and the decoder of VINs. */
export interface Sources {
  readonly registers: readonly Source[];
  readonly vin: Source;
}

/**
 * Creates the sources that the settings name.
 * @throws InvalidSettings when the settings of the provider are invalid
 */
export function createSources(config: ResolvedConfig, host: ProviderHost, limits?: ProviderLimits): Sources {
  const provider = readProviderSettings(config, limits);
  return {
    registers: [
      createImportedSource(host.db),
      ...(provider === undefined ? [] : [createProviderSource(provider, host)]),
    ],
    vin: createVinSource(host.now),
  };
}

/** Creates the source of the records that the operator imported. */
function createImportedSource(db: Database): Source {
  return {
    name: 'imported',
    async find(identity, applicationId) {
      const records = await findRecords(db, identity, applicationId);
      return { records, outcome: records.length > 0 ? 'found' : 'unknown' };
    },
  };
}

/** Returns the newest model year that can be on the road: manufacturers are at most a year ahead of the calendar. */
export function latestModelYear(nowMs: number): number {
  return new Date(nowMs).getUTCFullYear() + 1;
}

/** Creates the source that derives the make from the VIN. A VIN of an unlisted manufacturer counts as unknown. */
function createVinSource(now: () => number): Source {
  return {
    name: 'vin',
    async find({ vin }): Promise<Finding> {
      if (vin === undefined) return { records: [], outcome: 'not-asked' };
      const { make } = decodeVin(vin, latestModelYear(now()));
      if (make === '') return { records: [], outcome: 'unknown' };
      const fields = new Map([
        ['certificate.vin', vin],
        ['certificate.brand', make],
      ]);
      return { records: [fields], outcome: 'found' };
    },
  };
}

/** A vehicle as the platform's own tables describe it. */
export interface VehicleDescription {
  plate: string;
  vin: string;
  brand: string;
  model: string;
  energy: string;
  seats: number;
  gearbox: string;
  kind: string;
}

const descriptionColumns = ['plate', 'vin', 'brand', 'model', 'energy', 'seats', 'gearbox', 'kind'] as const;

/**
 * Reads the platform's own description of a vehicle.
 * @throws Failure UNKNOWN_VEHICLE for a missing, deleted or foreign vehicle alike
 */
export async function findDescription(db: Database, caller: Caller, vehicleId: string): Promise<VehicleDescription> {
  const { id } = await findVehicle(db, caller, vehicleId);
  return db.selectFrom('vehicle').select(descriptionColumns).where('id', '=', id).executeTakeFirstOrThrow();
}

/**
 * Reads the platform's own description of the vehicle with a plate or VIN in any format, among those that the caller may
 * see.
 * @returns a vehicle with this plate before one with this VIN, the newest of several; undefined if none matches
 */
export async function findOwnDescription(
  db: Database,
  caller: Caller,
  text: string,
): Promise<VehicleDescription | undefined> {
  const find = (condition: RawBuilder<boolean>) =>
    db
      .selectFrom('vehicle')
      .select(descriptionColumns)
      .where(accessibleTo(caller))
      .where(condition)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
  const plate = normalizePlate(text)?.key ?? text;
  const vin = normalizeVin(text) ?? text;
  // Only plates have an index: one condition for both would compare every vehicle of the application.
  const withPlate = await find(sql<boolean>`(${hasPlate(text)} or ${hasPlate(plate)})`);
  return withPlate ?? find(sql<boolean>`upper(vin) = upper(${vin})`);
}

/** Creates the source that answers with the platform's own description of one vehicle. */
export function createPlatformSource(vehicle: VehicleDescription): Source {
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
  const record = new Map(Object.entries(values).filter(([, value]) => value !== '' && value !== 0));
  return { name: 'platform', find: async () => ({ records: [record], outcome: 'found' }) };
}
