import { createIntakeMetrics, type IntakeMetrics } from '@odograph/queue/intake';
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

export interface GatewayMetrics extends IntakeMetrics {
  readonly connectedDevices: Gauge;
  readonly acknowledgementSeconds: Histogram;
  readonly refused: Counter<'listener' | 'reason'>;
  readonly sourceRequests: Counter<'format' | 'outcome'>;
  readonly sourceMessages: Counter<'format'>;
  readonly messages: Counter;
  readonly commands: Counter<'outcome'>;
}

export function createGatewayMetrics(registry: Registry): GatewayMetrics {
  const registers = [registry];
  const named = (name: string, help: string) => ({ name: `odograph_gateway_${name}`, help, registers });
  return {
    ...createIntakeMetrics(registry, 'gateway'),
    connectedDevices: new Gauge(named('connected_devices', 'Devices connected over TCP')),
    acknowledgementSeconds: new Histogram({
      ...named('acknowledgement_seconds', 'From the arrival of an upload to its acknowledgement'),
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    }),
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
    commands: new Counter({
      ...named('commands_total', 'Commands for devices of the gateway, and answers that no model knows, by outcome'),
      labelNames: ['outcome'] as const,
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
