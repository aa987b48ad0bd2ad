import { setTimeout as delay } from 'node:timers/promises';
import { configOfService, type ResolvedConfig } from './config.ts';
import type { Limits } from './limits.ts';
import type { Logger } from './logger.ts';
import { messageOf } from './message-of.ts';
import type { Registry } from './metrics.ts';

/** The environment of a service; `Http` is the HTTP interface that all services of a process share. */
export interface ServiceHost<Http = unknown> {
  readonly config: ResolvedConfig;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly http: Http;
  /** ADMIN_TOKEN: the operator's token, or during a rotation two separated by a comma (see adminTokensOf). */
  readonly adminToken: string;
  /** Registers a shutdown hook; hooks run in reverse order, also after a failed start. */
  onStop(name: string, close: () => unknown): void;
}

/** Health of a service with a description for people; `ok: false` or an exception makes /health answer 503. */
export interface ServiceHealth {
  ok: boolean;
  state: string;
}

export interface RunningService {
  health(): Promise<ServiceHealth> | ServiceHealth;
  /** Called after all services of the process have started, before the first request. */
  ready?(): Promise<void>;
}

/** A service; services/platform/services.ts lists them all. */
export interface Service<Http = unknown> {
  readonly name: string;
  /** No client waits for its work: a process that runs only such services gets a lower priority. */
  readonly yields?: boolean;
  start(host: ServiceHost<Http>): Promise<RunningService>;
}

/** The running services of this process, by name. */
export type RunningServices = ReadonlyMap<string, RunningService>;

/** Starts services in sequence. @throws the error of the first one that fails */
export async function startServices<Http>(
  services: readonly Service<Http>[],
  host: ServiceHost<Http>,
): Promise<RunningServices> {
  const running = new Map<string, RunningService>();
  for (const service of services) {
    const logger = host.logger.child({ service: service.name });
    const config = configOfService(host.config, service.name);
    running.set(service.name, await service.start({ ...host, config, logger, onStop: host.onStop }));
  }
  return running;
}

/** Shorter than the timeouts of health checks, which treat a missing response as a dead process. */
const healthTimeoutMs = 4000;

async function serviceHealth(service: RunningService): Promise<ServiceHealth> {
  const timeout = new AbortController();
  const silent = delay(
    healthTimeoutMs,
    { ok: false, state: 'health check timed out: an engine does not answer' },
    timeout,
  );
  try {
    return await Promise.race([service.health(), silent]);
  } catch (error) {
    return { ok: false, state: messageOf(error) };
  } finally {
    timeout.abort();
    await silent.catch(() => undefined);
  }
}

/** Collects the health of each service, for /health. */
export async function healthOf(services: RunningServices): Promise<Record<string, ServiceHealth>> {
  const states = await Promise.all(
    [...services].map(async ([name, service]) => [name, await serviceHealth(service)] as const),
  );
  return Object.fromEntries(states);
}
