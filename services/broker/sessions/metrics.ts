import { createIntakeMetrics, type IntakeMetrics } from '@odograph/queue/intake';
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

export interface BrokerMetrics extends IntakeMetrics {
  readonly connectedDevices: Gauge;
  readonly pubackSeconds: Histogram;
  readonly refused: Counter<'reason'>;
  readonly slowed: Counter;
  readonly superseded: Counter;
}

export function createBrokerMetrics(registry: Registry): BrokerMetrics {
  const registers = [registry];
  const named = (name: string, help: string) => ({ name: `odograph_broker_${name}`, help, registers });
  return {
    ...createIntakeMetrics(registry, 'broker'),
    connectedDevices: new Gauge(named('connected_devices', 'Devices with a live session')),
    pubackSeconds: new Histogram({
      ...named('puback_seconds', 'From the arrival of a PUBLISH to the release of its PUBACK'),
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    }),
    refused: new Counter({
      ...named('refused_total', 'Packets and connections refused, by reason'),
      labelNames: ['reason'] as const,
    }),
    slowed: new Counter(named('slowed_total', 'CONNECTs answered late because many like them had failed')),
    superseded: new Counter(named('superseded_sessions_total', 'Sessions closed because their device has a newer one')),
  };
}

/** Background tasks of the broker, with the consequence of a failure as /health reports it. */
export const brokerTasks = {
  backlog: 'the upload backlog is unknown',
  revocations: 'revoked devices may stay connected',
  sessions: 'the session registry in Redis is stale',
  commands: 'commands may not reach devices',
} as const;
