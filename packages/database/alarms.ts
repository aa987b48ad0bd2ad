import type { AlarmKind } from '@odograph/contracts/alarms';
import { type RawBuilder, sql } from 'kysely';
import type { Position } from './addresses.ts';
import type { Database } from './database.ts';
import { isoTime } from './iso-time.ts';

/** An alarm as the interface and the live stream show it. Times are ISO 8601, UTC. */
export interface ShownAlarm {
  readonly id: string;
  readonly appId: string;
  readonly vehicleId: string;
  readonly plate: string;
  readonly ruleId: string;
  readonly ruleName: string;
  readonly kind: AlarmKind;
  readonly raisedAt: string;
  readonly noticedAt: string;
  readonly late: boolean;
  readonly clearedAt?: string;
  readonly value?: number;
  readonly location?: Position & { readonly address?: string };
  readonly commandId?: string;
  readonly acknowledgedAt?: string;
  readonly acknowledgedBy?: string;
  readonly note?: string;
}

/** An alarm noticed longer than this after it was raised is late. */
const lateMinutes = 5;

const iso = (column: string) => isoTime(column, 'microseconds');

/** SQL of the kinds of the open alarms of `vehicle`, as a JSON list. */
export const kindsOfOpenAlarms = sql<AlarmKind[]>`(select coalesce(jsonb_agg(distinct alarm.kind), '[]') from alarm
  where alarm.vehicle_id = vehicle.id and coalesce(alarm.cleared_at, 'infinity') = 'infinity')`;

/** Selects alarms of vehicles that are not deleted. @param selection SQL after `where`, on `alarm` and `vehicle` */
export async function selectAlarms(db: Database, selection: RawBuilder<unknown>): Promise<ShownAlarm[]> {
  const { rows } = await sql<{ alarm: ShownAlarm }>`
    select jsonb_strip_nulls(jsonb_build_object('id', alarm.id, 'appId', application.app_id,
      'vehicleId', vehicle.id::text, 'plate', vehicle.plate, 'ruleId', alarm.rule_id, 'ruleName', alarm_rule.name,
      'kind', alarm.kind, 'raisedAt', ${iso('alarm.raised_at')}, 'noticedAt', ${iso('alarm.noticed_at')},
      'late', alarm.noticed_at - alarm.raised_at > make_interval(mins => ${lateMinutes}),
      'clearedAt', ${iso('alarm.cleared_at')}, 'value', alarm.value,
      'location', case when alarm.latitude is not null then
        jsonb_build_object('latitude', alarm.latitude, 'longitude', alarm.longitude) end,
      'commandId', alarm.command_id, 'acknowledgedAt', ${iso('alarm.acknowledged_at')},
      'acknowledgedBy', alarm.acknowledged_by, 'note', alarm.note)) as alarm
    from alarm join alarm_rule on alarm_rule.id = alarm.rule_id join vehicle on vehicle.id = alarm.vehicle_id
    join application on application.id = alarm.application_id
    where vehicle.deleted_at is null and ${selection}`.execute(db);
  return rows.map(({ alarm }) => alarm);
}
