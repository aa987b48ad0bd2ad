import type { Readable } from 'node:stream';
import type { Database } from '@odograph/database/database';
import { type RawBuilder, sql } from 'kysely';
import type { ReadingKey } from './continuation.ts';
import { type Frame, streamJson } from './json-stream.ts';
import { passCounted } from './reading-counts.ts';
import { beginningWith, beside, keysAt, type Stretch, within } from './reading-keys.ts';
import type { Snapshot } from './snapshot.ts';
import type { VehicleScope } from './vehicle-scope.ts';

/** No answer holds more readings (interface specification, "Limits"). */
export const maximumReadings = 10_000;

/** Which readings of a stretch. */
export interface PageRequest extends Stretch {
  readonly offset: number;
  /** At most maximumReadings are given, whatever is asked for. */
  readonly limit: number;
}

export interface ReadingPage {
  readonly body: Readable | string;
  /** The last reading of the page when more follow. */
  readonly continueAfter?: ReadingKey;
}

/**
 * Opens a page of readings, each the vehicle of the scope followed by `members`. Where the page ends is found first, in
 * the same snapshot, so that the answer can announce it before its first reading.
 */
export async function openReadingPage(
  snapshot: Snapshot,
  scope: VehicleScope,
  request: PageRequest,
  members: RawBuilder<string>,
  frame: Frame,
): Promise<ReadingPage> {
  const { offset } = request;
  const limit = Math.min(request.limit, maximumReadings);
  if (limit === 0 || scope.members.size === 0) return empty(snapshot, frame);
  const first = await findFirst(snapshot.db, scope, request);
  if (offset > 0 && !first) return empty(snapshot, frame);
  const stretch = first ? beginningWith(first, request) : request;
  const [last, following] = await keysAt(snapshot.db, scope, stretch, { offset: limit - 1, count: 2 });
  const range = last ? sql<boolean>`${within(stretch)} and ${beside('<=', last)}` : within(stretch);
  const query = sql<{ vehicle_id: number; members: string }>`
    select reading.vehicle_id, ${members} as members from reading where ${scope.condition} and ${range}
    order by reading.time, reading.vehicle_id limit ${limit}`;
  const body = await streamJson(
    snapshot,
    query,
    frame,
    (row) => `{${scope.members.get(row.vehicle_id) ?? ''}${row.members}}`,
  );
  return following && last ? { body, continueAfter: last } : { body };
}

/** To pass over fewer readings is cheaper than to look at counts. */
const leastCounted = 20_000;

/** The reading at the offset; undefined without an offset, and when fewer readings are there. */
async function findFirst(db: Database, scope: VehicleScope, request: PageRequest): Promise<ReadingKey | undefined> {
  if (request.offset === 0) return undefined;
  const asked = { stretch: request, offset: request.offset };
  const { stretch, offset } = request.offset < leastCounted ? asked : await passCounted(db, scope, asked);
  const [first] = await keysAt(db, scope, stretch, { offset, count: 1 });
  return first;
}

async function empty(snapshot: Snapshot, frame: Frame): Promise<ReadingPage> {
  await snapshot.close();
  return { body: frame.start + frame.end };
}
