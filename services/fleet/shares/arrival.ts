import type { Fleet } from '../common/fleet.ts';
import { findDrivingSeconds } from '../routing/router.ts';
import type { OpenShare } from './queries.ts';
import type { SharedVehicle } from './schemas.ts';

/** The router is asked this often for each share that somebody looks at. */
const intervalSeconds = 60;
const keptSeconds = 150;
/** From an older position, no arrival is estimated. */
const maxAgeSeconds = 600;

/**
 * Reads the estimated arrival at the place of a share, and has it estimated in the background once a minute, from the
 * position that the share shows: with a grid, not from the exact one.
 * @returns ISO 8601; undefined if unknown
 */
export async function findArrival(
  { redis, config, logger }: Fleet,
  { id, place }: OpenShare,
  { position }: SharedVehicle,
): Promise<string | undefined> {
  const isRecent = position?.ageSeconds !== undefined && position.ageSeconds <= maxAgeSeconds;
  if (config.ROUTER_URL === undefined || place === null || position === undefined || !isRecent) return undefined;
  const key = `${config.QUEUE_PREFIX}:arrival:${id}`;
  const estimate = async () => {
    if ((await redis.set(`${key}:asked`, '1', 'EX', intervalSeconds, 'NX')) === null) return;
    const seconds = await findDrivingSeconds(redis, config, position, place);
    if (seconds === undefined) return;
    const arrival = new Date(Date.now() + seconds * 1000).toISOString();
    await redis.set(key, arrival, 'EX', keptSeconds);
  };
  estimate().catch((err: unknown) => logger.debug({ err }, 'arrival of a share not estimated'));
  return (await redis.get(key).catch(() => null)) ?? undefined;
}
