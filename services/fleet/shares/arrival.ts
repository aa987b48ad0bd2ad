import type { Fleet } from '../common/fleet.ts';
import { findDrivingSeconds } from '../routing/router.ts';
import type { OpenShare } from './queries.ts';
import type { SharedVehicle } from './schemas.ts';

/** Minimum time between estimates for a share that is being viewed. */
const intervalSeconds = 60;
const cacheSeconds = 150;
/** Maximum age of the position for an estimate. */
const maxAgeSeconds = 600;

/**
 * Returns the estimated arrival at the place of a share. Updates it in the background, at most once a minute, from the
 * position that the share shows, which may be rounded to a grid.
 * @returns ISO 8601; undefined if unknown
 */
export async function findArrival(
  { redis, config, failures }: Fleet,
  { id, place }: OpenShare,
  { position }: SharedVehicle,
): Promise<string | undefined> {
  const isRecent = position?.ageSeconds !== undefined && position.ageSeconds <= maxAgeSeconds;
  if (config.ROUTER_URL === undefined || place === null || position === undefined || !isRecent) return undefined;
  const key = `${config.QUEUE_PREFIX}:arrival:${id}`;
  const estimate = async () => {
    if ((await redis.set(`${key}:asked`, '1', 'EX', intervalSeconds, 'NX')) === null) return;
    const seconds = await findDrivingSeconds(redis, config, position, place);
    failures.succeeded('arrival');
    if (seconds === undefined) return;
    const arrival = new Date(Date.now() + seconds * 1000).toISOString();
    await redis.set(key, arrival, 'EX', cacheSeconds);
  };
  estimate().catch((error: unknown) => failures.failed('arrival', error));
  return (await redis.get(key).catch(() => null)) ?? undefined;
}
