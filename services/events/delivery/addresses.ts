import { type LookupAddress, lookup as resolve } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isAddress, isInNetworks, isPublicAddress, type Network } from '@odograph/runtime/network-address';

/** Resolves a host name to all of its addresses, as node:dns does. */
export type ResolveHost = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

const resolveBySystem: ResolveHost = (hostname, callback) => resolve(hostname, { all: true }, callback);

/** Addresses that deliveries may go to. */
export interface AddressRules {
  /** WEBHOOK_ALLOWED_NETWORKS: also permitted, and without TLS. */
  readonly allowed: readonly Network[];
  readonly resolve?: ResolveHost;
}

/** Thrown before a connection is made; its message is public and names no address, which DNS may keep from the public. */
export class ForbiddenAddress extends Error {}

function isPermitted(address: string, isEncrypted: boolean, { allowed }: AddressRules): boolean {
  return isInNetworks(address, allowed) || (isEncrypted && isPublicAddress(address));
}

/** The IP address that a URL names instead of a host; the URL parser has resolved decimal, octal and hexadecimal forms. */
function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 && !isAddress(host) ? undefined : host;
}

const refusal = (isEncrypted: boolean): ForbiddenAddress =>
  new ForbiddenAddress(
    isEncrypted ? 'the host has no public address' : 'http is permitted to addresses in WEBHOOK_ALLOWED_NETWORKS only',
  );

/** Refuses a URL whose own text shows that it is not permitted. @throws ForbiddenAddress */
export function requireLiteralPermitted(url: URL, rules: AddressRules): void {
  const isEncrypted = url.protocol === 'https:';
  const literal = literalAddress(url);
  const isPossible =
    literal === undefined ? isEncrypted || rules.allowed.length > 0 : isPermitted(literal, isEncrypted, rules);
  if (!isPossible) throw refusal(isEncrypted);
}

/**
 * Creates the lookup of a connection, which answers with the permitted ones of a host's addresses. The connection is made to
 * what this lookup answers, so a name that resolves differently a moment later reaches no other address.
 */
export function permittedLookup(isEncrypted: boolean, rules: AddressRules): LookupFunction {
  const { resolve: resolveHost = resolveBySystem } = rules;
  return (hostname, options, callback) => {
    resolveHost(hostname, (error, addresses) => {
      // The same answer for a name that does not resolve: internal names must not be discoverable.
      const permitted = (error ? [] : addresses).filter(({ address }) => isPermitted(address, isEncrypted, rules));
      const [first] = permitted;
      if (first === undefined) return callback(refusal(isEncrypted), '');
      if (options.all) return callback(null, permitted);
      return callback(null, first.address, first.family);
    });
  };
}
