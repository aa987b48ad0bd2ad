/** The kinds of alarms (docs/alarms.md). */
export const alarmKinds = [
  'towing',
  'crash',
  'jamming',
  'silent',
  'low-battery',
  'geofence',
  'speed',
  'unanswered-command',
] as const;
export type AlarmKind = (typeof alarmKinds)[number];

/** Parameters of each kind of rule, besides its geofence. */
export interface AlarmParameters {
  /** silent: minutes without contact. */
  readonly afterMinutes?: number;
  /** low-battery: charge of the traction battery, %. */
  readonly belowPercent?: number;
  /** low-battery: volts of the CAN datum `canKey`. */
  readonly belowVolts?: number;
  /** low-battery: the key of the CAN datum with the voltage of the 12 V battery. */
  readonly canKey?: string;
  /** geofence: which side of it raises the alarm. */
  readonly when?: 'inside' | 'outside';
  /** speed: km/h. */
  readonly limitKmh?: number;
}

/** A condition ends only when its value is this far on the safe side, so that a wobbling value raises one alarm. */
export const alarmHysteresis = { speedKmh: 5, percent: 5, volts: 0.3, geofenceMetres: 50 } as const;
