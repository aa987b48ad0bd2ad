import type { Readable } from 'node:stream';
import { type Batch, readBatch, type Send } from '@odograph/database/batches';
import type { Database } from '@odograph/database/database';
import { type RawBuilder, sql } from 'kysely';
import { type Answers, type Part, type PartRequest, type SendData, startWith } from './answers.ts';
import type { Reader } from './read-budget.ts';
import {
  instant,
  isSelected,
  keysAt,
  type ReadingInterval,
  type ReadingKey,
  startingWith,
  startOf,
} from './reading-keys.ts';
import { findReadingBounds, type VehicleScope } from './vehicle-scope.ts';

/** Largest number of readings in an answer (interface specification, "Limits"). */
export const maximumReadings = 10_000;
/** Bytes reserved per reading of a page; a typical one has about 700. */
const usualReadingBytes = 1024;
const minPartBytes = 64 * 1024;

/** Text around the elements of an answer. */
export interface Frame {
  readonly start: string;
  readonly end: string;
}

/** Readings of a page and their format. */
export interface PageRequest extends ReadingInterval {
  readonly offset: number;
  /** Capped at maximumReadings. */
  readonly limit: number;
}

export interface PageShape {
  /** Members of a reading after its vehicle, as JSON text. */
  readonly members: RawBuilder<string>;
  readonly frame: Frame;
  readonly findScope: (db: Database) => Promise<VehicleScope>;
}

export interface ReadingPage {
  readonly body: Readable;
  /** The last reading of the page, if more follow. */
  readonly continueAfter?: ReadingKey;
}

/** The keys of a page that did not fit into a part. */
interface Remaining {
  readonly scope: VehicleScope;
  readonly keys: readonly ReadingKey[];
}

/**
 * Opens a page with the readings of one snapshot. Readings that do not fit into the first part are read later by their keys:
 * with their values at that time, and without those purged since. A page that continues another one (`after`) ends early
 * instead: its client follows links, and does not treat a short page as the last one.
 */
export async function openReadingPage(
  answers: Answers,
  reader: Reader,
  request: PageRequest,
  shape: PageShape,
): Promise<ReadingPage> {
  const { start, end } = shape.frame;
  const limit = Math.min(request.limit, maximumReadings);
  let continueAfter: ReadingKey | undefined;
  const readPart = async ({ snapshot, bytes, from, send }: PartRequest<Remaining>): Promise<Part<Remaining>> => {
    if (from) return readRemaining(snapshot, shape, from, bytes, send);
    const scope = await shape.findScope(snapshot);
    const page = await findPage(snapshot, scope, { ...request, limit });
    if (!page) return { text: start + end };
    continueAfter = page.continueAfter;
    const write = { page, shape, bytes };
    if (!request.after) return readFirstPart(snapshot, scope, write, send);
    const short = await readShortPage(snapshot, scope, write);
    continueAfter = short.continueAfter;
    return short;
  };
  const partBytes = Math.max(minPartBytes, limit * usualReadingBytes);
  const body = await answers.open(reader, readPart, partBytes);
  return continueAfter ? { body, continueAfter } : { body };
}

/** A page that was found, and how much of it to read. */
interface PageReading {
  readonly page: FoundPage;
  readonly shape: PageShape;
  readonly bytes: number;
}

/** Sends the readings of a page as they are read. */
async function readFirstPart(
  db: Database,
  scope: VehicleScope,
  { page, shape, bytes }: PageReading,
  send: SendData,
): Promise<Part<Remaining>> {
  const { start, end } = shape.frame;
  const { rows, isComplete } = await readPage(db, scope, page, shape, bytes, startWith(start, send));
  if (isComplete) return { text: rows === 0 ? start + end : end };
  const after = await findLastRead(db, scope, page, rows);
  const keys = await keysAt(db, scope, { ...page.interval, after }, { offset: 0, count: page.limit - rows });
  return { text: '', next: { scope, keys } };
}

/** Reads a page that ends early when it does not fit. Its headers announce the end, so nothing is sent before. */
async function readShortPage(
  db: Database,
  scope: VehicleScope,
  { page, shape, bytes }: PageReading,
): Promise<{ readonly text: Buffer; readonly continueAfter: ReadingKey | undefined }> {
  const { start, end } = shape.frame;
  const pieces: Buffer[] = [Buffer.from(start)];
  const { rows, isComplete } = await readPage(db, scope, page, shape, bytes, (piece) => pieces.push(piece));
  const continueAfter = isComplete ? page.continueAfter : await findLastRead(db, scope, page, rows);
  return { text: Buffer.concat([...pieces, Buffer.from(end)]), continueAfter };
}

interface ReadingRow {
  vehicle_id: number;
  members: string;
}

