import { readFileSync } from 'node:fs';

export interface Manufacturer {
  wmi: string;
  make: string;
  /** A car, a van or a light truck, as far as the identifier tells. */
  isLight: boolean;
}

const lightKinds: ReadonlySet<string> = new Set(['car', 'mpv', 'truck']);

function readTable(): ReadonlyMap<string, Manufacturer> {
  const lines = readFileSync(new URL('manufacturers.tsv', import.meta.url), 'utf8').split('\n');
  return new Map(
    lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const [wmi = '', make = '', kind = ''] = line.split('\t');
        return [wmi, { wmi, make, isLight: lightKinds.has(kind) }] as const;
      }),
  );
}

const manufacturers = readTable();

/**
 * Who built the vehicle with this VIN, undefined when the table does not know. A 9 in position 3 stands for a maker of
 * few vehicles, whom positions 12 to 14 name (ISO 3780).
 */
export function manufacturerOf(vin: string): Manufacturer | undefined {
  const wmi = vin.slice(0, 3);
  return (wmi.endsWith('9') ? manufacturers.get(wmi + vin.slice(11, 14)) : undefined) ?? manufacturers.get(wmi);
}
