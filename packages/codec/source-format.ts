import { deviceIdPattern } from '@odograph/contracts/topics';

/** A message of another system, and the name by which that system knows the device. */
export interface SourceMessage {
  readonly device: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** A request of another system, as its door received it. */
export interface SourceRequest {
  readonly body: unknown;
  /** The device that the address or the credentials name, where the body does not. */
  readonly device?: string;
  readonly receivedAtMs: number;
}

export interface SourceFormat {
  /**
   * Splits a request into messages with their devices.
   * @throws InvalidMessage naming the field at fault
   */
  split(request: SourceRequest): SourceMessage[];
  /** Converts a message to a reading, which is not checked; undefined for a message that has none. */
  toReading(message: Readonly<Record<string, unknown>>): unknown;
}

/** A request that cannot be assigned to a device. */
export class InvalidMessage extends Error {
  readonly field: string;

  constructor(field: string, rule: string) {
    super(`${field} ${rule}`);
    this.name = 'InvalidMessage';
    this.field = field;
  }
}

/** Returns an object member, empty when it is missing or something else. */
export function objectOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** Requires an object. @throws InvalidMessage */
export function requireObject(value: unknown, field: string): Record<string, unknown> {
  if (!isRecord(value)) throw new InvalidMessage(field, 'must be an object');
  return value;
}

/** Requires a text that is not empty. @throws InvalidMessage */
export function requireText(value: unknown, field: string): string {
  if (typeof value !== 'string' || value === '') throw new InvalidMessage(field, 'must be a text');
  return value;
}

const deviceIdForm = new RegExp(deviceIdPattern);

/** Requires the name of a device, which is its id here too. @throws InvalidMessage */
export function requireDevice(value: unknown, field: string): string {
  const name = requireText(value, field);
  if (!deviceIdForm.test(name)) throw new InvalidMessage(field, 'must be a device id: 1 to 64 of A-Z a-z 0-9 . _ : -');
  return name;
}

/** The deepest nesting of a message that is decoded; deeper values could exhaust the stack. */
const deepestNesting = 32;

/** Whether objects and arrays are nested too deeply to be decoded. */
export function isTooDeep(value: unknown, levels = deepestNesting): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isTooDeep(member, levels - 1));
}

/** Whether a value is an object with members. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
