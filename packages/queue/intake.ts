import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  acknowledgementsChannel,
  type QueuedAcknowledgement,
  type QueuedUpload,
  type QueueName,
  type UploadBatch,
  type UploadFormat,
} from '@odograph/contracts/queues';
import { compressAfterDays } from '@odograph/contracts/telemetry';
import { Batcher } from '@odograph/runtime/batcher';
import { within } from '@odograph/runtime/clock';
import type { Logger } from '@odograph/runtime/logger';
import { Counter, Gauge, Histogram, type Registry } from '@odograph/runtime/metrics';
import { awaitRedis, connectRedis, type Redis } from '@odograph/runtime/redis';
import { redisServers } from '@odograph/runtime/redis-url';
import type { ServiceHealth, ServiceHost } from '@odograph/runtime/service';
import { type Backlog, type BacklogOptions, watchBacklog } from './backlog.ts';
import { type DurableAdd, openDurableQueue, type QueueConnection } from './queues.ts';
import { listUploadShards, nameShards, shardOf } from './shards.ts';

/** Creates the metrics of a service that accepts uploads. */
export function createIntakeMetrics(registry: Registry, service: 'broker' | 'gateway') {
  const registers = [registry];
  const named = (name: string, help: string) => ({ name: `odograph_${service}_${name}`, help, registers });
  return {
    acceptedUploads: new Counter(named('accepted_uploads_total', 'Uploads in the queue and acknowledged')),
    batchUploads: new Histogram({
      ...named('batch_uploads', 'Uploads in one job'),
      buckets: [1, 5, 20, 50, 100, 200, 500, 1000, 2000, 5000],
    }),
    backlogJobs: new Gauge({
      ...named('backlog_jobs', 'Upload jobs that are not done, by shard'),
      labelNames: ['shard'] as const,
    }),
    backlogBytes: new Gauge({
      ...named('backlog_bytes', 'Memory that Redis uses, by index of the server in REDIS_URL'),
      labelNames: ['server'] as const,
    }),
    failedBatches: new Counter(named('failed_batches_total', 'Failed attempts to queue a batch')),
    throttled: new Counter(named('throttled_total', 'Pauses in reading from devices that exceed their rates')),
    backgroundFailures: new Counter({
      ...named('background_failures_total', 'Failures of background work, by task'),
      labelNames: ['task'] as const,
    }),
  };
}

export type IntakeMetrics = ReturnType<typeof createIntakeMetrics>;

/** The producer side of a shard. */
export interface IntakeShard {
  /** By the queue of the lane. */
  readonly add: { readonly [Queue in UploadLane['queue']]: DurableAdd<Queue> };
  readonly backlog: Backlog;
}

/** Says which shards hold uploads and why; undefined while all accept them. */
export function describeHeldShards(shards: readonly Pick<IntakeShard, 'backlog'>[]): string | undefined {
  const byFault = new Map<string, number[]>();
  for (const [shard, { backlog }] of shards.entries()) {
    const { fault } = backlog;
    if (fault !== undefined) byFault.set(fault, [...(byFault.get(fault) ?? []), shard]);
  }
  const faults = [...byFault].map(([fault, held]) => `${nameShards(held, shards.length)}${fault}`);
  return faults.length === 0 ? undefined : faults.join('; ');
}

/**
 * Describes the health of a service that accepts uploads. It fails once no shard accepts any: while one does, load
 * balancers must keep sending devices here.
 */
export function intakeHealth(shards: readonly IntakeShard[]): ServiceHealth {
  const fault = describeHeldShards(shards);
  if (fault === undefined) {
    const isLateHeld = shards.some(({ backlog }) => backlog.isLateFull);
    const held = '; holding late uploads: the backlog exceeds half of its limit';
    return { ok: true, state: `listening${isLateHeld ? held : ''}` };
  }
  const isDown = shards.every(({ backlog }) => backlog.fault !== undefined);
  return { ok: !isDown, state: `${isDown ? '' : 'listening; '}holding uploads: ${fault}` };
}

/**
 * Opens the Redis connections and the queues of a service that accepts uploads and acknowledgements. Redis may be
 * unavailable, even at start. @param name of the service, for its shutdown hooks
 */
