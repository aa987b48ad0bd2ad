import { type Operator, type OperatorRole, operatorRoles } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { FastifyRequest } from 'fastify';
import { isRead } from './session-cookie.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The right that an operator needs; outside of operator routes, only where it is not that of the method. */
    right?: Right;
  }
}

/** The least role, and whether operators who are limited to applications have the right too. */
export type Right = readonly [role: OperatorRole, scope: 'application' | 'platform'];

const read: Right = ['viewer', 'application'];
const operate: Right = ['operator', 'application'];
const administer: Right = ['administrator', 'application'];
const readPlatform: Right = ['viewer', 'platform'];
const administerPlatform: Right = ['administrator', 'platform'];

/**
 * The right that each route below /v1/x/admin needs. Routes of the scope `application` confine a limited operator to what
 * belongs to its applications; those of the scope `platform` do not exist for such an operator.
 */
const rights: Readonly<Record<string, Right>> = {
  'GET applications': read,
  'POST applications': administerPlatform,
  'GET applications/:appId': read,
  'PUT applications/:appId': administer,
  'DELETE applications/:appId': administer,
  'POST applications/:appId/key': administer,
  'DELETE applications/:appId/sessions': administer,
  'GET users': read,
  'POST users': administer,
  'DELETE users/:userId': administer,
  'GET api-keys': read,
  'POST api-keys': administer,
  'DELETE api-keys/:id': administer,
  'POST users/:userId/password': administer,
  'DELETE users/:userId/sessions': administer,
  'DELETE users/:userId/second-factor': administer,
  'POST users/:userId/vehicles': administer,
  'DELETE users/:userId/vehicles/:vehicleId': administer,
  'POST users/:userId/groups': administer,
  'DELETE users/:userId/groups/:groupId': administer,
  'GET groups': read,
  'POST groups': administer,
  'PUT groups/:id/vehicles': administer,
  'DELETE groups/:id': administer,
  'GET operators': administerPlatform,
  'POST operators': administerPlatform,
  'PUT operators/:name': administerPlatform,
  'DELETE operators/:name': administerPlatform,
  'POST operators/:name/password': administerPlatform,
  'DELETE operators/:name/sessions': administerPlatform,
  'DELETE operators/:name/second-factor': administerPlatform,
  'GET report-schedules': read,
  'POST report-schedules': administer,
  'DELETE report-schedules/:id': administer,
  'GET report-schedules/:id/reports': read,
  'GET persons/:id': administer,
  'POST persons/:id/erase': administer,
  'GET vehicles': read,
  'POST vehicles': operate,
  'GET vehicles/:id': read,
  'PUT vehicles/:id': operate,
  'GET vehicles/:id/export': administer,
  'GET devices': read,
  'POST devices': operate,
  'DELETE devices/:id': operate,
  'POST devices/:id/link': operate,
  'PUT devices/:id/link': operate,
  'DELETE devices/:id/link': operate,
  'POST devices/:id/release': operate,
  'POST devices/:id/secret': operate,
  'DELETE devices/:id/certificates': operate,
  'POST device-imports': operate,
  'POST vehicle-imports': operate,
  'GET device-connection': read,
  'GET devices/:id/key': read,
  'POST devices/:id/key': administer,
  'DELETE devices/:id/tokens': administer,
  'POST device-keys/reseal': administerPlatform,
  'GET device-models': read,
  'GET device-models/:name': read,
  'PUT device-models/:name': administerPlatform,
  'GET sources': read,
  'POST sources': administer,
  'POST sources/:id/secret': administer,
  'DELETE sources/:id': administer,
  'GET notifications': read,
  'POST notifications': administer,
  'DELETE notifications/:id': administer,
  'POST notifications/:id/test': administer,
  'GET gbfs/:appId': read,
  'PUT gbfs/:appId': administer,
  'DELETE gbfs/:appId': administer,
  'GET gbfs/:appId/vehicles': read,
  'PUT sources/:id/command-token': administer,
  'DELETE sources/:id/command-token': administer,
  'POST sources/reseal': administerPlatform,
  'GET can-databases': readPlatform,
  'PUT can-databases/:name': administerPlatform,
  'DELETE can-databases/:name': administerPlatform,
  'POST can-redecodings': administerPlatform,
  'GET can-redecodings/:id': readPlatform,
  'POST shares': operate,
  'DELETE shares/:id': operate,
  'GET requests': read,
  'POST requests/:id/approve': operate,
  'POST requests/:id/decline': operate,
  'GET quarantine': read,
  'GET quarantine/reasons': read,
  'GET quarantine/:id': read,
  'POST quarantine/:id/open': operate,
  'POST quarantine/replay': operate,
  'POST quarantine/dismiss': operate,
  'POST quarantine/reseal': administerPlatform,
  'GET registrations/:plate_or_vin': read,
  'DELETE registrations/:plate_or_vin': operate,
  'POST registrations': operate,
  'GET registration-imports/:file_sha256': read,
  'DELETE registration-imports/:file_sha256': operate,
  'GET registration-fields': read,
  'POST import': operate,
  'PUT map': administerPlatform,
  'GET pipeline': readPlatform,
  'GET audit': read,
  'GET audit/verify': administerPlatform,
};

/** The path prefix of operator routes. */
export const operatorPrefix = '/v1/x/admin/';

/** Finds the right that a route needs; pages need none but to be an operator without limits. @throws Error for an unlisted one */
export function rightFor(method: string, url: string): Right {
  const asListed = method === 'HEAD' ? 'GET' : method;
  if (!url.startsWith(operatorPrefix)) return [asListed === 'GET' ? 'viewer' : 'operator', 'platform'];
  const right = rights[`${asListed} ${url.slice(operatorPrefix.length)}`];
  if (right === undefined) throw new Error(`${asListed} ${url} is missing in the table of rights`);
  return right;
}

/** Finds the right that a caller or viewer route requires. The route itself confines an operator to an application. */
export const rightOf = (request: FastifyRequest): Right =>
  request.routeOptions.config.right ?? [isRead(request) ? 'viewer' : 'operator', 'application'];

/** @throws Failure UNAUTHORIZED for a lesser role; NOT_FOUND for a limited operator where none is admitted */
export function requireRight({ role, applicationIds }: Operator, [least, scope]: Right): void {
  if (operatorRoles.indexOf(role) < operatorRoles.indexOf(least)) {
    throw new Failure('UNAUTHORIZED', `this needs the role ${least}`);
  }
  if (scope === 'platform' && applicationIds !== undefined) throw new Failure('NOT_FOUND', 'no such path');
}
