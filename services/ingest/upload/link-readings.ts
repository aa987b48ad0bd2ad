import { disclosesPosition, isPositionSensor } from '@odograph/contracts/positions';
import { type CanDatum, maximumReadingBytes, type TelemetryReading } from '@odograph/contracts/telemetry';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import {
  groupBy,
  type Interval,
  isPrivateAt,
  isWithin,
  type LinkedReading,
  type UploadInProgress,
} from '../pipeline/readings.ts';
import { withoutKeysOf } from './decode-frames.ts';

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
  interval: IntervalRow;
  privacy_intervals: IntervalRow[] | null;
}

function toInterval([from, until]: IntervalRow): Interval {
  return {
    fromMicroseconds: from ?? Number.NEGATIVE_INFINITY,
    untilMicroseconds: until ?? Number.POSITIVE_INFINITY,
  };
}

const toLink = ({ interval, vehicle_id: vehicleId, application_id: applicationId, ...row }: LinkRow): Link => ({
  ...{ ...toInterval(interval), vehicleId, applicationId },
  privacyIntervals: row.privacy_intervals?.map(toInterval) ?? [],
});

/** An interval as a JSON array of two numbers, null for no bound. */
const intervalAsJson = sql`json_build_array(
  (extract(epoch from nullif(lower(period), '-infinity')) * 1000000)::bigint,
  (extract(epoch from nullif(upper(period), 'infinity')) * 1000000)::bigint)`;

/** Finds the links, past and present, of these devices to vehicles that still exist. */
async function findLinks(db: Database, deviceIds: readonly string[]): Promise<Map<string, LinkRow[]>> {
  const { rows } = await sql<LinkRow>`
    select device_link.device_id, device_link.vehicle_id, vehicle.application_id, ${intervalAsJson} as interval,
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
const maxDevices = 200_000;

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
    if (version !== this.#version || this.#links.size > maxDevices) {
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
      // Devices have few links, so a scan is faster than an index.
      const link = links.get(upload.deviceId)?.find((one) => isWithin(one, timeMicroseconds));
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

const withoutPositions = (data: readonly CanDatum[]): CanDatum[] => data.filter((datum) => !disclosesPosition(datum));

const sensorsWithoutPositions = (sensors: NonNullable<TelemetryReading['sensors']>) =>
  sensors
    .filter((sensor) => !isPositionSensor(sensor))
    .map(({ name, data }) => ({ name, data: withoutPositions(data) }));

/**
 * Removes every field that discloses a position, and all raw CAN frames, which may contain one. The speed moves to the fleet
 * group: together with the ignition it decides whether the vehicle may be immobilized.
 */
function withoutPosition(linked: LinkedReading): LinkedReading {
  const { reading, decodedCan } = linked;
  const { location, can, sensors } = reading;
  const speed = reading.fleet?.speed ?? location?.speed;
  const protectedReading: TelemetryReading = {
    ...reading,
    ...(can && { can: withoutPositions(can) }),
    ...(sensors && { sensors: sensorsWithoutPositions(sensors) }),
    ...(speed !== undefined && { fleet: { ...reading.fleet, speed } }),
  };
  delete protectedReading.location;
  delete protectedReading.frames;
  return {
    ...linked,
    reading: protectedReading,
    ...(decodedCan && { decodedCan: withoutPositions(decodedCan) }),
  };
}

/**
 * Removes the positions of readings in a privacy interval of their vehicle, before anything is written. The reading's own
 * time decides, so a late upload does not bypass it.
 */
export function protectReadings(readings: readonly LinkedReading[]): LinkedReading[] {
  return readings.map((linked) => {
    const isPrivate = isPrivateAt(linked.privacyIntervals, linked.timeMicroseconds);
    return isPrivate ? withoutPosition(linked) : linked;
  });
}

/** Groups that are merged field by field. */
const mergedGroups = ['location', 'status', 'electric', 'fleet', 'alarms'] as const;

const bytesOf = (list: readonly object[]): number => Buffer.byteLength(JSON.stringify(list));

/**
 * Joins two lists; elements of the newer one win. If both together are larger than a reading may be, returns the newer one:
 * the reading of a device whose clock stands still would otherwise grow with every upload.
 */
function joinLists<Element extends object>(
  older: readonly Element[],
  newer: readonly Element[],
  keyOf: (element: Element) => string,
): Element[] {
  if (bytesOf(older) + bytesOf(newer) > maximumReadingBytes) return [...newer];
  const keys = new Set(newer.map(keyOf));
  return [...older.filter((element) => !keys.has(keyOf(element))), ...newer];
}

/**
 * Merges two readings of the same vehicle and time; fields and list elements of the newer one win; its frames replace the older
 * ones as a whole.
 */
function mergeFields(older: TelemetryReading, newer: TelemetryReading): TelemetryReading {
  const merged: TelemetryReading = { ...older, ...newer };
  if (older.can && newer.can) merged.can = joinLists(older.can, newer.can, ({ key }) => key);
  if (older.sensors && newer.sensors) merged.sensors = joinLists(older.sensors, newer.sensors, ({ name }) => name);
  for (const group of mergedGroups) {
    if (older[group] && newer[group]) Object.assign(merged, { [group]: { ...older[group], ...newer[group] } });
  }
  return merged;
}

function mergeLinked(older: LinkedReading, newer: LinkedReading): LinkedReading {
  const reading = mergeFields(older.reading, newer.reading);
  const decodedCan = newer.decodedCan ?? older.decodedCan;
  return { ...newer, reading, ...(decodedCan && { decodedCan: withoutKeysOf(reading.can, decodedCan) }) };
}

/**
 * Merges readings of the same vehicle and time in the order of their receipt.
 * @returns distinct readings sorted by vehicle, then time: the order in which every transaction locks rows
 */
export function mergeReadings(readings: readonly LinkedReading[]): LinkedReading[] {
  const sorted = [...readings].sort(
    (a, b) => a.vehicleId - b.vehicleId || a.timeMicroseconds - b.timeMicroseconds || a.receivedAtMs - b.receivedAtMs,
  );
  const merged: LinkedReading[] = [];
  for (const next of sorted) {
    const last = merged.at(-1);
    if (last?.vehicleId === next.vehicleId && last.timeMicroseconds === next.timeMicroseconds) {
      merged[merged.length - 1] = mergeLinked(last, next);
    } else {
      merged.push(next);
    }
  }
  return merged;
}
