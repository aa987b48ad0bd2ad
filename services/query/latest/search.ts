import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isoMicroseconds, parseTimestamp } from '@odograph/contracts/timestamps';
import { isAvailable } from '@odograph/database/vehicle-conditions';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';

/** The parameters of GET /v1/vehicles that look for vehicles to book. */
export const SearchQuery = Type.Object({
  searchType: Type.Optional(
    Type.String({
      description: 'FREE_FLOATING: vehicles available now; BOOKING: available for a period. Means the fleet shape',
    }),
  ),
  from: Type.Optional(Type.String({ description: 'start of the period, required for BOOKING' })),
  until: Type.Optional(Type.String({ description: 'end of the period, exclusive, required for BOOKING' })),
  energy: Type.Optional(Type.String({ description: 'with BOOKING: registration-certificate nomenclature' })),
  gearbox: Type.Optional(Type.String({ description: 'with BOOKING: MANUAL or AUTOMATIC' })),
  brand: Type.Optional(Type.String({ description: 'with BOOKING: manufacturer' })),
  kind: Type.Optional(Type.String({ description: 'with BOOKING: registration-certificate nomenclature' })),
});
type SearchQuery = Static<typeof SearchQuery>;

const now = sql`tstzrange(now(), now(), '[]')`;

function periodOf({ from = '', until = '' }: SearchQuery): RawBuilder<unknown> {
  if (from === '') throw invalidParameter('from', 'is missing');
  if (until === '') throw invalidParameter('until', 'is missing');
  const [start, end] = [parseTimestamp('from', from), parseTimestamp('until', until)];
  if (end <= start) throw new Failure('INVALID_INTERVAL', undefined, { field: 'until' });
  return sql`tstzrange(${isoMicroseconds(start)}, ${isoMicroseconds(end)})`;
}

/** Upper and lower case are alike; a filter that is not given, or empty, lets every vehicle pass. */
function isLike(column: string, value = ''): RawBuilder<boolean> {
  if (value === '') return sql<boolean>`true`;
  if (value.includes('\0')) throw invalidParameter(column, 'holds a character that no text has');
  return sql<boolean>`lower(${sql.ref(`vehicle.${column}`)}) = lower(${value})`;
}

function forBooking(query: SearchQuery): RawBuilder<boolean> {
  const { energy, gearbox = '', brand, kind } = query;
  if (!['', 'MANUAL', 'AUTOMATIC'].includes(gearbox)) throw invalidParameter('gearbox', 'is MANUAL or AUTOMATIC');
  return sql<boolean>`${isAvailable(periodOf(query))} and ${isLike('energy', energy)} and ${isLike('gearbox', gearbox)}
    and ${isLike('brand', brand)} and ${isLike('kind', kind)}`;
}

/**
 * SQL that is true for the vehicles that are looked for, all without a search; `vehicle` is the alias of the table
 * (interface specification, "Bookings and free-floating").
 * @throws Failure INVALID_PARAMETER naming the field; INVALID_INTERVAL
 */
export function isLookedFor(query: SearchQuery): RawBuilder<boolean> {
  if (query.searchType === undefined) return sql<boolean>`true`;
  if (query.searchType === 'FREE_FLOATING') return isAvailable(now);
  if (query.searchType === 'BOOKING') return forBooking(query);
  throw invalidParameter('searchType', 'is FREE_FLOATING or BOOKING');
}
