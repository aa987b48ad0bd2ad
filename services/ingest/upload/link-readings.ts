import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { groupBy, type Interval, type LinkedReading, type UploadInProgress } from '../pipeline/readings.ts';

/** The vehicle of a device over an interval, with the privacy intervals of that vehicle. */
export interface Link extends Interval {
  vehicleId: number;
  applicationId: number;
  privacyIntervals: readonly Interval[];
}

type IntervalRow = [from: number | null, until: number | null];

interface LinkRow {
  device_id: string;
  vehicle_id: number;
  application_id: number;
  period: IntervalRow;
  privacy_intervals: IntervalRow[] | null;
}

const noIntervals: readonly Interval[] = [];

function toInterval([from, until]: IntervalRow): Interval {
  return {
    fromMicroseconds: from ?? Number.NEGATIVE_INFINITY,
    untilMicroseconds: until ?? Number.POSITIVE_INFINITY,
  };
}

function toLink(row: LinkRow): Link {
  return {
    ...toInterval(row.period),
    vehicleId: row.vehicle_id,
    applicationId: row.application_id,
    privacyIntervals: row.privacy_intervals?.map(toInterval) ?? noIntervals,
  };
}

/** An interval as a JSON array of two numbers, null for no bound. */
const intervalAsJson = sql`json_build_array(
  (extract(epoch from nullif(lower(period), '-infinity')) * 1000000)::bigint,
  (extract(epoch from nullif(upper(period), 'infinity')) * 1000000)::bigint)`;

/** Finds the links, past and present, of these devices to vehicles that still exist. */
async function findLinks(db: Database, deviceIds: readonly string[]): Promise<Map<string, LinkRow[]>> {
  const { rows } = await sql<LinkRow>`
    select device_link.device_id, device_link.vehicle_id, vehicle.application_id, ${intervalAsJson} as period,
      (select json_agg(${intervalAsJson}) from privacy_period where privacy_period.vehicle_id = vehicle.id)
        as privacy_intervals
    from device_link join vehicle on vehicle.id = device_link.vehicle_id
    where device_link.device_id = any(${deviceIds}::text[]) and vehicle.deleted_at is null`.execute(db);
  return groupBy(rows, (row) => row.device_id);
}

/** Finds the privacy intervals of a vehicle. */
export async function findPrivacyIntervals(db: Database, vehicleId: number): Promise<Interval[]> {
  const { rows } = await sql<{ interval: IntervalRow }>`
    select ${intervalAsJson} as interval from privacy_period where vehicle_id = ${vehicleId}`.execute(db);
  return rows.map(({ interval }) => toInterval(interval));
}

/** Devices in the cache; at this size it is cleared. */
const maximumDevices = 200_000;

/** Caches the links of devices for one version of the ingest decisions (packages/database/ingest-barrier.ts). */
export class LinkCache {
  #version: number | undefined;
  #links = new Map<string, readonly Link[]>();

  /** @param version from shareIngestBarrier in the transaction `db` */
  async find(
    db: Database,
    version: number,
    deviceIds: Iterable<string>,
  ): Promise<ReadonlyMap<string, readonly Link[]>> {
    if (version !== this.#version || this.#links.size > maximumDevices) {
      this.#version = version;
      this.#links = new Map();
    }
    // A concurrent transaction may replace the map while this one waits for its query.
    const links = this.#links;
    const unknown = [...deviceIds].filter((deviceId) => !links.has(deviceId));
    if (unknown.length === 0) return links;
    const found = await findLinks(db, unknown);
    for (const deviceId of unknown) links.set(deviceId, found.get(deviceId)?.map(toLink) ?? []);
    return links;
  }
}

/** Devices have few links, so a scan is faster than an index. */
function linkAt(links: readonly Link[] | undefined, timeMicroseconds: number): Link | undefined {
  return links?.find((link) => link.fromMicroseconds <= timeMicroseconds && timeMicroseconds < link.untilMicroseconds);
}

/**
 * Assigns each reading to the vehicle of its device at the reading's own time, however late it arrives. A reading without
 * such a link becomes a fault of its upload; one of a source too, where the vehicle belongs to another application.
 */
export function linkReadings(
  uploads: readonly UploadInProgress[],
  links: ReadonlyMap<string, readonly Link[]>,
): { linked: LinkedReading[]; uploads: UploadInProgress[] } {
  const linked: LinkedReading[] = [];
  const withFaults = uploads.map((inProgress) => {
    const { upload, readings } = inProgress;
    const faults = [...inProgress.faults];
    for (const { index, timeMicroseconds, reading } of readings) {
      const link = linkAt(links.get(upload.deviceId), timeMicroseconds);
      if (link && (upload.applicationId ?? link.applicationId) === link.applicationId) {
        const { vehicleId, applicationId, privacyIntervals } = link;
        const { deviceId, receivedAtMs } = upload;
        linked.push({ vehicleId, applicationId, deviceId, timeMicroseconds, receivedAtMs, reading, privacyIntervals });
      } else {
        const message = 'the device was not linked to a vehicle at that time';
        faults.push({ index, reason: 'DEVICE_NOT_LINKED', message });
      }
    }
    return { ...inProgress, faults };
  });
  return { linked, uploads: withFaults };
}
