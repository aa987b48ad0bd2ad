import type { Scope, ViewRequest } from './fleet-view.ts';
import { LiveFleet, type LiveRow } from './live-fleet.ts';

export const showAll: Scope = { applicationIds: undefined, vehicleIds: undefined };
export const showEverywhere: ViewRequest = { area: undefined, zoom: undefined, followed: new Set() };

/** Builds the row of a vehicle that was moving at 1000 ms. */
export function row(id: number, values: Partial<LiveRow> = {}): LiveRow {
  return {
    ...{ id, applicationId: 1, appId: 'app', plate: `P-${id}`, vin: '', brand: '', model: '', deviceId: null },
    ...{
      flags: [],
      alarms: [],
      isPrivate: false,
      latitude: 48,
      longitude: 2,
      angle: 0,
      locationSpeed: 0,
      locatedAtMs: 1000,
    },
    ...{ ignition: true, engine: null, statusAtMs: 1000, fleetSpeed: null, fleetAtMs: null, soc: null },
    ...{ parkedAtMs: null, contactAtMs: 1000, ...values },
  };
}

/** Creates a fleet in memory. */
export function createFleet(rows: readonly LiveRow[]): LiveFleet {
  const fleet = new LiveFleet();
  fleet.load(rows, 1000, { changedAtMs: new Map(), knownFromMs: 0 });
  return fleet;
}
