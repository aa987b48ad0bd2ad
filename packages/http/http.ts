import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Caller } from '@odograph/contracts/caller';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';

/** The HTTP interface that services register their routes on, typed by TypeBox schemas. */
export type Http = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** The clock of the rules about time. */
export type Clock = () => Date;

/** The caller of a request, its network address and the time. */
export interface RequestContext {
  readonly caller: Caller;
  readonly address: string;
  readonly now: Date;
}

/** The request as the rules and the audit see it. */
export function requestContext({ caller, ip }: { caller: Caller; ip: string }, clock: Clock): RequestContext {
  return { caller, address: ip, now: clock() };
}
