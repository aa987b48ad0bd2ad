import { answerOf, api, type Schema } from '../../api/client.ts';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { formatDuration, formatNumber, formatPercent, formatShown, formatSpeed } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { decimalsOfStep } from '../../texts/units.ts';
import type { Alarm } from './alarm-data.ts';

export type Rule = Schema<'AlarmRule'>;
export type Geofence = Schema<'Geofence'>;

/** An application has at most 100 rules and 1,000 geofences. */
const limit = 1000;

/** Loads the rules of an application, of all if it is empty. @throws CallFailure */
export async function loadRules(appId: string): Promise<readonly Rule[]> {
  const params = { query: { limit }, header: headerFor(appId) };
  return (await answerOf(api.GET('/v1/x/alarm-rules', { params }))).rules;
}

/** Loads the geofences of an application, of all if it is empty. @throws CallFailure */
export async function loadGeofences(appId: string): Promise<readonly Geofence[]> {
  const params = { query: { limit }, header: headerFor(appId) };
  return (await answerOf(api.GET('/v1/x/geofences', { params }))).geofences;
}

/** Writes the value that an alarm reports. @param rule says whether a low battery was measured in volts */
export function valueText({ kind, value }: Alarm, rule: Rule | undefined): string {
  if (value === undefined) return '';
  if (kind === 'speed') return formatSpeed(value);
  if (kind === 'silent') return formatDuration(value * 60);
  if (rule?.parameters.belowPercent !== undefined) return formatPercent(value);
  return rule?.parameters.belowVolts === undefined ? formatNumber(value, 1) : `${formatNumber(value, 1)} V`;
}

/** Formats a limit with the decimals that were typed. */
const formatLimit = (value: number, unit: string): string => formatShown(value, unit, decimalsOfStep(value));

/** Writes when a rule raises an alarm. */
export function conditionText({ kind, parameters }: Rule, geofences: readonly Geofence[]): string {
  const { conditions: text, sides } = texts.value.alarmRules;
  const { afterMinutes = 0, belowPercent, belowVolts = 0, canKey = '', limitKmh = 0, when = 'inside' } = parameters;
  switch (kind) {
    case 'silent':
      return text.silent(formatDuration(afterMinutes * 60));
    case 'low-battery':
      return belowPercent === undefined
        ? text.volts(formatLimit(belowVolts, 'V'), canKey)
        : text.percent(formatLimit(belowPercent, '%'));
    case 'geofence': {
      const name = geofences.find(({ id }) => id === parameters.geofenceId)?.name ?? '–';
      return text.geofence(sides[when], name);
    }
    case 'speed':
      return text.speed(formatSpeed(limitKmh));
    default:
      return text[kind];
  }
}
