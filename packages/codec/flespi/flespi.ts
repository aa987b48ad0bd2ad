import {
  addFields,
  completeReading,
  type Draft,
  readFieldTable,
  requireDevice,
  requireObject,
  type SourceFormat,
} from '../shared/source-format.ts';
import { secondsOf } from '../shared/time.ts';

const notParameters: ReadonlySet<string> = new Set(['ident', 'timestamp']);
/** Without a fix, many devices repeat their last position. */
const withoutFix: ReadonlySet<string> = new Set([...notParameters, 'position.latitude', 'position.longitude']);
const flespiParameters = readFieldTable(new URL('parameters.json', import.meta.url));

/**
 * The format of an HTTP stream of flespi: an array of flat messages with `ident` and `timestamp` (flespi, "Parameters"). Speeds are
 * in km/h, mileages in km, fuel levels in %.
 */
export const flespi: SourceFormat = {
  fields: flespiParameters,
  split({ body }) {
    const messages = Array.isArray(body) ? body : [body];
    return messages.map((value: unknown, index) => {
      const message = requireObject(value, `message ${index}`);
      return { device: requireDevice(message['ident'], `message ${index}: ident`), message };
    });
  },
  timestampOf: ({ timestamp }) => secondsOf(timestamp),
  toReading(message) {
    const draft: Draft = { timestamp: flespi.timestampOf(message), can: [] };
    addFields(draft, message, flespiParameters, message['position.valid'] === false ? withoutFix : notParameters);
    return completeReading(draft);
  },
  toMessage: (device, { timestamp }, fields) => ({ ident: device, timestamp, ...fields }),
};
