import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createPmtiles } from '@odograph/testkit/pmtiles';
import { useDirectory } from '@odograph/testkit/scopes';
import { expect, it } from 'vitest';
import { MapNames } from './names.ts';

const directory = useDirectory();
/** Liechtenstein. */
const streets = fileURLToPath(new URL('../../services/platform/demo/map/streets.pmtiles', import.meta.url));
const names = await MapNames.open(streets);

it('names the road within 50 m and the nearest locality', async () => {
  expect(await names?.nameOf(47.14014, 9.52143)).toBe('Äulestrasse, Vaduz');
  expect(await names?.nameOf(47.10989, 9.52479)).toBe('Landstrasse, Triesen');
});

it('names the nearest locality where there is no road, from 3 km on with the distance, and nothing beyond the map', async () => {
  expect(await names?.nameOf(47.09, 9.6)).toBe('Malbun');
  expect(await names?.nameOf(47.06, 9.62)).toBe('Triesenberg (9 km)');
  expect(await names?.nameOf(0, 0)).toBeUndefined();
});

it('finds localities by a part of their name, regardless of case and diacritics, the larger ones first', async () => {
  const found = await names?.find('TRIES', 10);
  expect(found?.map(({ name }) => name)).toEqual(['Triesen', 'Triesenberg']);
  expect(found?.[0]?.latitude).toBeCloseTo(47.108, 2);
  expect(found?.[0]?.longitude).toBeCloseTo(9.528, 2);
  expect(await names?.find('nowhere', 10)).toEqual([]);
});

it('opens only archives of vector tiles', async () => {
  const path = join(directory, 'images.pmtiles');
  await writeFile(path, createPmtiles({ tileType: 2, tile: Buffer.from('PNG') }));
  expect(await MapNames.open(path)).toBeUndefined();
  await writeFile(path, 'no map');
  await expect(MapNames.open(path)).rejects.toThrow();
});
