import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { command, optional } from '../command.ts';
import { UsageFailure } from '../failures.ts';
import { parseColumnMap, readCsv } from '../imports/csv.ts';
import { readGpx } from '../imports/gpx.ts';
import { importHistory } from '../imports/import-history.ts';
import { readNdjson } from '../imports/ndjson.ts';
import type { HistoryRow } from '../imports/rows.ts';
import { readTraccar } from '../imports/traccar.ts';

const formats = ['csv', 'gpx', 'ndjson', 'traccar'] as const;
const byExtension: Readonly<Record<string, string>> = {
  ...{ '.csv': 'csv', '.gpx': 'gpx', '.ndjson': 'ndjson', '.jsonl': 'ndjson', '.sql': 'traccar' },
};
const progressMs = 2000;

/** Reads lines of two ids, separated by a comma. @throws UsageFailure */
async function readDeviceMap(path: string | undefined): Promise<ReadonlyMap<string, string>> {
  const devices = new Map<string, string>();
  if (path === undefined) return devices;
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const [theirs = '', ours = '', ...rest] = line.split(',').map((cell) => cell.trim());
    if (line.trim() === '') continue;
    if (theirs === '' || ours === '' || rest.length > 0)
      throw new UsageFailure(`${path}: ${line} is not THEIR_ID,DEVICE_ID`);
    devices.set(theirs, ours);
  }
  return devices;
}

function readRows(
  path: string,
  {
    format,
    map,
    encoding = 'utf-8',
  }: { format: string | undefined; map: string | undefined; encoding: string | undefined },
): AsyncIterable<HistoryRow> {
  const chosen = format ?? byExtension[extname(path).toLowerCase()];
  if (map !== undefined && chosen !== 'csv') throw new UsageFailure('--map is for CSV');
  if (chosen === 'gpx') return readGpx(path);
  if (chosen === 'ndjson') return readNdjson(path);
  if (chosen === 'traccar') return readTraccar(path);
  if (chosen !== 'csv') throw new UsageFailure(`give --format, one of ${formats.join(', ')}`);
  const onIgnored = (column: string) => process.stderr.write(`column ${column} is ignored\n`);
  return readCsv(path, encoding, parseColumnMap(map), onIgnored);
}

/** History of another system. */
export const importCommands = [
  command({
    name: 'import',
    summary: 'import readings from a file of another system; the same command again continues, or changes nothing',
    examples: [
      'import march.csv --vehicle 1000000001 --map time=fixtime,latitude=lat,longitude=lon',
      'import traccar.sql --device-map devices.csv',
    ],
    operand: 'FILE',
    options: {
      app: optional('appId of the application that the vehicles must belong to'),
      vehicle: optional('vehicle of all rows; without it, each row names its own'),
      device: optional('device of all rows, instead of a vehicle'),
      format: optional(`${formats.join(', ')}; by default by the name of the file`, formats),
      map: optional('columns of a CSV with other names, such as time=fixtime,latitude=lat'),
      'device-map': optional('file with lines THEIR_ID,DEVICE_ID', 'file'),
      encoding: optional('encoding of a CSV, such as windows-1252; utf-8 without it'),
    },
    async run({ api, operand: path }, { app, vehicle, device, format, map, encoding, 'device-map': deviceMap }) {
      if (vehicle !== undefined && device !== undefined) throw new UsageFailure('give --vehicle or --device, not both');
      const targets = { appId: app, vehicleId: vehicle, deviceId: device, devices: await readDeviceMap(deviceMap) };
      let shownMs = performance.now();
      const summary = await importHistory(api, path, readRows(path, { format, map, encoding }), targets, (progress) => {
        if (performance.now() - shownMs < progressMs) return;
        shownMs = performance.now();
        process.stderr.write(`${progress.rows} rows, ${progress.accepted} accepted, ${progress.faults} at fault\n`);
      });
      if (summary.faults > 0) process.exitCode = 1;
      return { file: path, ...summary };
    },
  }),
];
