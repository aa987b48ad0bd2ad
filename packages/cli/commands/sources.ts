import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sourceFormatNames } from '@odograph/contracts/sources';
import { segment, UsageFailure } from '../server/admin-api.ts';
import { command, flag, numeric, optional, readJson, required } from './command.ts';

/** `traccar, flespi, tesla, owntracks or osmand` */
const formats = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(sourceFormatNames);
const id = required('id of the source');

/** Reads a token from a file, so that it is neither in the history of the shell nor in the list of processes. */
async function readToken(path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : (await readFile(path, 'utf8')).trim();
}

/** Sources: systems that forward the messages of their devices. */
export const sourceCommands = [
  command({
    name: 'source create',
    summary: 'create a source, which may send messages of devices of one application; its secret is shown only once',
    examples: ['source create --app app-7f3a --format traccar --create-devices'],
    options: {
      app: required('appId of the application'),
      format: required(formats, sourceFormatNames),
      'flespi-token-file': optional('file with a token of flespi, by which its devices are sent commands', 'file'),
      'create-devices': flag(
        'create devices that do not exist, as APPID:IDENTIFIER; without it their messages go to quarantine',
      ),
    },
    async run({ api }, { app: appId, format, ...options }) {
      const commandToken = await readToken(options['flespi-token-file']);
      return api.post('sources', { appId, format, createDevices: options['create-devices'], commandToken });
    },
  }),
  command({
    name: 'source list',
    summary: 'list the sources, with when each was last seen and what it has sent',
    examples: ['source list', 'source list --app app-7f3a'],
    options: { app: optional('appId of the application; all without it') },
    run: ({ api }, { app: appId }) => api.get('sources', { appId }),
  }),
  command({
    name: 'source rotate',
    summary: 'replace the secret of a source; the new one is shown only once',
    examples: ['source rotate --id 0197a1de-5f0e-7000-8000-000000000003 --overlap-hours 0'],
    options: { id, 'overlap-hours': optional('hours for which the old secret stays valid; 24 without it') },
    run({ api }, options) {
      const hours = options['overlap-hours'];
      return api.post(
        `sources/${segment(options.id)}/secret`,
        hours === undefined ? {} : { overlapHours: numeric(hours) },
      );
    },
  }),
  command({
    name: 'source token',
    summary: 'set, replace or remove the token by which devices behind flespi are sent commands',
    examples: [
      'source token --id 0197a1de-5f0e-7000-8000-000000000003 --file flespi-token',
      'source token --id 0197a1de-5f0e-7000-8000-000000000003 --remove',
    ],
    options: {
      id,
      file: optional('file with the token; it is stored sealed and never shown', 'file'),
      remove: flag('remove the token: its devices take no commands any more'),
    },
    async run({ api }, options) {
      if ((options.file === undefined) !== options.remove) throw new UsageFailure('give either --file or --remove');
      const path = `sources/${segment(options.id)}/command-token`;
      return options.remove ? api.delete(path) : api.put(path, { token: await readToken(options.file) });
    },
  }),
  command({
    name: 'source delete',
    summary: 'delete a source: its secret is invalid at once; what it has sent stays',
    examples: ['source delete --id 0197a1de-5f0e-7000-8000-000000000003'],
    options: { id },
    run: ({ api }, options) => api.delete(`sources/${segment(options.id)}`),
  }),
];

const vehicleModel = required('model of the vehicles, as vehicle create has it, ignoring case');
/** DBC files that ship with the platform. */
const shipped = ['obd2', 'j1939'];
const progressMs = 1000;

interface Imported {
  stored: boolean;
  faults: { line: number; message: string }[];
}

interface Redecoding {
  id: string;
  finishedAt: string | null;
  vehicles: number;
  vehiclesDone: number;
  readingsDone: number;
  readingsChanged: number;
}

