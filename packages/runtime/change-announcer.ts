import {
  type Changes,
  changesKeptMs,
  changesKey,
  maximumChangeEntries,
  writeChanges,
} from '@odograph/contracts/events';
import type { Logger } from './logger.ts';
import { Counter, type Registry } from './metrics.ts';
import type { Redis } from './redis.ts';

const retryMs = 1000;
const soonMs = 50;
const trimIntervalMs = 10_000;
/** Of commands and of alarms. Readers also find them with GET /v1/x/commands and /v1/x/alarms. */
const maximumUnsent = 10_000;

interface AnnouncerHost {
  readonly config: { readonly QUEUE_PREFIX: string };
  readonly logger: Logger;
  readonly metrics: Registry;
  onStop(name: string, close: () => unknown): void;
}

/** Counts in one metric for all services of a process. */
function countFailures(metrics: Registry): Counter {
  const name = 'odograph_change_announcement_failures_total';
  const known = metrics.getSingleMetric(name);
  if (known instanceof Counter) return known;
  return new Counter({ name, help: 'Entries that were not added to the stream of changes', registers: [metrics] });
}

/**
 * Announces committed changes of vehicles, commands and alarms in the stream of contracts/changes.ts. What cannot be announced is
 * announced again, every second and with each later change, until Redis accepts it.
 */
export class ChangeAnnouncer {
  readonly #redis: Redis;
  readonly #key: string;
  readonly #logger: Logger;
  readonly #failures: Counter;
  readonly #unsentVehicles = new Set<number>();
  readonly #unsentCommands = new Set<string>();
  readonly #unsentAlarms = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #nextTrimMs = 0;

  constructor(redis: Redis, { config, logger, metrics, onStop }: AnnouncerHost) {
    this.#redis = redis;
    this.#key = changesKey(config.QUEUE_PREFIX);
    this.#logger = logger;
    this.#failures = countFailures(metrics);
    onStop('announcement of changes', async () => {
      await this.announce({});
      clearTimeout(this.#timer);
    });
  }

  /**
   * Announces changes within 50 ms, together, so that their write to the disk of Redis does not delay what a request waits
   * for; call it after their commit.
   */
  announceSoon(changes: Partial<Changes>): void {
    this.#keep({ vehicleIds: [], commandIds: [], alarmIds: [], ...changes });
    this.#announceAfter(soonMs);
  }

  /** Announces changes; call it after their commit. Resolves when they are in Redis, or kept for another attempt. */
  async announce({ vehicleIds = [], commandIds = [], alarmIds = [] }: Partial<Changes>): Promise<void> {
    const changes = {
      vehicleIds: [...this.#unsentVehicles, ...vehicleIds],
      commandIds: [...this.#unsentCommands, ...commandIds],
      alarmIds: [...this.#unsentAlarms, ...alarmIds],
    };
    for (const unsent of [this.#unsentVehicles, this.#unsentCommands, this.#unsentAlarms]) unsent.clear();
    try {
      await this.#add(writeChanges(changes));
      this.#isFailing = false;
    } catch (error) {
      this.#keep(changes);
      this.#failures.inc();
      if (!this.#isFailing) this.#logger.warn({ err: error }, 'changes not announced, retrying');
      this.#isFailing = true;
      this.#announceAfter(retryMs);
    }
  }

  #announceAfter(milliseconds: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.announce({});
    }, milliseconds).unref();
  }

  async #add(entries: readonly string[][]): Promise<void> {
    if (entries.length === 0) return;
    const pipeline = this.#redis.pipeline();
    for (const fields of entries) pipeline.xadd(this.#key, 'MAXLEN', '~', maximumChangeEntries, '*', ...fields);
    const now = performance.now();
    if (now >= this.#nextTrimMs) {
      this.#nextTrimMs = now + trimIntervalMs;
      pipeline.xtrim(this.#key, 'MINID', '~', Date.now() - changesKeptMs);
    }
    const results = await pipeline.exec();
    for (const [error] of results ?? []) if (error) throw error;
  }

  /** The number of unsent vehicles is bounded by that of the fleet. */
  #keep({ vehicleIds, commandIds, alarmIds }: Changes): void {
    for (const id of vehicleIds) this.#unsentVehicles.add(id);
    for (const id of commandIds) if (this.#unsentCommands.size < maximumUnsent) this.#unsentCommands.add(id);
    for (const id of alarmIds) if (this.#unsentAlarms.size < maximumUnsent) this.#unsentAlarms.add(id);
  }
}
