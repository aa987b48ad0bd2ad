import { accessService } from '@odograph/access/service';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import { consoleService } from '@odograph/console/service';
import { fleetService } from '@odograph/fleet/service';
import type { Http } from '@odograph/http/http';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { registrationService } from '@odograph/registration/service';
import type { Service } from '@odograph/runtime/service';

/** All services, in start order. */
export const services: readonly Service<Http>[] = [
  ingestService,
  brokerService,
  queryService,
  fleetService,
  accessService,
  registrationService,
  commandService,
  consoleService,
];

/** Thrown for a service name that does not exist; the message lists those that do. */
export class UnknownService extends Error {}

/**
 * Selects services by name; all of them when none is named.
 * @throws UnknownService
 */
export function selectServices(names: readonly string[]): readonly Service<Http>[] {
  const unknown = names.filter((name) => !services.some((service) => service.name === name));
  if (unknown.length > 0) {
    const list = services.map(({ name }) => name).join(', ');
    throw new UnknownService(`no service is named ${unknown.join(', ')}; the services are ${list}`);
  }
  return names.length === 0 ? services : services.filter(({ name }) => names.includes(name));
}
