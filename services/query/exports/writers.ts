import type { RawBuilder } from 'kysely';

/** A vehicle whose rows are exported. */
export interface ExportVehicle {
  readonly id: number;
  readonly plate: string;
  /** The member `"vehicle":{…}` of the change feed. */
  readonly member: string;
}

/** A row of an export. The rows of a vehicle are in the order of their keys. */
export interface ExportRow {
  readonly key: number;
}

/** Takes pieces of the file as they are written. */
export type SendPiece = (piece: string | Uint8Array) => void;

/** Writes the file of one export. It keeps state between rows, so each export has its own. */
export interface ExportWriter<Row extends ExportRow> {
  start(send: SendPiece): void;
  /** Writes rows of one vehicle. @returns the bytes that they take, in the file or in memory until `endPart` */
  write(vehicle: ExportVehicle, rows: readonly Row[], send: SendPiece): number;
  /** Writes what is still in memory. */
  endPart(send: SendPiece): void;
  end(send: SendPiece): void;
}

/** A writer of readings, with the columns of the query that it needs. */
export interface ReadingWriter<Row extends ExportRow> extends ExportWriter<Row> {
  readonly columns: RawBuilder<unknown>;
  /** Leaves out readings without a position. */
  readonly needsPosition: boolean;
}

/** Writes device time, in microseconds, in ISO 8601 UTC: to the millisecond, or to the microsecond if it has any. */
export function writeTime(microseconds: number): string {
  const rest = microseconds % 1000;
  const iso = new Date((microseconds - rest) / 1000).toISOString();
  return rest === 0 ? iso : `${iso.slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}

/** Creates a writer of text, from what precedes the rows, the text of each row, and what follows. */
export function createTextWriter<Row extends ExportRow>(parts: {
  readonly start: string;
  writeRow(row: Row, vehicle: ExportVehicle): string;
  end(): string;
}): ExportWriter<Row> {
  return {
    start: (send) => send(parts.start),
    write(vehicle, rows, send) {
      let text = '';
      for (const row of rows) text += parts.writeRow(row, vehicle);
      send(text);
      return Buffer.byteLength(text);
    },
    endPart: () => undefined,
    end: (send) => send(parts.end()),
  };
}