const writeReading = (scope: VehicleScope) => (row: ReadingRow) =>
  `{${scope.members.get(row.vehicle_id) ?? ''}${row.members}}`;

/** Narrows an interval to its first and last reading; undefined when it is empty. */
async function narrow(
  db: Database,
  scope: VehicleScope,
  request: ReadingInterval,
): Promise<ReadingInterval | undefined> {
  const bounds = await findReadingBounds(db, scope);
  if (!bounds) return request;
  const from = request.from > bounds.oldest ? request.from : bounds.oldest;
  const until = request.until !== undefined && request.until < bounds.newest ? request.until : bounds.newest;
  return startOf({ ...request, from }) > until ? undefined : { ...request, from, until };
}

/** A page that is not empty, before its readings are read. */
interface FoundPage {
  /** Starts with the first reading of the page; ends at the time of the last one, if more follow. */
  readonly interval: ReadingInterval;
  readonly limit: number;
  /** The last reading of the page, if more follow. */
  readonly continueAfter?: ReadingKey;
}

/** Finds where a page starts and ends; undefined when it is empty. The headers announce its end. */
export async function findPage(
  db: Database,
  scope: VehicleScope,
  request: PageRequest,
): Promise<FoundPage | undefined> {
  const { offset, limit, ...rest } = request;
  if (limit === 0 || scope.members.size === 0) return undefined;
  const narrowed = await narrow(db, scope, rest);
  if (!narrowed) return undefined;
  const [first] = offset === 0 ? [] : await keysAt(db, scope, narrowed, { offset, count: 1 });
  if (offset > 0 && !first) return undefined;
  const interval = first ? startingWith(first, narrowed) : narrowed;
  const [last, following] = await keysAt(db, scope, interval, { offset: limit - 1, count: 2 });
  if (!last || !following) return { interval, limit };
  return { interval: { ...interval, until: last.time }, limit, continueAfter: last };
}

/** Reads as much of a page as fits into `bytes`. */
export function readPage(
  db: Database,
  scope: VehicleScope,
  { interval, limit }: FoundPage,
  { members }: Pick<PageShape, 'members'>,
  bytes: number,
  send: Send,
): Promise<Batch<ReadingRow>> {
  // Readings of a single vehicle are already in order; for an order by vehicle too, PostgreSQL would sort them again.
  const order = scope.members.size === 1 ? sql`reading.time` : sql`reading.time, reading.vehicle_id`;
  // Because of the subquery, PostgreSQL sorts rows, not their JSON, which would exceed work_mem.
  const query = sql<ReadingRow>`
    select reading.vehicle_id, ${members} as members from (
      select * from reading_in_units as reading where ${isSelected(scope, interval)} order by ${order} limit ${limit}
    ) as reading order by ${order}`;
  return readBatch(db, query, writeReading(scope), bytes, send);
}

/** Finds the last of the readings that fitted, by their number. */
async function findLastRead(
  db: Database,
  scope: VehicleScope,
  { interval }: FoundPage,
  rows: number,
): Promise<ReadingKey> {
  const [lastRead] = await keysAt(db, scope, interval, { offset: rows - 1, count: 1 });
  if (!lastRead) throw new Error('a reading is missing from its snapshot');
  return lastRead;
}

const keysPerPart = 500;

/** Reads the next readings of a page by their keys. */
async function readRemaining(
  db: Database,
  { members, frame }: PageShape,
  { scope, keys }: Remaining,
  bytes: number,
  send: SendData,
): Promise<Part<Remaining>> {
  const part = keys.slice(0, keysPerPart);
  const [first, last] = [part.at(0), part.at(-1)];
  if (!first || !last) return { text: frame.end };
  // The times exclude chunks when the statement is planned; the keys alone would not.
  const query = sql<ReadingRow & { place: number }>`
    select stored.vehicle_id, stored.members, key.place from unnest(
      ${part.map(({ vehicleId }) => vehicleId)}::integer[], ${part.map(({ time }) => String(time))}::bigint[])
      with ordinality as key (vehicle_id, microseconds, place)
    cross join lateral (
      select reading.vehicle_id, ${members} as members from reading_in_units as reading where ${scope.condition}
        and reading.vehicle_id = key.vehicle_id and reading.time = timestamptz 'epoch' + key.microseconds * interval '1 microsecond'
        and reading.time >= ${instant(first.time)} and reading.time <= ${instant(last.time)} limit 1) as stored
    order by key.place`;
  const batch = await readBatch(db, query, writeReading(scope), bytes, startWith(',', send));
  const rest = keys.slice(batch.isComplete ? part.length : batch.last?.place);
  return rest.length === 0 ? { text: frame.end } : { text: '', next: { scope, keys: rest } };
}
