import { isUtf8 } from 'node:buffer';
import type { QueuedUpload, UploadBatch } from '@odograph/contracts/queues';
import type { DeviceSession } from '../sessions/session.ts';
import type { Publication } from './release-order.ts';

/** One upload between its PUBLISH and its PUBACK. */
export interface HeldUpload extends Publication {
  readonly session: DeviceSession;
}

/** The job of a micro-batch: bytes that are UTF-8 as text, others in base64, so that every byte survives JSON. */
export function describeBatch(uploads: readonly HeldUpload[]): UploadBatch {
  const devices = new Set<string>();
  let bytes = 0;
  const described = uploads.map(({ session: { deviceId }, payload, receivedAtMs }): QueuedUpload => {
    devices.add(deviceId);
    bytes += payload.length;
    return isUtf8(payload)
      ? { deviceId, receivedAtMs, text: payload.toString() }
      : { deviceId, receivedAtMs, base64: payload.toString('base64') };
  });
  return { uploads: described, devices: devices.size, bytes };
}
