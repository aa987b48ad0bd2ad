import { configOfService } from './config.ts';
import type { RunningService, Service, ServiceHealth, ServiceHost } from './service.ts';

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
