import type { Finding, Source } from '../lookup/rules.ts';
import { decodeVin } from '../vin/vin.ts';

/** The last model year that can be on the road: makers are at most a year ahead of the calendar. */
export function latestModelYear(nowMs: number): number {
  return new Date(nowMs).getUTCFullYear() + 1;
}

/** What the VIN says by itself: the make. A VIN of an unknown manufacturer is no knowledge of a vehicle. */
export function createVinSource(now: () => number): Source {
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
