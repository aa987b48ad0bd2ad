import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';

/** All services, in start order. A process loads only those that it runs, which saves memory and a second of its start. */
const loaders: Readonly<Record<string, () => Promise<Service<Http>>>> = {
  ingest: async () => (await import('@odograph/ingest/service')).ingestService,
  broker: async () => (await import('@odograph/broker/service')).brokerService,
  gateway: async () => (await import('@odograph/gateway/service')).gatewayService,
  query: async () => (await import('@odograph/query/service')).queryService,
  fleet: async () => (await import('@odograph/fleet/service')).fleetService,
  access: async () => (await import('@odograph/access/service')).accessService,
  registration: async () => (await import('@odograph/registration/service')).registrationService,
  command: async () => (await import('@odograph/command/service')).commandService,
  events: async () => (await import('@odograph/events/service')).eventService,
  console: async () => (await import('@odograph/console/service')).consoleService,
};

/** Thrown for a service name that does not exist; the message lists those that do. */
export class UnknownService extends Error {}

/**
 * Selects the services to run: the named ones, or all when none is named.
 * @returns their names in start order
 * @throws UnknownService
 */
export function selectServices(names: readonly string[]): readonly string[] {
  const known = Object.keys(loaders);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new UnknownService(`no service is named ${unknown.join(', ')}; the services are ${known.join(', ')}`);
  }
  return names.length === 0 ? known : known.filter((name) => names.includes(name));
}

/** Loads services by name, in start order; all of them when none is named. @throws UnknownService */
export async function loadServices(names: readonly string[] = []): Promise<readonly Service<Http>[]> {
  const selected = new Set(selectServices(names));
  return Promise.all(Object.entries(loaders).flatMap(([name, load]) => (selected.has(name) ? [load()] : [])));
}
