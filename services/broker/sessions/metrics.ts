import { Counter, Gauge, Histogram, type Registry } from '@odograph/runtime/metrics';

/** Why a packet or a connection was refused, as the metric's label. */
export type RefusalReason =
  | 'credentials'
  | 'unavailable'
  | 'certificate'
  | 'connections'
  | 'unauthenticated'
  | 'publish'
  | 'subscribe'
  | 'packet'
  | 'packet_rate'
  | 'unexpected_acknowledgements'
  | 'held_bytes'
  | 'stopping'
  | 'acknowledgement'
  | 'protocol';

export interface BrokerMetrics {
  readonly connectedDevices: Gauge;
  readonly acceptedUploads: Counter;
  readonly batchUploads: Histogram;
  readonly pubackSeconds: Histogram;
  readonly backlogJobs: Gauge<'shard'>;
  readonly backlogBytes: Gauge<'server'>;
  readonly failedBatches: Counter;
  readonly refused: Counter<'reason'>;
  readonly slowed: Counter;
  readonly throttled: Counter;
  readonly superseded: Counter;
  readonly backgroundFailures: Counter<'task'>;
}

export function createBrokerMetrics(registry: Registry): BrokerMetrics {
  const registers = [registry];
  const named = (name: string, help: string) => ({ name: `odograph_broker_${name}`, help, registers });
  return {
    connectedDevices: new Gauge(named('connected_devices', 'Devices with a live session')),
    acceptedUploads: new Counter(named('accepted_uploads_total', 'Uploads in the queue and acknowledged')),
    batchUploads: new Histogram({
      ...named('batch_uploads', 'Uploads in one job'),
      buckets: [1, 5, 20, 50, 100, 200, 500, 1000, 2000, 5000],
    }),
    pubackSeconds: new Histogram({
      ...named('puback_seconds', 'From the arrival of a PUBLISH to the release of its PUBACK'),
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
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
    refused: new Counter({
      ...named('refused_total', 'Packets and connections refused, by reason'),
      labelNames: ['reason'] as const,
    }),
    slowed: new Counter(named('slowed_total', 'CONNECTs answered late because many like them had failed')),
    throttled: new Counter(named('throttled_total', 'Pauses in reading from devices that exceed their rates')),
    superseded: new Counter(named('superseded_sessions_total', 'Sessions closed because their device has a newer one')),
    backgroundFailures: new Counter({
      ...named('background_failures_total', 'Failures of background work, by task'),
      labelNames: ['task'] as const,
    }),
  };
}

/** Background tasks of the broker, with the consequence of a failure as /health reports it. */
export const brokerTasks = {
  backlog: 'the upload backlog is unknown',
  revocations: 'revoked devices may stay connected',
  sessions: 'the session registry in Redis is stale',
  commands: 'commands may not reach devices',
} as const;
