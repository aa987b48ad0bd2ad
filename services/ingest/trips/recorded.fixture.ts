import { readFile } from 'node:fs/promises';
import { emptyReading } from './drive.fixture.ts';
import type { TripReading } from './segmentation/place.ts';

/** Reads a recorded drive or walk from `recorded/`: times and positions only. */
export async function recordedTrack(name: string): Promise<TripReading[]> {
  const text = await readFile(new URL(`./recorded/${name}.csv`, import.meta.url), 'utf8');
  const [, ...lines] = text.trim().split('\n');
  return lines.map((line) => {
    const [timestamp = 0, latitude = 0, longitude = 0] = line.split(',').map(Number);
    return { ...emptyReading(timestamp), latitude, longitude };
  });
}
