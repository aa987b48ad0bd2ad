import { sql } from 'kysely';
import { application, platform, vehicle } from '../application.fixture.ts';

/** Books the vehicle for a driver. */
export async function book(
  driver: string,
  from: string,
  until: string,
  accountId: string | null = null,
): Promise<void> {
  await sql`insert into booking (application_id, vehicle_id, user_id, account_id, type, starts_at, ends_at, authorization_id)
    values (${application.id}, ${vehicle.id}::integer, ${driver}, ${accountId}::uuid, 'BOOKING', ${from}, ${until},
      gen_random_uuid())`.execute(platform.db);
}

/** Raises an alarm of the vehicle. */
export async function raiseAlarm(
  raisedAt: string,
  clearedAt: string | null,
  note: string | null = null,
): Promise<void> {
  await sql`with rule as (insert into alarm_rule (application_id, name, kind, parameters, all_vehicles)
      values (${application.id}, 'Too fast', 'speed', '{"limitKmh":130}', true) returning id)
    insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, cleared_at, value, note)
    select ${application.id}, rule.id, ${vehicle.id}::integer, 'speed', ${raisedAt}::timestamptz, ${clearedAt}::timestamptz,
      141.5, ${note} from rule`.execute(platform.db);
}
