import type { Logger } from '@odograph/runtime/logger';
import { Counter, type Registry } from '@odograph/runtime/metrics';
import type { Redis } from '@odograph/runtime/redis';

const retryMs = 1000;

interface SessionRecheckOptions {
  readonly redis: Redis;
  /** deviceRevokedChannel of contracts/presence.ts */
  readonly channel: string;
  readonly logger: Logger;
  readonly metrics: Registry;
}

/**
 * Notifies brokers of devices whose credentials changed, so that they close revoked sessions. A notice that Redis does not
 * take is repeated until it does; while Redis is away for the brokers too, they check every session once it is back.
 */
export class SessionRechecks {
  readonly #options: SessionRecheckOptions;
  readonly #failures: Counter;
  readonly #pending = new Set<string>();
  #retry: NodeJS.Timeout | undefined;

  constructor(options: SessionRecheckOptions) {
    this.#options = options;
    this.#failures = new Counter({
      name: 'odograph_fleet_revocation_failures_total',
      help: 'Failed attempts to notify brokers of changed credentials of a device',
      registers: [options.metrics],
    });
  }

  /** Devices of which no broker knows yet that their credentials changed. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Resolves after the first attempt: the new credentials are committed, and must reach the operator. */
  async request(deviceId: string): Promise<void> {
    this.#pending.add(deviceId);
    await this.#notify();
  }

  stop(): void {
    clearTimeout(this.#retry);
    this.#pending.clear();
  }

  async #notify(): Promise<void> {
    clearTimeout(this.#retry);
    const { redis, channel, logger } = this.#options;
    for (const deviceId of this.#pending) {
      try {
        await redis.publish(channel, deviceId);
        this.#pending.delete(deviceId);
      } catch (err) {
        this.#failures.inc();
        logger.error({ err, deviceId }, 'brokers not notified of new device credentials; retrying');
        break;
      }
    }
    clearTimeout(this.#retry);
    if (this.#pending.size > 0) this.#retry = setTimeout(() => void this.#notify(), retryMs);
  }
}
