import {
  addressQueueKey,
  addressSourceKey,
  centreOf,
  isNamed,
  parseCell,
  storeAddress,
} from '@odograph/database/addresses';
import type { Database } from '@odograph/database/database';
import { BackgroundFailures } from '@odograph/runtime/background-failures';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { Counter, type Registry } from '@odograph/runtime/metrics';
import type { Redis } from '@odograph/runtime/redis';
import { takeSlot } from '../common/upstream.ts';
import { geocoderLimit, reverseGeocode } from './geocoder.ts';
import type { MapFile } from './map-file.ts';

/** How long cells are queued after a process has announced that it names them. */
const sourceSeconds = 60;
const announceMs = 20_000;
const mapPollMs = 500;
const cellsPerPoll = 100;

interface NamingOptions {
  readonly db: Database;
  readonly redis: Redis;
  readonly config: ResolvedConfig;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly map: MapFile;
}

/**
 * Names the queued cells (packages/database/addresses.ts), newest first: by the geocoder of GEOCODER_URL within its rate limit,
 * else by the map file. A failed cell is dropped from the queue until it is requested again.
 * @returns a function that stops
 */
export async function startNaming(options: NamingOptions): Promise<() => Promise<void>> {
  const { redis, config, logger, metrics } = options;
  const { GEOCODER_URL: url, QUEUE_PREFIX: prefix } = config;
  const counter = new Counter({
    name: 'odograph_fleet_geocoder_failures_total',
    help: 'Failed lookups of addresses, which are missing',
    labelNames: ['task'],
    registers: [metrics],
  });
  const failures = new BackgroundFailures({ geocoder: 'addresses are missing' }, logger, counter);
  const stopping = new AbortController();
  let announcedMs = Number.NEGATIVE_INFINITY;
  const announce = async () => {
    if (performance.now() - announcedMs < announceMs) return;
    await redis.set(addressSourceKey(prefix), '1', 'EX', sourceSeconds);
    announcedMs = performance.now();
  };
  const name = url === undefined ? nameByMap : nameByGeocoder;
  const tick = async (): Promise<void> => {
    try {
      if (await name(options, announce, stopping.signal)) failures.succeeded('geocoder');
    } catch (error) {
      if (!stopping.signal.aborted) failures.failed('geocoder', error);
    }
  };
  if (url !== undefined || (await options.map.open()) !== undefined) await announce().catch(() => undefined);
  let running: Promise<void> | undefined;
  const timer = setInterval(
    () => {
      running ??= tick().finally(() => {
        running = undefined;
      });
    },
    url === undefined ? mapPollMs : Math.ceil(1000 / config.GEOCODER_REQUESTS_PER_SECOND),
  );
  return async () => {
    clearInterval(timer);
    stopping.abort();
    await running;
  };
}

/** Calls `announce` if it can name cells, then names them. @returns whether it named any */
type Name = (options: NamingOptions, announce: () => Promise<void>, stopping: AbortSignal) => Promise<boolean>;

const nameByGeocoder: Name = async ({ db, redis, config }, announce, stopping) => {
  await announce();
  const key = addressQueueKey(config.QUEUE_PREFIX);
  if ((await redis.exists(key)) === 0 || !(await takeSlot(geocoderLimit(redis, config)))) return false;
  const [wanted] = await redis.zpopmax(key);
  if (wanted === undefined) return false;
  const cell = parseCell(wanted);
  if (await isNamed(db, cell, config)) return false;
  await storeAddress(db, cell, await reverseGeocode(config, centreOf(cell), stopping));
  return true;
};

const nameByMap: Name = async ({ db, redis, config, map }, announce, stopping) => {
  const names = await map.open();
  if (names === undefined) return false;
  await announce();
  const popped = await redis.zpopmax(addressQueueKey(config.QUEUE_PREFIX), cellsPerPoll);
  const cells = popped.filter((_, index) => index % 2 === 0).map(parseCell);
  for (const cell of cells) {
    if (stopping.aborted) break;
    if (await isNamed(db, cell, config)) continue;
    const { latitude, longitude } = centreOf(cell);
    await storeAddress(db, cell, await names.nameOf(latitude, longitude), true);
  }
  return cells.length > 0;
};
