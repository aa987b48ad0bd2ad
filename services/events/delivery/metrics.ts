import { Counter, Gauge, Histogram, type Registry } from '@odograph/runtime/metrics';

/** Metrics of deliveries. None has a label for a webhook: their number has no limit. */
export interface EventMetrics {
  readonly attempts: Counter<'outcome'>;
  readonly attemptSeconds: Histogram;
  readonly deadLetters: Counter;
  readonly lostCursors: Counter;
  readonly backgroundFailures: Counter<'task'>;
}

/** Values of the gauges. */
export interface DeliveryState {
  readonly active: number;
  readonly failing: number;
  /** Maximum over the webhooks whose receivers answer. */
  readonly lagSeconds: number;
}

/** Background tasks, with the consequence of their failure for /health. */
export const eventTasks = {
  leases: 'leases of webhooks cannot be renewed',
  reading: 'the list of events cannot be read',
  saving: 'deliveries may be repeated: their outcome cannot be stored',
  log: 'old deliveries stay in the log',
  digests: 'digests of notifications cannot be written',
  reports: 'scheduled reports are not sent, or not checked for late data',
} as const;
export type EventTask = keyof typeof eventTasks;

export function createEventMetrics(registry: Registry, state: () => DeliveryState): EventMetrics {
  const registers = [registry];
  const named = (name: string, help: string) => ({ name: `odograph_${name}`, help, registers });
  new Gauge({
    ...named('webhooks', 'Webhooks and notifications that this process delivers to, by state'),
    labelNames: ['state'],
    collect() {
      const { active, failing } = state();
      this.set({ state: 'active' }, active);
      this.set({ state: 'failing' }, failing);
    },
  });
  new Gauge({
    ...named('webhook_lag_seconds', 'Maximum time since a webhook whose receiver answers had caught up'),
    collect() {
      this.set(state().lagSeconds);
    },
  });
  return {
    attempts: new Counter({
      ...named('webhook_attempts_total', 'Attempts to deliver an event, by outcome'),
      labelNames: ['outcome'] as const,
    }),
    attemptSeconds: new Histogram({
      ...named('webhook_attempt_seconds', 'From the start of an attempt to its outcome'),
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    }),
    deadLetters: new Counter(named('webhook_dead_letters_total', 'Events that became dead letters after three days')),
    lostCursors: new Counter(
      named('webhook_lost_positions_total', 'Webhooks whose next events were no longer in the list'),
    ),
    backgroundFailures: new Counter({
      ...named('webhook_background_failures_total', 'Failures of background work, by task'),
      labelNames: ['task'] as const,
    }),
  };
}
