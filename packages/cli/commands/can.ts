import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { segment } from '../admin-api.ts';
import { command, flag, optional, required } from '../command.ts';

const model = required('model of the vehicles, as vehicle create has it, ignoring case');
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
    options: { model, 'skip-faulty': flag('store a file with faults, without the faulty statements') },
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
    options: { model },
    run: ({ api }, options) => api.delete(`can-databases/${segment(options.model)}`),
  }),
  command({
    name: 'can redecode',
    summary:
      'decode the stored CAN frames of a vehicle model again with its present DBC file; continues if interrupted',
    examples: ['can redecode --model Zoe', 'can redecode --model Zoe --from 2026-03-01 --until 2026-04-01'],
    options: {
      model,
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
