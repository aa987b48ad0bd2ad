import { extname } from 'node:path';
import { segment, UsageFailure } from '../server/admin-api.ts';
import { restoreArchive } from './archive.ts';
import { command, flag, list, optional } from './command.ts';

const formats = ['csv', 'gpx', 'ndjson', 'traccar'] as const;
const byExtension: Readonly<Record<string, string>> = {
  ...{ '.csv': 'csv', '.gpx': 'gpx', '.ndjson': 'ndjson', '.jsonl': 'ndjson', '.sql': 'traccar' },
};

/** History of another system. */
export const importCommands = [
  command({
    name: 'import',
    summary:
      'import readings from a file of another system, or of an archive; the same command again continues, or changes nothing',
    examples: [
      'import march.csv --vehicle 1000000001 --map time=fixtime,latitude=lat,longitude=lon',
      'import traccar.sql --device-map devices.csv',
      'import /srv/archive/readings-2024-03-07-2024-03-14-1a2b3c4d-1.parquet',
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
    async run(
      { api, config, operand: path },
      { app, vehicle, device, format, map, encoding, 'device-map': deviceMap },
    ) {
      if (extname(path).toLowerCase() === '.parquet') {
        const given = { app, vehicle, device, format, map, encoding, 'device-map': deviceMap };
        const [option] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
        if (option !== undefined) throw new UsageFailure(`--${option} does not apply to archive files`);
        return restoreArchive(config, path);
      }
      if (vehicle !== undefined && device !== undefined) throw new UsageFailure('give --vehicle or --device, not both');
      const chosen = formats.find((one) => one === (format ?? byExtension[extname(path).toLowerCase()]));
      if (chosen === undefined) throw new UsageFailure(`give --format, one of ${formats.join(', ')}`);
      const { importHistoryFile } = await import('../imports/history-file.ts');
      const targets = { appId: app, vehicleId: vehicle, deviceId: device, deviceMap };
      const summary = await importHistoryFile(api, path, { format: chosen, map, encoding }, targets);
      if (summary.faults > 0) process.exitCode = 1;
      return { file: path, ...summary };
    },
  }),
];

const app = optional('appId of the application that sees the records; without it, all applications do');

/** Registration data. */
export const registrationCommands = [
  command({
    name: 'registration import',
    summary: 'import records from a CSV or NDJSON file; importing the same file again resumes, or changes nothing',
    examples: [
      'registration import records.csv',
      'registration import records.csv --app app-7f3a --encoding windows-1252 --ignore remarks',
    ],
    operand: 'FILE',
    options: {
      app,
      encoding: optional('encoding of the file, such as windows-1252; utf-8 without it'),
      ignore: list('name of a column to ignore'),
      again: flag('import the file from its first row'),
    },
    async run({ api, operand: path }, { app: appId, encoding = 'utf-8', ignore = [], again }) {
      const { importRegistrations } = await import('../imports/registrations.ts');
      const summary = await importRegistrations(api, path, { appId, encoding, ignore, again });
      for (const { line, field, message } of summary.faults) {
        process.stderr.write(`${path}:${line}: ${field === '' ? 'the row' : field} ${message}\n`);
      }
      if (summary.rows > 0 && summary.resumedAt === summary.rows) {
        process.stderr.write(`${path}: nothing imported: this file was already imported; --again imports it again\n`);
      }
      if (summary.bad > 0) process.exitCode = 1;
      return { file: path, ...summary };
    },
  }),
  command({
    name: 'registration show',
    summary: 'look up a vehicle, with the source of each field and the decoded VIN',
    examples: ['registration show AB-123-CD'],
    operand: 'PLATE_OR_VIN',
    options: { app },
    run: ({ api, operand }, { app: appId }) => api.get(`registrations/${segment(operand)}`, { appId }),
  }),
  command({
    name: 'registration remove',
    summary: 'remove the imported records of a vehicle and the cached answers of the provider',
    examples: ['registration remove VF1AG000000000001'],
    operand: 'PLATE_OR_VIN',
    options: { app },
    run: ({ api, operand }, { app: appId }) => api.delete(`registrations/${segment(operand)}`, { appId }),
  }),
];
