import type { TelemetryReading } from '@odograph/contracts/telemetry';
import type { UploadInProgress } from './decode-batch.ts';
import type { Link, Period } from './links.ts';

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
