import { Counter, Gauge, Histogram, type Registry } from '@odograph/runtime/metrics';

/** Why a connection, packet or request was refused, as the metric's label. */
export type RefusalReason =
  | 'network'
  | 'connections'
  | 'unauthenticated'
  | 'unknown_device'
  | 'unavailable'
  | 'hello'
  | 'packet'
  | 'codec'
  | 'file'
  | 'timeout'
  | 'held_bytes'
  | 'budget';

export interface GatewayMetrics {
  readonly connectedDevices: Gauge;
  readonly acceptedUploads: Counter;
  readonly batchUploads: Histogram;
  readonly acknowledgementSeconds: Histogram;
  readonly backlogJobs: Gauge<'shard'>;
  readonly backlogBytes: Gauge<'server'>;
  readonly failedBatches: Counter;
  readonly refused: Counter<'listener' | 'reason'>;
  readonly sourceRequests: Counter<'format' | 'outcome'>;
  readonly sourceMessages: Counter<'format'>;
  readonly messages: Counter;
  readonly throttled: Counter;
  readonly commands: Counter<'outcome'>;
  readonly backgroundFailures: Counter<'task'>;
}

export function createGatewayMetrics(registry: Registry): GatewayMetrics {
  const registers = [registry];
  const named = (name: string, help: string) => ({ name: `odograph_gateway_${name}`, help, registers });
  return {
    connectedDevices: new Gauge(named('connected_devices', 'Devices connected over TCP')),
    acceptedUploads: new Counter(named('accepted_uploads_total', 'Uploads in the queue and acknowledged')),
    batchUploads: new Histogram({
      ...named('batch_uploads', 'Uploads in one job'),
      buckets: [1, 5, 20, 50, 100, 200, 500, 1000, 2000, 5000],
    }),
    acknowledgementSeconds: new Histogram({
      ...named('acknowledgement_seconds', 'From the arrival of an upload to its acknowledgement'),
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
      ...named('refused_total', 'Connections, packets and requests refused, by listener and reason'),
      labelNames: ['listener', 'reason'] as const,
    }),
    sourceRequests: new Counter({
      ...named('source_requests_total', 'Requests of sources and apps, by format and outcome'),
      labelNames: ['format', 'outcome'] as const,
    }),
    sourceMessages: new Counter({
      ...named('source_messages_total', 'Messages of sources and apps that were accepted, by format'),
      labelNames: ['format'] as const,
    }),
    messages: new Counter(named('device_messages_total', 'Messages of Teltonika devices that answer no command')),
    throttled: new Counter(named('throttled_total', 'Pauses in reading from devices that exceed their rates')),
    commands: new Counter({
      ...named('commands_total', 'Commands for devices of the gateway, and answers that no model knows, by outcome'),
      labelNames: ['outcome'] as const,
    }),
    backgroundFailures: new Counter({
      ...named('background_failures_total', 'Failures of background work, by task'),
      labelNames: ['task'] as const,
    }),
  };
}

/** Work of the gateway that no client waits for, with what its failure means, for /health. */
export const gatewayTasks = {
  backlog: 'the upload backlog is unknown',
  commands: 'devices of the gateway receive no commands',
  revocations: 'deleted devices may stay connected',
  sessions: 'the session registry in Redis is stale',
} as const;
