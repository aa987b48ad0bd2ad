import { Counter, Gauge, Histogram, type Registry } from '@odograph/runtime/metrics';

export interface CommandMetrics {
  /** @param outcome `acknowledged`, or the `reason` of the failure */
  ended(action: string, outcome: string, milliseconds: number): void;
}

export function createCommandMetrics(registry: Registry, isConnected: () => boolean): CommandMetrics {
  const outcomes = new Counter({
    name: 'odograph_commands_total',
    help: 'Remote actions asked for, by action and outcome (acknowledged, or the reason of the failure)',
    labelNames: ['action', 'outcome'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'odograph_command_duration_seconds',
    help: 'Time from the request of a remote action to its outcome',
    labelNames: ['action'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [registry],
  });
  new Gauge({
    name: 'odograph_command_broker_connected',
    help: '1 while the command service is connected to the MQTT broker',
    registers: [registry],
    collect() {
      this.set(isConnected() ? 1 : 0);
    },
  });
  return {
    ended(action, outcome, milliseconds) {
      outcomes.inc({ action, outcome });
      durations.observe({ action }, milliseconds / 1000);
    },
  };
}
