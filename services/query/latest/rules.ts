import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isoMicroseconds, parseTimestamp } from '@odograph/contracts/timestamps';
import { isAvailable } from '@odograph/database/vehicle-conditions';
import { checkedWord, timestamp } from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';

/** Shapes of the answers that two families of the interface share. */
export type View = 'dynamic' | 'fleet' | 'combined';

/** The shape that an application has set, if any. */
export type ConfiguredView = Exclude<View, 'combined'> | undefined;

/**
 * Chooses the shape of an answer: the requested one, else fleet for a search, else the one the application has set, else both
 * in one object, which is possible because they share no key but error and state.
 */
export function chooseView(
  requested: ConfiguredView,
  searchType: string | undefined,
  configured: ConfiguredView,
): View {
  if (requested !== undefined) return requested;
  if (searchType !== undefined) return 'fleet';
  return configured ?? 'combined';
}

/** Parameters of GET /v1/vehicles that search for vehicles to book. */
export const SearchQuery = Type.Object({
  searchType: Type.Optional(
    checkedWord(['FREE_FLOATING', 'BOOKING'], {
      description: 'FREE_FLOATING: available now; BOOKING: available for an interval. Implies the fleet shape',
    }),
  ),
  from: Type.Optional(timestamp('start of the interval, required for BOOKING')),
  until: Type.Optional(timestamp('end of the interval, exclusive, required for BOOKING')),
  energy: Type.Optional(Type.String({ description: 'with BOOKING: registration-certificate nomenclature' })),
  gearbox: Type.Optional(checkedWord(['MANUAL', 'AUTOMATIC'], { description: 'with BOOKING' })),
  brand: Type.Optional(Type.String({ description: 'with BOOKING: manufacturer' })),
  kind: Type.Optional(Type.String({ description: 'with BOOKING: registration-certificate nomenclature' })),
});
type SearchQuery = Static<typeof SearchQuery>;

const now = sql`tstzrange(now(), now(), '[]')`;

function intervalOf({ from = '', until = '' }: SearchQuery): RawBuilder<unknown> {
  if (from === '') throw invalidParameter('from', 'is missing');
  if (until === '') throw invalidParameter('until', 'is missing');
  const [start, end] = [parseTimestamp('from', from), parseTimestamp('until', until)];
  if (end <= start) throw new Failure('INVALID_INTERVAL', undefined, { field: 'until' });
  return sql`tstzrange(${isoMicroseconds(start)}, ${isoMicroseconds(end)})`;
}

/** True for vehicles with this value, ignoring case; for all vehicles without a value. */
function isLike(column: string, value = ''): RawBuilder<boolean> {
  if (value === '') return sql<boolean>`true`;
  if (value.includes('\0')) throw invalidParameter(column, 'must not contain the character NUL');
  return sql<boolean>`lower(${sql.ref(`vehicle.${column}`)}) = lower(${value})`;
}

/** Checks parameters that only a search for BOOKING uses, so that a malformed one is never ignored. */
function requireWellFormed({ from, until, gearbox = '' }: SearchQuery): void {
  if (!['', 'MANUAL', 'AUTOMATIC'].includes(gearbox)) throw invalidParameter('gearbox', 'must be MANUAL or AUTOMATIC');
  if (from !== undefined) parseTimestamp('from', from);
  if (until !== undefined) parseTimestamp('until', until);
}

function forBooking(query: SearchQuery): RawBuilder<boolean> {
  const { energy, gearbox, brand, kind } = query;
  return sql<boolean>`${isAvailable(intervalOf(query))} and ${isLike('energy', energy)} and ${isLike('gearbox', gearbox)}
    and ${isLike('brand', brand)} and ${isLike('kind', kind)}`;
}

/**
 * SQL that is true for the vehicles a search matches, for all without a search; `vehicle` is the alias of the table
 * (interface specification, "Bookings and free-floating").
 * @throws Failure INVALID_PARAMETER naming the field; INVALID_INTERVAL
 */
export function matchesSearch(query: SearchQuery): RawBuilder<boolean> {
  const { searchType } = query;
  requireWellFormed(query);
  if (searchType === undefined) return sql<boolean>`true`;
  if (searchType === 'FREE_FLOATING') return isAvailable(now);
  if (searchType === 'BOOKING') return forBooking(query);
  throw invalidParameter('searchType', 'must be FREE_FLOATING or BOOKING');
}
