import { setTimeout as delay } from 'node:timers/promises';
import { plateKey } from '@odograph/contracts/text-patterns';
import { type AdminApi, Refusal, segment, Unreachable, UsageFailure } from '../server/admin-api.ts';
import { type CommandContext, command, numeric, optional } from './command.ts';

/** A reading as GET /v1/x/vehicle/{id}/readings answers it. */
interface Reading {
  readonly time: string;
  readonly receivedAt: string;
  readonly location?: Readonly<Record<string, number>>;
  readonly status?: Readonly<Record<string, number | boolean>>;
  readonly electric?: Readonly<Record<string, number>>;
}

const pollMs = 1000;
const maxPauseMs = 15_000;
/** Limit of the platform for one request. */
const pageSize = 200;
/** A longer backlog is skipped; the history of the vehicle has it. */
const maxPages = 25;

const vehicleIdForm = /^[1-9]\d{9}$/;

/** Finds a vehicle by its id or plate. @throws UsageFailure for a plate of several applications */
async function findVehicle(api: AdminApi, given: string): Promise<string> {
  if (vehicleIdForm.test(given)) return given;
  const { vehicles } = (await api.get('/v1/x/vehicles', { q: given, limit: '1000' })) as {
    vehicles: { id: string; plate: string; appId: string }[];
  };
  const found = vehicles.filter(({ plate }) => plateKey(plate) === plateKey(given));
  const [only] = found;
  if (only === undefined) throw new Error(`no vehicle has the plate ${given}`);
  if (found.length === 1) return only.id;
  const ids = found.map(({ id, appId }) => `${id} of ${appId}`).join(', ');
  throw new UsageFailure(`several vehicles have the plate ${given}, give the id: ${ids}`);
}

/** Reads the newest readings, the oldest first: one page, or all back to those that are known. */
async function readNew(api: AdminApi, vehicleId: string, known: ReadonlySet<string> = new Set()): Promise<Reading[]> {
  const found: Reading[] = [];
  for (let page = 1; page <= (known.size === 0 ? 1 : maxPages); page += 1) {
    const before = found.at(-1)?.time;
    const query = { limit: String(pageSize), ...(before !== undefined && { before }) };
    const { readings } = (await api.get(`/v1/x/vehicle/${segment(vehicleId)}/readings`, query)) as {
      readings: Reading[];
    };
    found.push(...readings);
    if (readings.length < pageSize || readings.some(({ time }) => known.has(time))) break;
  }
  return found.filter(({ time }) => !known.has(time)).toReversed();
}

const units: Readonly<Record<string, string>> = {
  speed: ' km/h',
  angle: '°',
  mileage: ' km',
  soc: ' %',
  voltage: ' V',
  autonomy: ' km',
};

/** Formats a reading as one line for people. */
function lineOf({ time, location = {}, status = {}, electric = {} }: Reading): string {
  const { latitude, longitude, ...motion } = location;
  const position =
    latitude === undefined || longitude === undefined ? [] : [`${latitude.toFixed(5)},${longitude.toFixed(5)}`];
  const values = Object.entries({ ...motion, ...status, ...electric }).map(
    ([name, value]) => `${name} ${value}${units[name] ?? ''}`,
  );
  return `${[time.replace('000Z', 'Z'), ...position, ...values].join('  ')}\n`;
}

/** Waits; false when it was aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  return delay(ms, true, { signal }).catch(() => false);
}

/** Whether the platform may answer later. */
const isTemporary = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof Refusal && (error.status === 429 || error.status >= 500));

/** Creates a function that prints the readings that were stored since its last call; at first the latest ones. */
function createPrinter({ api, print, isForPeople }: CommandContext, vehicleId: string, shown: number) {
  let known: ReadonlySet<string> | undefined;
  return async (): Promise<void> => {
    const readings = await readNew(api, vehicleId, known);
    const first = known === undefined ? Math.max(0, readings.length - shown) : 0;
    for (const one of readings.slice(first)) print(isForPeople ? lineOf(one) : `${JSON.stringify(one)}\n`);
    known = new Set([...(known ?? []), ...readings.map(({ time }) => time)].slice(-2 * maxPages * pageSize));
  };
}

/** Returns the pause after a failure. @throws the error, unless the platform may answer later */
function pauseAfter(error: unknown, pauseMs: number): number {
  if (!(error instanceof Error) || !isTemporary(error)) throw error;
  if (pauseMs === pollMs) process.stderr.write(`${error.message}; trying again\n`);
  return Math.min(2 * pauseMs, maxPauseMs);
}

/** Prints readings as they are stored until it is aborted; over outages of the platform. */
async function follow(printNew: () => Promise<void>, signal: AbortSignal): Promise<void> {
  await printNew();
  let pauseMs = pollMs;
  while (await pause(pauseMs, signal)) {
    pauseMs = await printNew().then(
      () => pollMs,
      (error: unknown) => pauseAfter(error, pauseMs),
    );
  }
}

/** Live readings. */
export const tailCommands = [
  command({
    name: 'tail',
    summary:
      'print the latest readings of a vehicle, then each one as it is stored, until Ctrl-C; JSON is one line each',
    operand: 'VEHICLEID|PLATE',
    options: { last: optional('number of stored readings to begin with; 10 without it') },
    examples: ['tail AB-123-CD', 'tail 1000000001 --json | jq .location', 'tail AB-123-CD --last 0'],
    async run(context, { last = '10' }) {
      const shown = numeric(last);
      if (!Number.isInteger(shown) || Number(shown) < 0 || Number(shown) > pageSize) {
        throw new UsageFailure(`--last must be a whole number up to ${pageSize}`);
      }
      const vehicleId = await findVehicle(context.api, context.operand);
      const interrupted = new AbortController();
      const stop = () => interrupted.abort();
      process.once('SIGINT', stop).once('SIGTERM', stop);
      try {
        await follow(createPrinter(context, vehicleId, Number(shown)), interrupted.signal);
      } finally {
        process.off('SIGINT', stop).off('SIGTERM', stop);
      }
      return undefined;
    },
  }),
];
