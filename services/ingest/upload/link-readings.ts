import type { TelemetryReading } from '@odograph/contracts/telemetry';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import type { UploadInProgress } from './decode-uploads.ts';

/** Half-open, microseconds since the epoch. */
export interface Period {
  fromMicroseconds: number;
  untilMicroseconds: number;
}

/** The vehicle that a device was linked to in a period, and when that vehicle's positions are private. */
export interface Link extends Period {
  vehicleId: number;
  applicationId: number;
  privatePeriods: readonly Period[];
}

type PeriodRow = [from: number | null, until: number | null];

interface LinkRow {
  device_id: string;
  vehicle_id: number;
  application_id: number;
  period: PeriodRow;
  private_periods: PeriodRow[] | null;
}

const noPeriods: readonly Period[] = [];

function toPeriod([from, until]: PeriodRow): Period {
  return {
    fromMicroseconds: from ?? Number.NEGATIVE_INFINITY,
    untilMicroseconds: until ?? Number.POSITIVE_INFINITY,
  };
}

/** A period as a JSON array of two numbers, null where it has no bound. */
const periodAsJson = sql`json_build_array(
  (extract(epoch from nullif(lower(period), '-infinity')) * 1000000)::bigint,
  (extract(epoch from nullif(upper(period), 'infinity')) * 1000000)::bigint)`;

/** Every link that these devices ever had to a vehicle that still exists. */
async function findLinks(db: Database, deviceIds: readonly string[]): Promise<Map<string, Link[]>> {
  const { rows } = await sql<LinkRow>`
    select device_link.device_id, device_link.vehicle_id, vehicle.application_id, ${periodAsJson} as period,
      (select json_agg(${periodAsJson}) from privacy_period where privacy_period.vehicle_id = vehicle.id) as private_periods
    from device_link join vehicle on vehicle.id = device_link.vehicle_id
    where device_link.device_id = any(${deviceIds}::text[]) and vehicle.deleted_at is null`.execute(db);
  const links = new Map<string, Link[]>();
  for (const row of rows) {
    const link: Link = {
      ...toPeriod(row.period),
      vehicleId: row.vehicle_id,
      applicationId: row.application_id,
      privatePeriods: row.private_periods?.map(toPeriod) ?? noPeriods,
    };
    const known = links.get(row.device_id);
    if (known) known.push(link);
    else links.set(row.device_id, [link]);
  }
  return links;
}

/** Devices that are remembered; beyond them all are forgotten. */
const mostDevices = 200_000;

/** The links of devices as long as no decision changes: the next version of the decisions forgets them all. */
export class LinkMemory {
  #version: number | undefined;
  #links = new Map<string, readonly Link[]>();

  /** @param version what shareIngestBarrier gave in the transaction that `db` is */
  async find(
    db: Database,
    version: number,
    deviceIds: Iterable<string>,
  ): Promise<ReadonlyMap<string, readonly Link[]>> {
    if (version !== this.#version || this.#links.size > mostDevices) {
      this.#version = version;
      this.#links = new Map();
    }
    const links = this.#links;
    const unknown = [...deviceIds].filter((deviceId) => !links.has(deviceId));
    if (unknown.length === 0) return links;
    const found = await findLinks(db, unknown);
    // Meanwhile another transaction may have begun anew, with a map of its own.
    for (const deviceId of unknown) links.set(deviceId, found.get(deviceId) ?? []);
    return links;
  }
}

/** A reading with the vehicle it belongs to. */
export interface PlacedReading {
  vehicleId: number;
  applicationId: number;
  deviceId: string;
  timeMicroseconds: number;
  receivedAtMs: number;
  reading: TelemetryReading;
  /** When positions of the vehicle are private. */
  privatePeriods: readonly Period[];
}

/** The link that held at a device time; devices have few links, so a walk beats an index. */
function linkAt(links: readonly Link[] | undefined, timeMicroseconds: number): Link | undefined {
  return links?.find((link) => link.fromMicroseconds <= timeMicroseconds && timeMicroseconds < link.untilMicroseconds);
}

/**
 * Gives every reading to the vehicle its device was linked to at the reading's own time, however late it arrives.
 * A reading without such a link becomes a fault of its upload.
 */
export function placeReadings(
  uploads: readonly UploadInProgress[],
  links: ReadonlyMap<string, readonly Link[]>,
): { placed: PlacedReading[]; uploads: UploadInProgress[] } {
  const placed: PlacedReading[] = [];
  const left = uploads.map((inProgress) => {
    const { upload, readings } = inProgress;
    const faults = [...inProgress.faults];
    for (const { index, timeMicroseconds, reading } of readings) {
      const link = linkAt(links.get(upload.deviceId), timeMicroseconds);
      if (link) {
        const { vehicleId, applicationId, privatePeriods } = link;
        const { deviceId, receivedAtMs } = upload;
        placed.push({ vehicleId, applicationId, deviceId, timeMicroseconds, receivedAtMs, reading, privatePeriods });
      } else {
        const message = 'the device was linked to no vehicle at that time';
        faults.push({ index, reason: 'DEVICE_NOT_LINKED', message });
      }
    }
    return { upload, readings, faults };
  });
  return { placed, uploads: left };
}
