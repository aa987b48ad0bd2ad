import {
  addFields,
  completeReading,
  type Draft,
  InvalidMessage,
  readFieldTable,
  requireDevice,
  requireObject,
  requireText,
  type SourceFormat,
} from '../shared/source-format.ts';
import { secondsOf } from '../shared/time.ts';

const owntracksFields = readFieldTable(new URL('fields.json', import.meta.url));
/** MQTT topic; its last part is the *Device ID* of the app. */
const topicForm = /^owntracks\/[^/]+\/([^/]+)$/;

/**
 * The format of OwnTracks over HTTP and MQTT: objects with a `_type`, of which `location` has a position; `vel` in km/h, `tst` in
 * UNIX seconds (OwnTracks, "JSON"). Other types give no message.
 */
export const owntracks: SourceFormat = {
  endpoint: { deviceHeader: 'x-limit-d', answer: [] },
  fields: owntracksFields,
  split({ body, device }) {
    const message = requireObject(body, 'body');
    const type = requireText(message['_type'], '_type');
    const topic = message['topic'];
    const [, deviceId] = (typeof topic === 'string' && topicForm.exec(topic)) || [];
    if (type === 'encrypted') throw new InvalidMessage('_type', 'must not be encrypted: remove the encryption key');
    return type === 'location' ? [{ device: requireDevice(device ?? deviceId, 'topic'), message }] : [];
  },
  timestampOf: ({ tst }) => secondsOf(tst),
  toReading(message) {
    const { _type: type, topic: _topic, tst: _tst, created_at: _created, ...fields } = message;
    if (isOther(type)) return undefined;
    const draft: Draft = { timestamp: owntracks.timestampOf(message), can: [] };
    addFields(draft, fields, owntracksFields);
    return completeReading(draft);
  },
  toMessage: (_device, { timestamp }, fields) => ({ _type: 'location', tst: timestamp, ...fields }),
};

/** Whether a message is of a type without a reading. An encrypted one may have had a reading, so it is at fault. */
function isOther(type: unknown): boolean {
  return typeof type === 'string' && type !== 'location' && type !== 'encrypted';
}
