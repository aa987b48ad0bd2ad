import type { NamedVehicle } from '../../parts/forms/vehicle-picker.tsx';
import { isOperator } from '../../session.ts';
import type { AlarmKind } from './alarm-data.ts';
import type { Rule } from './rule-data.ts';

type Parameters = Rule['parameters'];
export type ParameterName = keyof Parameters;
type Measure = 'percent' | 'volts';

/** What the form holds. */
export interface Draft {
  readonly name: string;
  readonly kind: AlarmKind;
  readonly measure: Measure;
  readonly parameters: Parameters;
  readonly isForAll: boolean;
  readonly vehicles: readonly NamedVehicle[];
}

/** The parameters of each kind (docs/alarms.md). */
export function parametersOf({ kind, measure }: Draft): readonly ParameterName[] {
  if (kind === 'silent') return ['afterMinutes'];
  if (kind === 'low-battery') return measure === 'percent' ? ['belowPercent'] : ['belowVolts', 'canKey'];
  if (kind === 'geofence') return ['geofenceId', 'when'];
  return kind === 'speed' ? ['limitKmh'] : [];
}

export function toDraft(rule: Rule | undefined): Draft {
  if (!rule) {
    const isForAll = isOperator();
    return { name: '', kind: 'speed', measure: 'percent', parameters: { when: 'outside' }, isForAll, vehicles: [] };
  }
  const { name, kind, parameters, vehicleIds } = rule;
  const measure = parameters.belowVolts === undefined ? 'percent' : 'volts';
  const vehicles = (vehicleIds ?? []).map((id) => ({ id, plate: id }));
  return { name, kind, measure, parameters, isForAll: vehicleIds === undefined, vehicles };
}

export function toBody(draft: Draft) {
  const { name, kind, parameters, isForAll, vehicles } = draft;
  const own = Object.fromEntries(parametersOf(draft).map((parameter) => [parameter, parameters[parameter]]));
  return { name: name.trim(), kind, parameters: own, ...(!isForAll && { vehicleIds: vehicles.map(({ id }) => id) }) };
}