export async function openIntakeQueues(
  host: Pick<ServiceHost, 'config' | 'limits' | 'logger' | 'onStop'>,
  name: string,
  { metrics, failures }: Pick<BacklogOptions, 'metrics' | 'failures'>,
) {
  const { config, limits, logger, onStop } = host;
  const servers = redisServers(config.REDIS_URL);
  const connect = (url: string): Redis => {
    const redis = connectRedis(url, logger);
    onStop(`${name} redis`, () => redis.disconnect());
    return redis;
  };
  const redis = connect(config.REDIS_URL);
  // Redis accepts no other commands on a subscribed connection.
  const subscriber = connect(config.REDIS_URL);
  const open = <Name extends QueueName>(queue: Name, connection: QueueConnection) => {
    const durable = openDurableQueue(queue, connection, config);
    onStop(`${name} queue`, durable.close);
    return durable;
  };
  const queues = listUploadShards(config).map((shard) => ({
    ...shard,
    ...{ live: open('uploads', shard), late: open('late-uploads', shard) },
  }));
  const acknowledgements = open('acknowledgements', { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX });
  const addAcknowledgement: DurableAdd<'acknowledgements'> = (acknowledgement, options) => {
    // Publish first: a waiting request is answered without waiting for the job to reach the disk.
    redis
      .publish(acknowledgementsChannel(config.QUEUE_PREFIX), JSON.stringify(acknowledgement))
      .catch((error: unknown) => logger.debug({ err: error }, 'acknowledgement not published; only queued'));
    return acknowledgements.add(acknowledgement, options);
  };
  const shards: IntakeShard[] = [];
  for (const [server, address] of servers.entries()) {
    const own = queues.filter((queue) => queue.server === server);
    const client = server === 0 ? redis : connect(address);
    await awaitRedis(client);
    const counted = own.map(({ shard, live, late }) => ({ shard, uploads: live.queue, lateUploads: late.queue }));
    const { backlogs, stop } = await watchBacklog({
      shards: counted,
      redis: client,
      server,
      limits,
      metrics,
      failures,
    });
    onStop(`${name} backlog`, stop);
    for (const [index, { shard, live, late }] of own.entries()) {
      const backlog = backlogs[index];
      if (backlog) shards[shard] = { add: { uploads: live.add, 'late-uploads': late.add }, backlog };
    }
  }
  const [first] = shards;
  if (first === undefined) throw new Error('there are no upload shards');
  return { redis, subscriber, shards, backlog: first.backlog, addAcknowledgement };
}

/** An upload as it was received. */
export interface ReceivedUpload {
  readonly deviceId: string;
  readonly payload: Buffer;
  /** Left out for the platform's own format. */
  readonly format?: UploadFormat | undefined;
  /** The only application that its readings may belong to; any without it. */
  readonly applicationId?: number;
  /** Wall-clock time; may jump. */
  readonly receivedAtMs: number;
}

export interface UploadIntakeOptions<Upload extends ReceivedUpload> {
  readonly shards: readonly IntakeShard[];
  readonly metrics: {
    readonly acceptedUploads: Counter;
    readonly batchUploads: Histogram;
    readonly failedBatches: Counter;
  };
  readonly logger: Logger;
  /** Called once the uploads of a batch would survive a crash of every process: now they may be acknowledged. */
  onStored(uploads: readonly Upload[]): void;
}

/** A PUBACK waits this long for further uploads; one write to the disk of Redis then stores them all. */
const batchIntervalMs = 5;
const maximumBatchUploads = 500;

/** Queues the uploads of all connections in batches, one job each; those of each shard and lane in separate batches. */
export class UploadIntake<Upload extends ReceivedUpload> {
  readonly #options: UploadIntakeOptions<Upload>;
  readonly #live: readonly Batcher<Upload>[];
  readonly #late: readonly Batcher<Upload>[];
  readonly #end = new AbortController();

  constructor(options: UploadIntakeOptions<Upload>) {
    this.#options = options;
    this.#live = options.shards.map((shard) => this.#createBatcher(liveLane, shard));
    this.#late = options.shards.map((shard) => this.#createBatcher(lateLane, shard));
  }

  /** Queues an upload and then reports it as stored; never, when the intake ends before that. */
  add(upload: Upload, lane: UploadLane): void {
    const batchers = lane === liveLane ? this.#live : this.#late;
    batchers[shardOf(upload.deviceId, batchers.length)]?.add(upload);
  }

