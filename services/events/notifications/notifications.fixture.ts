import type { Database } from '@odograph/database/database';
import type { TestVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';

/** Creates an alarm rule of an application. @returns its id */
export async function createRule(db: Database, applicationId: number, kind = 'towing'): Promise<string> {
  const { rows } = await sql<{ id: string }>`insert into alarm_rule (application_id, name, kind, all_vehicles)
    values (${applicationId}, 'Yard <b>& gate</b>', ${kind}, true) returning id`.execute(db);
  return rows[0]?.id ?? '';
}

/** Raises an alarm, as ingest does. @returns its id */
export async function raiseAlarm(
  db: Database,
  ruleId: string,
  { id }: Pick<TestVehicle, 'id'>,
  secondsAgo = 0,
): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, cleared_at, latitude, longitude)
    select application_id, id, ${Number(id)}, kind, clock_timestamp() - make_interval(secs => ${secondsAgo}),
      clock_timestamp(), 48.85661, 2.35222 from alarm_rule where id = ${ruleId} returning id`.execute(db);
  return rows[0]?.id ?? '';
}

/** Records due escalations, as ingest does. */
export async function recordEscalations(db: Database): Promise<void> {
  await sql`select record_escalations()`.execute(db);
}

/** Sets the plate of a vehicle without validation. */
export async function setPlate(db: Database, { id }: Pick<TestVehicle, 'id'>, plate: string): Promise<void> {
  await sql`update vehicle set plate = ${plate} where id = ${Number(id)}`.execute(db);
}
