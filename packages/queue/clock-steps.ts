import type { Worker } from 'bullmq';

/** How often it is looked for what a clock has put too far away. */
const intervalMs = 5000;
/** Clocks of several machines are never quite the same. */
const slackMs = 60_000;
/** BullMQ keeps the moment of a delayed job in the upper bits of its score, above a counter. */
const counterRange = 0x1000;

/** Jobs of schedules begin with `repeat:`; keepSchedule sees to those. */
const recall = `for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], '+inf', 'LIMIT', 0, 1000)) do
  if string.sub(id, 1, 7) ~= 'repeat:' then redis.call('ZADD', KEYS[1], 'XX', ARGV[2], id) end
end`;

/** Looks now and then until it is stopped; what fails is tried again the next time. */
function repeatedly(look: () => Promise<unknown>): () => void {
  const timer = setInterval(() => void look().catch(() => undefined), intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * BullMQ keeps the moments of retries by the time of day: a job that failed while the clock was an hour ahead would wait
 * for an hour when it is set right. No job waits longer than `longestDelayMs`, so one that would is tried now.
 * @returns stops it
 */
export function recallDelayed(worker: Worker, longestDelayMs: number): () => void {
  return repeatedly(async () => {
    const backend = worker.getBackend();
    const client = await backend.client;
    client.defineCommand('odographRecall', { numberOfKeys: 1, lua: recall });
    const now = Date.now();
    const farthestMs = now + longestDelayMs + slackMs;
    await client.runCommand('odographRecall', [
      backend.toKey('delayed'),
      farthestMs * counterRange,
      now * counterRange,
    ]);
  });
}

/** A job that a queue makes every so often. */
export interface Schedule {
  readonly queue: {
    getJobScheduler(id: string): Promise<{ next?: number } | undefined>;
    removeJobScheduler(id: string): Promise<unknown>;
  };
  readonly id: string;
  readonly everyMs: number;
  /** Makes the schedule, or leaves it as it is. */
  upsert(repeat: { every: number }): Promise<unknown>;
}

/**
 * Makes a job every so often, once for the whole platform however many do this. BullMQ counts on from the moment of the
 * last job: after a clock was ahead of the time there would be none until the time has caught up, so it begins anew then.
 * @returns stops looking at the clock
 */
export async function keepSchedule({ queue, id, everyMs, upsert }: Schedule): Promise<() => void> {
  const keep = async (): Promise<void> => {
    const scheduler = await queue.getJobScheduler(id);
    if ((scheduler?.next ?? 0) <= Date.now() + everyMs + slackMs) return;
    await queue.removeJobScheduler(id);
    await upsert({ every: everyMs });
  };
  await keep();
  await upsert({ every: everyMs });
  return repeatedly(keep);
}
