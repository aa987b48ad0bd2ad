import type { AvlFamily } from '@odograph/contracts/device-models';
import { teltonikaFormat } from '@odograph/contracts/queues';
import { decodeUpload } from '../uploads.ts';
import { readPacket } from './packets.ts';

/** Decodes the data field of a packet. */
export const decodeTeltonika = (data: Buffer, receivedAtMs = 0, family?: AvlFamily) =>
  decodeUpload(teltonikaFormat(family), data, receivedAtMs);

/** Reads bytes in hexadecimal, with any blanks. */
export const hex = (text: string) => Buffer.from(text.replace(/\s/g, ''), 'hex');

/** The data field of a packet, which must be whole. */
export function dataOf(packet: string): Buffer {
  const { frame, fault } = readPacket(hex(packet));
  if (frame?.kind !== 'packet') throw new Error(`not a packet: ${fault}`);
  return frame.data;
}
