import type { Microseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { findVehicle, findVisibleVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, moment, timestamp, word } from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { parseInterval } from '../shared/fields.ts';
import { instant } from '../shared/reading-keys.ts';
import { VehicleParameters } from '../shared/schemas.ts';

const states = ['OPEN', 'ARRIVED', 'RESTARTED', 'GIVEN_UP'] as const;
const Gap = Type.Object(
  {
    deviceId: Type.String({ examples: ['unit-0001'] }),
    fromSequence: Type.Integer({ description: 'first missing sequence number' }),
    untilSequence: Type.Integer({ description: 'last missing sequence number' }),
    missing: Type.Integer({ description: 'number of readings' }),
    state: word(states, {
      description:
        'OPEN: missing; ARRIVED: they arrived; RESTARTED: the device restarted its sequence first; GIVEN_UP: the device has too many newer gaps',
    }),
    since: moment('when the gap was noticed'),
    closedAt: Type.Optional(moment('when it was closed; closed gaps only')),
  },
  { title: 'Gap' },
);
/** A gap in the sequence of a device, open or closed. */
export type Gap = Static<typeof Gap>;

const Break = Type.Object(
  {
    kind: word(['PRIVACY', 'GAP'], { description: 'PRIVACY: positions were not stored; GAP: readings are missing' }),
    from: moment('start; of a gap, device time of the last reading before it'),
    until: Type.Optional(
      moment('end; of a gap, device time of the first reading after it; left out while privacy is on'),
    ),
    missing: Type.Optional(Type.Integer({ description: 'number of readings; gaps only', examples: [12] })),
  },
  { title: 'Break' },
);
type Break = Static<typeof Break>;

const maxGaps = 1000;
const maxBreaks = 200;
/** Readings before the moment at which a gap was noticed among which its neighbours are looked for. */
const searchedReadings = 2000;

/**
 * Lists the privacy intervals of a vehicle that overlap an interval, and the gaps in it that did not close by arrival, at most
 * 200 of each. A gap lies between the device times of its neighbours in the sequence; one whose neighbours are not near the
 * moment at which it was noticed is left out.
 */
async function listBreaks(
  db: Database,
  vehicleId: number,
  { from, until }: { from: Microseconds; until: Microseconds },
): Promise<Break[]> {
  const { rows } = await sql<{ one: Break }>`
    with gaps as (${selectGaps(vehicleId)}),
    noticed as (select * from gaps where state <> 'ARRIVED' and period @> since
      and since >= ${instant(from)} and since < ${instant(until)} + interval '1 day' order by since limit ${maxBreaks}::integer),
    located as (select noticed.*, max(near.time) filter (where near.sequence < from_sequence) as last_before,
        min(near.time) filter (where near.sequence > until_sequence) as first_after
      from noticed cross join lateral (select time, sequence from reading where vehicle_id = ${vehicleId}
        and time <= noticed.since + interval '5 minutes' and device_id = noticed.device_id
        order by time desc limit ${searchedReadings}::integer) as near
      group by noticed.device_id, from_sequence, until_sequence, state, since, closed_at, noticed.period),
    private as (select period from privacy_period where vehicle_id = ${vehicleId}
      and period && tstzrange(${instant(from)}, ${instant(until)}) order by period limit ${maxBreaks}::integer)
    select json_strip_nulls(json_build_object('kind', kind, 'from', ${isoTime('start')}, 'until', ${isoTime('finish')},
      'missing', missing)) as one
    from (select 'PRIVACY' as kind, lower(period) as start, upper(period) as finish, null::bigint as missing from private
      union all select 'GAP', last_before, first_after, until_sequence - from_sequence + 1 from located
      where last_before < first_after and first_after > ${instant(from)} and last_before < ${instant(until)}) as found
    order by start`.execute(db);
  return rows.map(({ one }) => one);
}

/**
 * Lists the open gaps and those closed in the last `closedDays` days: open ones first, the newest first in each group, at
 * most 1,000. Only gaps noticed while the device was linked to the vehicle: others belong to another vehicle.
 */
async function listGaps(db: Database, vehicleId: number, closedDays: number): Promise<Gap[]> {
  const { rows } = await sql<{ gap: Gap }>`
    with gaps as (${selectGaps(vehicleId)})
    select json_strip_nulls(json_build_object('deviceId', device_id, 'fromSequence', from_sequence,
      'untilSequence', until_sequence, 'missing', until_sequence - from_sequence + 1, 'state', state,
      'since', ${isoTime('since')}, 'closedAt', ${isoTime('closed_at')})) as gap from gaps
    where period @> since and coalesce(closed_at, 'infinity') > now() - make_interval(days => ${closedDays})
    order by closed_at desc nulls first, since desc, device_id, from_sequence desc limit ${maxGaps}`.execute(db);
  return rows.map(({ gap }) => gap);
}

/** SQL of all gaps of the devices that are or were linked to a vehicle, with the interval of the link. */
export const selectGaps = (vehicleId: number): RawBuilder<unknown> => sql`
  with links as (select device_id, period from device_link where vehicle_id = ${vehicleId})
  select links.device_id, (gap->>'from')::bigint as from_sequence, (gap->>'until')::bigint as until_sequence,
    'OPEN' as state, to_timestamp((gap->>'sinceMs')::bigint / 1000.0) as since, null::timestamptz as closed_at,
    links.period
  from links join device_sequence on device_sequence.device_id = links.device_id
  cross join lateral jsonb_array_elements(device_sequence.gaps) as gap
  union all
  select links.device_id, from_sequence, until_sequence, outcome, since, closed_at, links.period
  from links join closed_gap on closed_gap.device_id = links.device_id`;

const GapsQuery = Type.Object({
  days: Type.Integer({
    minimum: 0,
    maximum: 30,
    default: 7,
    description: 'days for which closed gaps are listed, too',
  }),
});

/** Missing readings by their sequence numbers (docs/device-protocol.md, "Missing readings"). */
export function gapRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/vehicle/:id/gaps',
      {
        schema: {
          tags: ['history'],
          summary: 'Missing readings of a vehicle, and gaps that were closed recently',
          params: VehicleParameters,
          querystring: GapsQuery,
          response: answers(Type.Object({ gaps: Type.Array(Gap) }), 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ caller, params, query }) => {
        const vehicle = await findVehicle(db, caller, params.id);
        return { gaps: await listGaps(db, vehicle.id, query.days) };
      },
    );
  };
}

const BreaksQuery = Type.Object({
  from: timestamp('start, inclusive'),
  until: timestamp('end, exclusive; at most 366 days after the start'),
});

/** An addition to the interface: intervals that a chart of a vehicle marks. */
export function breakRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/vehicle/:id/breaks',
      {
        schema: {
          tags: ['history'],
          summary: 'Intervals of location privacy, and of missing readings that did not arrive later',
          description: 'Gaps that closed more than 30 days ago are not known any more.',
          params: VehicleParameters,
          querystring: BreaksQuery,
          response: answers(Type.Object({ breaks: Type.Array(Break) }), 'UNKNOWN_VEHICLE', 'INVALID_INTERVAL'),
        },
      },
      async ({ viewer, params, query }) => {
        const vehicleId = await findVisibleVehicle(db, viewer, params.id);
        return { breaks: await listBreaks(db, vehicleId, parseInterval(query, 366)) };
      },
    );
  };
}
