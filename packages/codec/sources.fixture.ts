import type { SourceFormatName } from '@odograph/contracts/sources';
import type { SourceRequest } from './shared/source-format.ts';
import { decodeUpload, sourceFormats } from './uploads.ts';

/** When the requests of tests arrive. */
export const receivedAtMs = Date.parse('2025-11-21T08:00:00Z');

/** A decoded request: the devices of its messages, and their readings. */
export function receive(format: SourceFormatName, body: unknown, request: Partial<SourceRequest> = {}) {
  const messages = sourceFormats[format].split({ body, receivedAtMs, ...request });
  const { readings, faults } = decodeUpload(format, JSON.stringify(messages.map(({ message }) => message)), 0);
  return { devices: messages.map(({ device }) => device), readings: readings.map(({ reading }) => reading), faults };
}

/** The values of `can` by their keys. */
export const canOf = (reading: { can?: { key: string; value: string }[] } | undefined) =>
  Object.fromEntries((reading?.can ?? []).map(({ key, value }) => [key, value]));
