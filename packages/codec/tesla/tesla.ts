import { addFields, completeReading, type Draft, readFieldTable, secondsOf } from '../fields.ts';
import { objectOf, requireObject, requireText, type SourceFormat } from '../source-format.ts';

const teslaFields = readFieldTable(new URL('fields.json', import.meta.url));

const invalid = '<invalid>';
const windows = ['FdWindow', 'FpWindow', 'RdWindow', 'RpWindow'];

/**
 * The records that fleet-telemetry sends with `transmit_decoded_records`: `Vin`, `CreatedAt`, `IsResend` and a member for each
 * field that changed (fleet-telemetry, PayloadToMap). Speeds and distances are in miles.
 */
export const tesla: SourceFormat = {
  split({ body }) {
    const records = Array.isArray(body) ? body : [body];
    return records.map((value: unknown, index) => {
      const message = requireObject(value, `record ${index}`);
      return { device: requireText(message['Vin'], `record ${index}: Vin`), message };
    });
  },
  toReading(message) {
    const { Vin: _vin, CreatedAt: createdAt, IsResend: _isResend, ...typed } = message;
    const { Location: location, DoorState: doors, ...fields } = plainValues(typed);
    const draft: Draft = { timestamp: secondsOf(createdAt), can: [] };
    const { latitude, longitude } = objectOf(location);
    if (typeof latitude === 'number') draft.location = { latitude, longitude };
    addFields(draft, fields, teslaFields);
    if (doors !== undefined) addDoors(draft, objectOf(doors));
    addWindows(draft, fields);
    addCharging(draft, fields['DetailedChargeState']);
    return completeReading(draft);
  },
};

/** Unwraps values with their types, such as `{ "doubleValue": 1.5 }`, and leaves out those that the vehicle calls invalid. */
function plainValues(typed: Record<string, unknown>): Record<string, unknown> {
  const plain = Object.entries(typed).map(([name, value]): [string, unknown] => {
    const members = Object.entries(objectOf(value));
    const [only] = members;
    const isTyped = members.length === 1 && only !== undefined && /Value$|^invalid$/.test(only[0]);
    if (!isTyped) return [name, value];
    return [name, only[0] === 'invalid' ? invalid : only[1]];
  });
  return Object.fromEntries(plain.filter(([, value]) => value !== invalid));
}

function addDoors(draft: Draft, doors: Record<string, unknown>): void {
  const isOpen = Object.values(doors).some((value) => value === true);
  draft.fleet = { ...draft.fleet, doors: isOpen ? 'OPEN' : 'CLOSED' };
  draft.can.push({ key: 'DoorState', value: JSON.stringify(doors) });
}

/** A record has only the windows that changed, so a closed one does not say that all are. */
function addWindows(draft: Draft, fields: Record<string, unknown>): void {
  const states = windows.map((name) => fields[name]).filter((state) => typeof state === 'string');
  const isOpen = states.some((state) => /Open/.test(state));
  const isClosed = states.length === windows.length && states.every((state) => /Closed$/.test(state));
  if (isOpen || isClosed) draft.fleet = { ...draft.fleet, windows: isOpen ? 'OPEN' : 'CLOSED' };
}

function addCharging(draft: Draft, state: unknown): void {
  if (typeof state !== 'string' || state.endsWith('Unknown')) return;
  const isCharging = /(Charging|Starting)$/.test(state);
  draft.fleet = { ...draft.fleet, ChargingStatus: isCharging ? 'CHARGING' : 'NOT_CHARGING' };
}
