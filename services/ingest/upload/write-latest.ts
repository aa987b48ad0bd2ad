import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { arrayLiteral } from './array-literal.ts';
import type { Position } from './detect-states.ts';
import { type LatestGroup, type LatestState, latestGroups, mergedGroups } from './latest-state.ts';
import type { ParkedRow } from './write-states.ts';

/** A group takes what is not older than itself; of older data only fields it has never seen. */
function newState(group: LatestGroup): string {
  const kept = `vehicle_latest.${group}`;
  const incoming = `excluded.${group}`;
  const isNewer = `coalesce(excluded.${group}_time >= vehicle_latest.${group}_time, true)`;
  if (!mergedGroups.has(group)) return `case when ${isNewer} then coalesce(${incoming}, ${kept}) else ${kept} end`;
  return `case when ${incoming} is null then ${kept} when ${kept} is null then ${incoming}
    when ${isNewer} then ${kept} || ${incoming} else ${incoming} || ${kept} end`;
}

const groupColumns = latestGroups.flatMap((group) => [group, `${group}_time`]);
const instant = (microseconds: string) => `timestamptz 'epoch' + ${microseconds} * interval '1 microsecond'`;

const statement = `
insert into vehicle_latest (vehicle_id, time, received_at, ${groupColumns.join(', ')})
select vehicle_id, ${instant('time_us')}, ${instant('received_ms * 1000')},
  ${latestGroups.map((group) => `${group}, ${instant(`${group}_us`)}`).join(', ')}
from unnest($1::integer[], $2::bigint[], $3::bigint[],
  ${latestGroups.map((_group, index) => `$${2 * index + 4}::jsonb[], $${2 * index + 5}::bigint[]`).join(', ')})
  as incoming (vehicle_id, time_us, received_ms, ${latestGroups.map((group) => `${group}, ${group}_us`).join(', ')})
on conflict (vehicle_id) do update set
  time = greatest(vehicle_latest.time, excluded.time),
  received_at = greatest(vehicle_latest.received_at, excluded.received_at),
  ${latestGroups
    .map(
      (group) => `${group} = ${newState(group)},
  ${group}_time = greatest(vehicle_latest.${group}_time, excluded.${group}_time)`,
    )
    .join(',\n  ')}
returning vehicle_id, parked_location, (extract(epoch from parked_at) * 1000000)::bigint as parked_us`;

interface LatestRow {
  vehicle_id: number;
  parked_location: Position | null;
  parked_us: number | null;
}

const parts = statement.split(/\$\d+/);

/**
 * Brings the latest state of the vehicles of a job up to date in one statement.
 * @param states sorted by vehicle
 * @returns where each of the vehicles is known to be parked
 */
export async function writeLatest(db: Database, states: readonly LatestState[]): Promise<ParkedRow[]> {
  if (states.length === 0) return [];
  const parameters = [
    arrayLiteral(states.map(({ vehicleId }) => vehicleId)),
    arrayLiteral(states.map(({ timeMicroseconds }) => timeMicroseconds)),
    arrayLiteral(states.map(({ receivedAtMs }) => receivedAtMs)),
    ...latestGroups.flatMap((group) => [
      arrayLiteral(states.map(({ groups }) => groups[group] && JSON.stringify(groups[group].value))),
      arrayLiteral(states.map(({ groups }) => groups[group]?.timeMicroseconds)),
    ]),
  ];
  const { rows } = await sql<LatestRow>(parts as unknown as TemplateStringsArray, ...parameters).execute(db);
  return rows.map(({ vehicle_id: vehicleId, parked_location: location, parked_us: sinceMicroseconds }) => ({
    vehicleId,
    parked: sinceMicroseconds === null ? undefined : { location, sinceMicroseconds },
  }));
}
