import { performance } from 'node:perf_hooks';
import { Failure } from '@odograph/contracts/failures';
import type { Logger } from '@odograph/runtime/logger';
import { Counter, Gauge, Histogram, type Registry } from '@odograph/runtime/metrics';
import { type CommandRequest, type Outcome, requireAcknowledged } from './rules.ts';
import type { CommandResult } from './send-command.ts';

/**
 * Runs a command, and counts and logs its outcome.
 * @throws Failure COMMUNICATION_FAILED for a command that was not acknowledged
 */
export type MeasureCommand = (request: CommandRequest, send: () => Promise<CommandResult>) => Promise<Outcome>;

export function createCommandMetrics(registry: Registry, logger: Logger, isConnected: () => boolean): MeasureCommand {
  const outcomes = new Counter({
    name: 'odograph_commands_total',
    help: 'Remote actions requested, by action and outcome (acknowledged, or the reason of the failure)',
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
  return async ({ action, vehicleId }, send) => {
    const startMs = performance.now();
    const record = (word: string, result?: CommandResult) => {
      const durationMs = performance.now() - startMs;
      const outcome = result?.repeated ? 'REPEATED' : word;
      outcomes.inc({ action, outcome });
      durations.observe({ action }, durationMs / 1000);
      const commandId = result?.commandId;
      logger.info({ commandId, vehicleId, action, outcome, durationMs: Math.round(durationMs) }, 'command answered');
    };
    let result: CommandResult | undefined;
    try {
      result = await send();
      requireAcknowledged(result.outcome);
      record('acknowledged', result);
      return result.outcome;
    } catch (error) {
      record(error instanceof Failure ? (error.details.reason ?? error.code) : 'INTERNAL_ERROR', result);
      throw error;
    }
  };
}
