/**
 * The alarm kinds (docs/alarms.md) with the parameters that a rule of each requires; of several lists, exactly one.
 * Adding a kind makes the compiler require its condition, the schemas of its parameters and its texts.
 */
export const alarmKindParameters = {
  towing: [[]],
  crash: [[]],
  jamming: [[]],
  silent: [['afterMinutes']],
  'low-battery': [['belowPercent'], ['belowVolts', 'canKey']],
  geofence: [['geofenceId', 'when']],
  speed: [['limitKmh']],
  'unanswered-command': [[]],
} as const satisfies Readonly<Record<string, readonly (readonly AlarmParameterName[])[]>>;
export type AlarmKind = keyof typeof alarmKindParameters;
export const alarmKinds = Object.keys(alarmKindParameters) as AlarmKind[];

/** Rule parameters except the geofence. */
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
export type AlarmParameterName = keyof AlarmParameters | 'geofenceId';

/** A condition ends only when its value is this far on the safe side, so that a wobbling value raises one alarm. */
export const alarmHysteresis = { speedKmh: 5, percent: 5, volts: 0.3, geofenceMetres: 50 } as const;
