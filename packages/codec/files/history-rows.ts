/** A row of a file of history: a reading in the form of an upload, or why it is none. */
export interface HistoryRow {
  /** In the file, from 1. */
  readonly line: number;
  /** The vehicle or device that the row names. */
  readonly subject?: { readonly vehicleId: string } | { readonly deviceId: string } | undefined;
  readonly reading?: object;
  /** Where a field of the reading comes from: the name of a column or element, by its path such as `location.latitude`. */
  readonly origin?: (field: string) => string;
  readonly fault?: { readonly column: string; readonly message: string };
}

/** Parses a number; other text stays text, which the platform rejects with the name of the field. */
export function numberOf(text: string): number | string {
  const number = Number(text);
  return text.trim() === '' || !Number.isFinite(number) ? text : number;
}
