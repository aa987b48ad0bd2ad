import { isUtf8 } from 'node:buffer';
import { maximumReadingsPerUpload } from '@odograph/contracts/telemetry';
import { checkReadings, type DecodedTelemetry, spoiled } from '../readings.ts';

/**
 * Decodes a telemetry upload in JSON: one reading or an array of them (docs/device-protocol.md, "Telemetry").
 * Never throws: an invalid reading becomes a fault and does not affect the others.
 */
export function decodeTelemetry(payload: Buffer | string): DecodedTelemetry {
  if (typeof payload !== 'string' && !isUtf8(payload)) {
    return spoiled({ index: null, reason: 'NOT_UTF8', message: 'the upload is not UTF-8' });
  }
  let value: unknown;
  try {
    value = JSON.parse(typeof payload === 'string' ? payload : payload.toString('utf8'));
  } catch {
    return spoiled({ index: null, reason: 'NOT_JSON', message: 'the upload is not JSON' });
  }
  if (!Array.isArray(value)) return checkReadings([value]);
  if (value.length <= maximumReadingsPerUpload) return checkReadings(value);
  const message = `an upload must have at most ${maximumReadingsPerUpload} readings; this one has ${value.length}`;
  return spoiled({ index: null, reason: 'TOO_MANY_READINGS', message });
}