  /** Resolves when everything is stored, or after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    const drained = Promise.all([...this.#live, ...this.#late].map((batcher) => batcher.drain()));
    await Promise.race([drained, delay(timeoutMs, undefined, { ref: false })]);
    this.#end.abort();
  }

  #createBatcher(lane: UploadLane, shard: IntakeShard): Batcher<Upload> {
    return new Batcher({
      handle: (uploads) => this.#store(lane, shard, uploads),
      maximumItems: maximumBatchUploads,
      maximumBytes: lane.maximumBatchBytes,
      bytesOf: ({ payload }) => payload.length,
      intervalMs: batchIntervalMs,
      maximumInFlight: lane.maximumBatchesInFlight,
    });
  }

  async #store(lane: UploadLane, { add, backlog }: IntakeShard, uploads: readonly Upload[]): Promise<void> {
    const { metrics, logger, onStored } = this.#options;
    const isStored = await addUntilStored({
      isFull: () => lane.isFull(backlog),
      add: (jobId) => add[lane.queue](describeBatch(uploads), { jobId }),
      onFailure(error) {
        metrics.failedBatches.inc();
        logger.warn({ err: error, uploads: uploads.length }, 'uploads not stored in Redis; retrying');
      },
      signal: this.#end.signal,
    });
    if (!isStored) return;
    metrics.acceptedUploads.inc(uploads.length);
    metrics.batchUploads.observe(uploads.length);
    onStored(uploads);
  }
}

/** Bytes that are UTF-8 as text, others in base64, so that every byte survives JSON. */
function describeBatch(uploads: readonly ReceivedUpload[]): UploadBatch {
  const devices = new Set<string>();
  let bytes = 0;
  const described = uploads.map(({ deviceId, payload, receivedAtMs, format, applicationId }): QueuedUpload => {
    devices.add(deviceId);
    bytes += payload.length;
    const content = isUtf8(payload) ? { text: payload.toString() } : { base64: payload.toString('base64') };
    if (format === undefined) return { deviceId, receivedAtMs, ...content };
    return { deviceId, receivedAtMs, format, ...(applicationId !== undefined && { applicationId }), ...content };
  });
  return { uploads: described, devices: devices.size, bytes };
}

/** How uploads of one kind enter the queue. */
export interface UploadLane {
  /** Late uploads have a separate queue, so the workers of live uploads never handle their jobs. */
  readonly queue: 'uploads' | 'late-uploads';
  readonly maximumBatchBytes: number;
  /** Enough to keep Redis busy while it writes to disk; more would only hold more memory. */
  readonly maximumBatchesInFlight: number;
  /** Whether uploads of this kind must wait. */
  isFull(backlog: Backlog): boolean;
}

export const liveLane: UploadLane = {
  queue: 'uploads',
  maximumBatchBytes: 1024 ** 2,
  maximumBatchesInFlight: 4,
  isFull: (backlog) => backlog.isFull,
};

/** Late uploads wait behind live ones, in jobs small enough not to delay these. */
export const lateLane: UploadLane = {
  queue: 'late-uploads',
  maximumBatchBytes: 256 * 1024,
  maximumBatchesInFlight: 2,
  isFull: (backlog) => backlog.isFull || backlog.isLateFull,
};

/** An upload whose last reading is older than this was recorded while the device was offline. */
const lateAfterSeconds = 300;

/**
 * Readings of a week that is being compressed have to wait. Two days below the age at which weeks are compressed, because
 * an upload may wait in the queue.
 */
const compressedAfterSeconds = (compressAfterDays - 2) * 86_400;

/**
 * Chooses the lane of an upload by the times of its first and last reading, UNIX seconds. An undefined time is ignored.
 * Readings between them are not examined: ingest moves the upload to the late lane if necessary.
 */
export function chooseLane(first: number | undefined, last: number | undefined, receivedAtMs: number): UploadLane {
  const now = receivedAtMs / 1000;
  const isLate = (last ?? now) < now - lateAfterSeconds || (first ?? now) < now - compressedAfterSeconds;
  return isLate ? lateLane : liveLane;
}

interface AcknowledgementIntakeOptions {
  readonly add: DurableAdd<'acknowledgements'>;
  readonly backlog: Pick<Backlog, 'isMemoryFull'>;
  readonly logger: Logger;
}

/** Queues acknowledgements for the command service, one job each. */
export class AcknowledgementIntake {
  readonly #options: AcknowledgementIntakeOptions;
  readonly #pending = new Set<Promise<boolean>>();
  readonly #end = new AbortController();

  constructor(options: AcknowledgementIntakeOptions) {
    this.#options = options;
  }

  /** Queues an acknowledgement, retrying until it is stored. @returns false when the intake ends first */
  add(acknowledgement: QueuedAcknowledgement): Promise<boolean> {
    const { add, backlog, logger } = this.#options;
    const { deviceId } = acknowledgement;
    const stored = addUntilStored({
      isFull: () => backlog.isMemoryFull,
      add: (jobId) => add(acknowledgement, { jobId }),
      onFailure: (error) => logger.warn({ err: error, deviceId }, 'acknowledgement not stored in Redis; retrying'),
      signal: this.#end.signal,
    }).finally(() => this.#pending.delete(stored));
    this.#pending.add(stored);
    return stored;
  }

  /** Resolves when everything is stored, or after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    await Promise.race([Promise.all(this.#pending), delay(timeoutMs, undefined, { ref: false })]);
    this.#end.abort();
  }
}

const retryMs = 100;
/** Longer than any answer takes. After a fail-over of a cluster, ioredis may lose a command and never settle its promise. */
const attemptTimeoutMs = 15_000;

interface StoreAttempts {
  /** While true, no attempt is made. */
  isFull(): boolean;
  /** Adds the job, with the same id in each attempt: a job that did reach Redis is not duplicated. */
  add(jobId: string): Promise<unknown>;
  onFailure(error: unknown): void;
  /** Ends the attempts. */
  readonly signal: AbortSignal;
}

/** Adds a job until Redis has it: with `appendfsync always`, on its disk. @returns false when the signal came first */
async function addUntilStored({ isFull, add, onFailure, signal }: StoreAttempts): Promise<boolean> {
  const jobId = randomUUID();
  for (;;) {
    if (!isFull()) {
      try {
        await within(attemptTimeoutMs, add(jobId));
        return true;
      } catch (error) {
        onFailure(error);
      }
    }
    await delay(retryMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return false;
  }
}
