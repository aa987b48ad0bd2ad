import { readFile } from 'node:fs/promises';
import { segment } from '../admin-api.ts';
import { command, flag, numeric, optional, required } from '../command.ts';
import { UsageFailure } from '../failures.ts';

const formats = ['traccar', 'flespi', 'tesla', 'owntracks', 'osmand'];
const id = required('id of the source');

/** Reads a token from a file, so that it is neither in the history of the shell nor in the list of processes. */
async function readToken(path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : (await readFile(path, 'utf8')).trim();
}

/** Other systems that forward what their devices said. */
export const sourceCommands = [
  command({
    name: 'source create',
    summary: 'create a source, which may send messages of devices of one application; its secret is shown only once',
    examples: ['source create --app app-7f3a --format traccar --create-devices'],
    options: {
      app: required('appId of the application'),
      format: required('traccar, flespi, tesla, owntracks or osmand', formats),
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
