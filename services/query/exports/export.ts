import type { Caller } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isoMicroseconds, parseTimestamp } from '@odograph/contracts/timestamps';
import type { Addresses } from '@odograph/database/addresses';
import { fetchRows } from '@odograph/database/batches';
import type { Database } from '@odograph/database/database';
import type { RawBuilder } from 'kysely';
import type { Part, PartRequest } from '../shared/answers.ts';
import { parseExportFields } from './fields.ts';
import {
  type ExportScope,
  findVehicles,
  selectGapRows,
  selectReadings,
  selectTripRows,
  toTripRow,
  type VehicleRows,
} from './queries.ts';
import type { ExportFormat, ExportQuery } from './schemas.ts';
import { createParquetReadingWriter, createTableWriter, gapColumns, type TripRow, tripColumns } from './tables.ts';
import {
  createCsvWriter,
  createGeojsonWriter,
  createGpxWriter,
  createNdjsonWriter,
  type ExportRow,
  type ExportVehicle,
  type ExportWriter,
  type ReadingWriter,
  type SendPiece,
} from './text-writers.ts';

const mediaTypes: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  gpx: 'application/gpx+xml',
  geojson: 'application/geo+json',
  parquet: 'application/vnd.apache.parquet',
};
/** The media types of the files, without their parameters. */
export const exportFileTypes = Object.values(mediaTypes).map((type) => type.replace(/;.*/, ''));

/** Continues an export behind a row of a vehicle, or with the vehicle when `after` is undefined. */
export type ExportCursor = VehicleRows;

/** Reads the rows of a vehicle that fit into `bytes`, and writes them. @returns where to continue; undefined at the end */
type ReadVehicle = (
  snapshot: Database,
  vehicle: ExportVehicle,
  after: number | undefined,
  bytes: number,
  send: SendPiece,
) => Promise<{ bytes: number; continueAfter?: number }>;

interface Source {
  readonly writer: Pick<ExportWriter<never>, 'start' | 'endPart' | 'end'>;
  readonly readVehicle: ReadVehicle;
}

/** Vehicles that are looked up in one statement. */
const vehiclesPerPart = 200;
/** Estimated bytes of a trip. */
const tripBytes = 512;

/** One export: its content, format and progress. */
export class Export {
  readonly scope: ExportScope;
  readonly mediaType: string;
  readonly fileName: string;
  readonly #source: Source;
  readonly #addresses: Addresses | undefined;
  #rows = 0;
  #vehiclesDone = 0;

  /**
   * @param addresses required if the query requests addresses; not needed to describe the export
   * @param vehicleIds limits the export to these vehicles
   * @throws Failure INVALID_PARAMETER, INVALID_INTERVAL
   */
  constructor(
    caller: Caller,
    query: ExportQuery,
    vehicleId?: number,
    addresses?: Addresses,
    vehicleIds?: readonly number[],
  ) {
    const { of = 'readings', format, group } = query;
    const [from, until] = [parseTimestamp('from', query.from), parseTimestamp('until', query.until)];
    if (until <= from) throw new Failure('INVALID_INTERVAL', undefined, { field: 'until' });
    const filters = { ...(vehicleId !== undefined && { vehicleId }), ...(group !== undefined && { group }) };
    this.scope = { of, caller, from, until, vehicleIds, ...filters };
    this.mediaType = mediaTypes[format];
    const days = [from, until].map((moment) => isoMicroseconds(moment).slice(0, 10));
    this.fileName = `${vehicleId ?? 'vehicles'}-${of}-${days.join('-')}.${format}`;
    this.#addresses = addresses;
    this.#source = this.#open(query);
  }

  /** Rows written so far. */
  get rows(): number {
    return this.#rows;
  }

  /** Vehicles that are written whole. */
  get vehiclesDone(): number {
    return this.#vehiclesDone;
  }

  /** The share of its interval that a cursor has passed. */
  shareOf({ after }: ExportCursor): number {
    const { of, from, until } = this.scope;
    return after === undefined || of === 'gaps' ? 0 : Number(BigInt(after) - from) / Number(until - from);
  }

  /** Reads and writes the next part: as many rows as fit into `bytes`, in one snapshot. */
  async readPart({ snapshot, bytes, from, send }: PartRequest<ExportCursor>): Promise<Part<ExportCursor>> {
    const { writer, readVehicle } = this.#source;
    if (!from) writer.start(send);
    const next = await this.#readVehicles(snapshot, from ?? { vehicleId: 0 }, bytes, readVehicle, send);
    writer.endPart(send);
    if (!next) writer.end(send);
    return { text: '', next };
  }

