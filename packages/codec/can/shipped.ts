import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** The DBC files that ship with Odograph. */
export const shippedDatabases = ['obd2', 'j1939'] as const;

/** Reads a DBC file that ships with Odograph. */
export function readShipped(name: (typeof shippedDatabases)[number]): Promise<Buffer> {
  return readFile(fileURLToPath(new URL(`data/${name}.dbc`, import.meta.url)));
}
