import { readFile } from 'node:fs/promises';
import { segment } from '../admin-api.ts';
import { command, required } from '../command.ts';

const app = required('appId of the application');

async function readSettings(file: string): Promise<object> {
  let settings: unknown;
  try {
    settings = JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${file} cannot be read as JSON: ${reason}`, { cause });
  }
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
    throw new Error(`${file} must hold a JSON object`);
  }
  return settings;
}

/** What applications publish as GBFS 3.0 (docs/gbfs.md). */
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
    summary: 'stop publishing an application; its feeds answer NOT_FOUND from then on',
    examples: ['gbfs disable --app app-7f3a'],
    options: { app },
    run: ({ api }, options) => api.delete(`gbfs/${segment(options.app)}`),
  }),
];
