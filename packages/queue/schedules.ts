import type { QueueJobs, QueueName } from '@odograph/contracts/queues';
import type { TypedQueue } from './queues.ts';

const checkIntervalMs = 5000;
/** Tolerated difference between the clocks of several machines. */
const clockToleranceMs = 60_000;

export interface Schedule<Name extends QueueName> {
  readonly queue: TypedQueue<Name>;
  /** Unique in its queue. */
  readonly id: string;
  readonly everyMs: number;
  /** Pause before the very first job; none when left out. */
  readonly firstAfterMs?: number;
  readonly data: QueueJobs[Name];
}

/**
 * Adds a job at a fixed interval, once for the whole platform however many processes call this.
 *
 * BullMQ plans the next job by the wall clock. After a clock that was ahead is set back, the planned job would be hours
 * away; the schedule is registered again then.
 * @returns stops checking the schedule; the schedule itself stays in Redis
 */
export async function keepSchedule<Name extends QueueName>(schedule: Schedule<Name>): Promise<() => void> {
  await removeIfTooFarAway(schedule);
  await upsert(schedule);
  const check = async (): Promise<void> => {
    if (await removeIfTooFarAway(schedule)) await upsert(schedule);
  };
  // A failed check is repeated; queues report a lost connection to Redis themselves.
  const timer = setInterval(() => void check().catch(() => undefined), checkIntervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

async function upsert<Name extends QueueName>(schedule: Schedule<Name>): Promise<void> {
  const { queue, id, everyMs, firstAfterMs = 0, data } = schedule;
  const repeat = { every: everyMs, ...(firstAfterMs > 0 && { startDate: Date.now() + firstAfterMs }) };
  await queue.upsertJobScheduler(id, repeat, { name: queue.name, data });
}

async function removeIfTooFarAway<Name extends QueueName>({ queue, id, everyMs }: Schedule<Name>): Promise<boolean> {
  const scheduler = await queue.getJobScheduler(id);
  if ((scheduler?.next ?? 0) <= Date.now() + everyMs + clockToleranceMs) return false;
  await queue.removeJobScheduler(id);
  return true;
}