  async #readVehicles(
    snapshot: Database,
    { vehicleId, after }: ExportCursor,
    bytes: number,
    readVehicle: ReadVehicle,
    send: SendPiece,
  ): Promise<ExportCursor | undefined> {
    const vehicles = await findVehicles(snapshot, this.scope, vehicleId, vehiclesPerPart);
    let left = bytes;
    for (const vehicle of vehicles) {
      const read = await readVehicle(snapshot, vehicle, vehicle.id === vehicleId ? after : undefined, left, send);
      if (read.continueAfter !== undefined) return { vehicleId: vehicle.id, after: read.continueAfter };
      this.#vehiclesDone += 1;
      left -= read.bytes;
      if (left <= 0) return { vehicleId: vehicle.id + 1 };
    }
    const last = vehicles.at(-1);
    return last && vehicles.length === vehiclesPerPart ? { vehicleId: last.id + 1 } : undefined;
  }

  #open({ format, fields, address = false }: ExportQuery): Source {
    const { of } = this.scope;
    if (address && of !== 'trips') throw invalidParameter('address', 'is for trips');
    if (of === 'readings') return this.#openReadings(format, fields);
    if (fields !== undefined) throw invalidParameter('fields', 'is for readings');
    if (format === 'gpx' || format === 'geojson') throw invalidParameter('format', `cannot be ${format} for ${of}`);
    if (of === 'trips') {
      const writer = createTableWriter(format, tripColumns(address));
      return { writer, readVehicle: this.#tripReader(writer, address) };
    }
    const writer = createTableWriter(format, gapColumns);
    return {
      writer,
      readVehicle: this.#reader(
        writer,
        (rows) => selectGapRows(this.scope, rows),
        (row) => row,
      ),
    };
  }

  #openReadings(format: ExportFormat, fields: string | undefined): Source {
    if (format === 'gpx' || format === 'ndjson') {
      if (fields !== undefined) throw invalidParameter('fields', `cannot be chosen for ${format}`);
      return format === 'gpx' ? this.#withWriter(createGpxWriter()) : this.#withWriter(createNdjsonWriter());
    }
    const parsed = parseExportFields(fields);
    if (format === 'csv') return this.#withWriter(createCsvWriter(parsed));
    if (format === 'geojson') return this.#withWriter(createGeojsonWriter(parsed));
    return this.#withWriter(createParquetReadingWriter(parsed));
  }

  #withWriter<Row extends ExportRow>(writer: ReadingWriter<Row>): Source {
    const select = (rows: VehicleRows) => selectReadings(this.scope, writer, rows);
    return { writer, readVehicle: this.#reader(writer, select, (row) => row) };
  }

  /** Creates a function that reads trips of a vehicle, adds their addresses if requested, and writes them. */
  #tripReader(writer: ExportWriter<TripRow>, address: boolean): ReadVehicle {
    return async (snapshot, vehicle, after, bytes, send) => {
      const rows: TripRow[] = [];
      const isComplete = await fetchRows(snapshot, selectTripRows(this.scope, { vehicleId: vehicle.id, after }), {
        averageBytes: () => tripBytes,
        room: () => bytes - rows.length * tripBytes,
        take(stored) {
          rows.push(...stored.map(toTripRow));
          return rows.length * tripBytes < bytes;
        },
      });
      if (address) {
        const ends = rows.flatMap(({ trip }) => [trip.first_position, trip.last_position]);
        await this.#addresses?.addTo(
          snapshot,
          ends.map((end) => [vehicle.id, end]),
        );
      }
      this.#rows += rows.length;
      const last = rows.at(-1);
      return { bytes: writer.write(vehicle, rows, send), ...(!isComplete && last && { continueAfter: last.key }) };
    };
  }

  /** Creates a function that reads rows of a vehicle with `select` and writes them. */
  #reader<Stored, Row extends ExportRow>(
    writer: ExportWriter<Row>,
    select: (rows: VehicleRows) => RawBuilder<Stored>,
    toRow: (stored: Stored) => Row,
  ): ReadVehicle {
    return async (snapshot, vehicle, after, bytes, send) => {
      let [written, rows, last] = [0, 0, after];
      const isComplete = await fetchRows(snapshot, select({ vehicleId: vehicle.id, after }), {
        averageBytes: () => (rows === 0 ? undefined : Math.max(1, written / rows)),
        room: () => bytes - written,
        take: (stored) => {
          const taken = stored.map(toRow);
          written += writer.write(vehicle, taken, send);
          rows += taken.length;
          last = taken.at(-1)?.key ?? last;
          return written < bytes;
        },
      });
      this.#rows += rows;
      return { bytes: written, ...(!isComplete && last !== undefined && { continueAfter: last }) };
    };
  }
}