/** DBC files of vehicle models, and the decoding of stored frames. */
export const canCommands = [
  command({
    name: 'can import',
    summary:
      'store the DBC file of a vehicle model, or obd2 or j1939, which ship with Odograph; replaces the one before',
    examples: [
      'can import zoe.dbc --model Zoe',
      'can import obd2 --model Clio',
      'can import zoe.dbc --model Zoe --skip-faulty',
    ],
    operand: 'FILE',
    options: { model: vehicleModel, 'skip-faulty': flag('store a file with faults, without the faulty statements') },
    async run({ api, operand }, options) {
      const isShipped = shipped.includes(operand);
      const content = isShipped
        ? { shipped: operand }
        : { base64: (await readFile(operand)).toString('base64'), file: basename(operand) };
      const skipFaulty = options['skip-faulty'];
      const answer = await api.put(`can-databases/${segment(options.model)}`, { ...content, skipFaulty });
      const { faults, stored, ...imported } = answer as Imported;
      for (const { line, message } of faults) process.stderr.write(`${operand}:${line}: ${message}\n`);
      if (!stored) {
        process.exitCode = 1;
        const advice = skipFaulty ? 'the rest is unusable' : '--skip-faulty stores the rest of the file';
        process.stderr.write(`${operand}: not stored, because of its faults; ${advice}\n`);
        return { model: options.model, stored, faults: faults.length };
      }
      return { ...imported, stored, ...(faults.length > 0 && { skipped: faults.length }) };
    },
  }),
  command({
    name: 'can list',
    summary: 'list the DBC files of vehicle models',
    examples: ['can list'],
    run: ({ api }) => api.get('can-databases'),
  }),
  command({
    name: 'can remove',
    summary: 'remove the DBC file of a vehicle model; values that were decoded by it stay',
    examples: ['can remove --model Zoe'],
    options: { model: vehicleModel },
    run: ({ api }, options) => api.delete(`can-databases/${segment(options.model)}`),
  }),
  command({
    name: 'can redecode',
    summary:
      'decode the stored CAN frames of a vehicle model again with its present DBC file; continues if interrupted',
    examples: ['can redecode --model Zoe', 'can redecode --model Zoe --from 2026-03-01 --until 2026-04-01'],
    options: {
      model: vehicleModel,
      from: optional('device time from which on readings are decoded'),
      until: optional('device time until which readings are decoded, exclusive'),
    },
    async run({ api }, options) {
      let progress = (await api.post('can-redecodings', options)) as Redecoding;
      let shown = '';
      while (progress.finishedAt === null) {
        await delay(progressMs);
        progress = (await api.get(`can-redecodings/${progress.id}`)) as Redecoding;
        const { vehicles, vehiclesDone, readingsDone, readingsChanged } = progress;
        const line = `${vehiclesDone} of ${vehicles} vehicles, ${readingsDone} readings, ${readingsChanged} changed\n`;
        if (line !== shown) process.stderr.write(line);
        shown = line;
      }
      return progress;
    },
  }),
];

const app = required('appId of the application');

async function readSettings(file: string): Promise<object> {
  const settings = await readJson(file);
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
    throw new Error(`${file} must hold a JSON object`);
  }
  return settings;
}

/** GBFS 3.0 feeds of applications (docs/gbfs.md). */
export const gbfsCommands = [
  command({
    name: 'gbfs enable',
    summary: 'publish the vehicles and stations of an application as GBFS 3.0, to everyone; prints the address',
    examples: ['gbfs enable --app app-7f3a --file examples/gbfs-settings.json'],
    options: { app, file: required('JSON file with the settings, such as examples/gbfs-settings.json') },
    run: async ({ api }, options) => api.put(`gbfs/${segment(options.app)}`, await readSettings(options.file)),
  }),
  command({
    name: 'gbfs show',
    summary: 'show what an application publishes',
    examples: ['gbfs show --app app-7f3a'],
    options: { app },
    run: ({ api }, options) => api.get(`gbfs/${segment(options.app)}`),
  }),
  command({
    name: 'gbfs vehicles',
    summary: 'show how many vehicles of an application its feeds publish now, and why the others are not in them',
    examples: ['gbfs vehicles --app app-7f3a'],
    options: { app },
    run: ({ api }, options) => api.get(`gbfs/${segment(options.app)}/vehicles`),
  }),
  command({
    name: 'gbfs disable',
    summary: 'stop publishing an application; its feeds answer NOT_FOUND within their TTL',
    examples: ['gbfs disable --app app-7f3a'],
    options: { app },
    run: ({ api }, options) => api.delete(`gbfs/${segment(options.app)}`),
  }),
];
