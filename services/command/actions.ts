import type { DeviceAction } from '@odograph/contracts/commands';

/** One route of the interface specification, "Remote vehicle actions". */
export interface RemoteAction {
  /** Below `/v1/vehicle/`. */
  readonly path: string;
  readonly summary: string;
  readonly action: DeviceAction;
  /** The two words its `Status` can have, the first being what the action brings about. */
  readonly statuses?: readonly [achieved: string, opposite: string];
  /** What success answers: the Status, `{}`, or a truly empty body. */
  readonly answer: 'status' | 'object' | 'nothing';
}

/** Every remote action; the routes, their schemas and their answers are made from this table. */
export const remoteActions: readonly RemoteAction[] = [
  { path: 'lock', summary: 'Lock the doors', action: 'LOCK', statuses: ['CLOSED', 'OPEN'], answer: 'status' },
  { path: 'unlock', summary: 'Unlock the doors', action: 'UNLOCK', statuses: ['OPEN', 'CLOSED'], answer: 'status' },
  {
    path: 'immobilize',
    summary: 'Prevent startup; refused while the vehicle drives',
    action: 'IMMOBILIZE',
    statuses: ['LOCKED', 'UNLOCKED'],
    answer: 'status',
  },
  { path: 'start', summary: 'Allow startup', action: 'START', statuses: ['UNLOCKED', 'LOCKED'], answer: 'status' },
  { path: 'honk', summary: 'Sound the horn', action: 'HONK', answer: 'nothing' },
  { path: 'lights/on', summary: 'Flash the turning lights', action: 'TURNING-LIGHTS', answer: 'object' },
  { path: 'trunk/unlock', summary: 'Unlock the trunk', action: 'UNLOCK-TRUNK', answer: 'object' },
  { path: 'windows/open', summary: 'Open the windows', action: 'OPEN-WINDOWS', answer: 'object' },
  { path: 'windows/close', summary: 'Close the windows', action: 'CLOSE-WINDOWS', answer: 'object' },
];

/** The words of GET /v1/vehicle/actions, each with all that a device must be able to do for it. */
const actionWords: Readonly<Record<string, readonly DeviceAction[]>> = {
  IMMOBILIZE: ['IMMOBILIZE', 'START'],
  'CENTRAL-LOCK': ['LOCK', 'UNLOCK'],
  HONK: ['HONK'],
  'TURNING-LIGHTS': ['TURNING-LIGHTS'],
  'UNLOCK-TRUNK': ['UNLOCK-TRUNK'],
  'CLOSE-WINDOWS': ['CLOSE-WINDOWS'],
  'OPEN-WINDOWS': ['OPEN-WINDOWS'],
};

/** What GET /v1/vehicle/actions says of a device model that supports these device actions. */
export function availableActions(supported: readonly string[]): string[] {
  return Object.keys(actionWords).filter((word) => actionWords[word]?.every((action) => supported.includes(action)));
}

/** The `Status` to answer: the device's own word where it is one of the two documented ones, else the one achieved. */
export function statusOf(statuses: readonly [string, string], reported: string | undefined): string {
  return reported !== undefined && statuses.includes(reported) ? reported : statuses[0];
}
