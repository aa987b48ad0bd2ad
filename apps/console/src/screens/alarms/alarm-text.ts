import { formatDuration, formatNumber, formatPercent, formatSpeed } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import type { Alarm } from './alarm-data.ts';
import type { Geofence, Rule } from './rule-data.ts';

/** Writes the value that an alarm reports. @param rule says whether a low battery was measured in volts */
export function valueText({ kind, value }: Alarm, rule: Rule | undefined): string {
  if (value === undefined) return '';
  if (kind === 'speed') return formatSpeed(value);
  if (kind === 'silent') return formatDuration(value * 60);
  if (rule?.parameters.belowPercent !== undefined) return formatPercent(value);
  return rule?.parameters.belowVolts === undefined ? formatNumber(value, 1) : `${formatNumber(value, 1)} V`;
}

/** Writes when a rule raises an alarm. */
export function conditionText({ kind, parameters }: Rule, geofences: readonly Geofence[]): string {
  const { conditions: text, sides } = texts.value.alarmRules;
  const { afterMinutes = 0, belowPercent, belowVolts = 0, canKey = '', limitKmh = 0, when = 'inside' } = parameters;
  switch (kind) {
    case 'silent':
      return text.silent(formatDuration(afterMinutes * 60));
    case 'low-battery':
      return belowPercent === undefined
        ? text.volts(`${formatNumber(belowVolts, 1)} V`, canKey)
        : text.percent(formatPercent(belowPercent));
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
