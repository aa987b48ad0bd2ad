import { configOfService, type ResolvedConfig } from './config.ts';
import type { Logger } from './logger.ts';
import type { Registry } from './metrics.ts';

/** What a service stands on; `Http` is the HTTP interface that a process's services share. */
export interface ServiceHost<Http = unknown> {
  readonly config: ResolvedConfig;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly http: Http;
  /** ADMIN_TOKEN: the operator's token, or during a rotation two separated by a comma (see adminTokensOf). */
  readonly adminToken: string;
  /** Registers the close of a resource that was opened; closes run in reverse order, also after a failed start. */
  onStop(name: string, close: () => unknown): void;
}

/** A service tells its health with a word for people; a throw or `ok: false` makes /health answer 503. */
export interface ServiceHealth {
  ok: boolean;
  state: string;
}

export interface RunningService {
  health(): Promise<ServiceHealth> | ServiceHealth;
  /** Called when every service of the process has started, before the first request, for one that speaks to others. */
  ready?(): Promise<void>;
}

/** The form of every service, and of the table in services/platform/services.ts. */
export interface Service<Http = unknown> {
  readonly name: string;
  /** Nobody waits for what it does: a process that runs nothing else leaves the cores to others when they want them. */
  readonly givesWay?: boolean;
  start(host: ServiceHost<Http>): Promise<RunningService>;
}

/** The services of this process, by name. */
export type RunningServices = ReadonlyMap<string, RunningService>;

/** Starts services one after the other; the first that fails ends the start with its error. */
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

async function serviceHealth(service: RunningService): Promise<ServiceHealth> {
  try {
    return await service.health();
  } catch (error) {
    return { ok: false, state: error instanceof Error ? error.message : 'failed' };
  }
}

/** The state of each service, for /health. */
export async function healthOf(services: RunningServices): Promise<Record<string, ServiceHealth>> {
  const states = await Promise.all(
    [...services].map(async ([name, service]) => [name, await serviceHealth(service)] as const),
  );
  return Object.fromEntries(states);
}
