import type { AvlFamily } from '@odograph/contracts/device-models';
import { teltonikaFormat } from '@odograph/contracts/queues';
import { decodeUpload } from '../uploads.ts';

/** Decodes the data field of a packet. */
export const decodeTeltonika = (data: Buffer, receivedAtMs = 0, family?: AvlFamily) =>
  decodeUpload(teltonikaFormat(family), data, receivedAtMs);
