import { firstRecordSeconds } from '@odograph/codec/teltonika/upload';
import { teltonikaFormat } from '@odograph/contracts/queues';
import { chooseLane, lateLane, type UploadLane } from '@odograph/queue/intake';
import type { DeviceThrottle } from '@odograph/sessions/throttle';
import type { GatewayDevice, GatewayDevices } from '../shared/devices.ts';
import type { GatewayUploads } from '../shared/uploads.ts';

/**
 * Finds a device that may report in Teltonika's protocol, which knows no secret: the IMEI is all that a device says.
 * @throws when the database does not answer, and while the application of the device moves to another cell
 */
export async function findTeltonikaDevice(devices: GatewayDevices, imei: string): Promise<GatewayDevice | undefined> {
  const device = await devices.find(imei);
  if (device?.isMoving) throw new Error('the application moves to another cell');
  return device?.protocol === 'teltonika' ? device : undefined;
}

/**
 * Stores a packet of AVL records. It is not decoded here; one that ingest cannot decode goes to quarantine, so it is
 * acknowledged as well.
 * @param data from the codec id to the second count
 * @returns the number of its records, once they would survive a crash of every process; undefined when too many bytes wait
 */
export function storeRecords(
  uploads: GatewayUploads,
  { deviceId, family }: Pick<GatewayDevice, 'deviceId' | 'family'>,
  throttle: DeviceThrottle,
  data: Buffer,
): Promise<number> | undefined {
  const receivedAtMs = Date.now();
  const lane = laneOf(throttle, data, performance.now(), receivedAtMs);
  // Copied: the packet lies in a buffer of the connection, which would live as long as the upload.
  const upload = { deviceId, payload: Buffer.from(data), format: teltonikaFormat(family), receivedAtMs };
  return uploads.store(upload, lane)?.then(() => data.readUInt8(1));
}

function laneOf(throttle: DeviceThrottle, data: Buffer, nowMs: number, receivedAtMs: number): UploadLane {
  if (!throttle.isWithinLiveShare(data.length, nowMs)) return lateLane;
  const seconds = firstRecordSeconds(data);
  return chooseLane(seconds, seconds, receivedAtMs);
}
