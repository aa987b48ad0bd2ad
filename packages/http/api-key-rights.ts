import type { ApiKey, ApiKeyScope } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { FastifyRequest } from 'fastify';
import { operatorPrefix, rightOf } from './operator-rights.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that the route requires of an API key, if it does not follow from the right. */
    scope?: ApiKeyScope;
  }
}

/** Tests for the form APPID.SECRET, by which a load balancer routes API keys. Access tokens of a cell are cN.SECRET. */
export const isApiKey = (token: string): boolean => /^(?!c\d+\.)[\w-]+\.[\w-]{43}$/.test(token);

const scopeOfRole = { viewer: 'read', operator: 'write', administrator: 'admin' } as const;

/** Finds the scope that a route requires: `admin` for operator routes, else the one that matches its right. */
function scopeOf(request: FastifyRequest): ApiKeyScope {
  const { url = '', config } = request.routeOptions;
  if (url.startsWith(operatorPrefix)) return 'admin';
  const [role] = rightOf(request);
  return config.scope ?? scopeOfRole[role];
}

/** @throws Failure UNAUTHORIZED for an API key without the scope of the route */
export function requireScope({ scopes }: ApiKey, request: FastifyRequest): void {
  const scope = scopeOf(request);
  if (!scopes.includes(scope)) throw new Failure('UNAUTHORIZED', `the API key lacks the scope ${scope}`);
}
