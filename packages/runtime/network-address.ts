import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A range of addresses in CIDR notation. */
export type Network = readonly [address: Address, prefixLength: number];

/** Reads an address; an IPv4-mapped IPv6 address counts as IPv4 (RFC 4291, section 2.5.5.2). */
function parseAddress(text: string): Address | undefined {
  const plain = text.split('%', 1)[0] ?? '';
  if (!ipaddr.IPv6.isValid(plain) && !ipaddr.IPv4.isValidFourPartDecimal(plain)) return undefined;
  return ipaddr.process(plain);
}

export function isAddress(text: string): boolean {
  return parseAddress(text) !== undefined;
}

/**
 * Names the network that one client controls: an IPv4 address itself, or the /64 of an IPv6 address. Other text is
 * returned unchanged.
 */
export function networkOf(address: string): string {
  // The form of nearly every address that Node.js reports, without the cost of parsing.
  const unmapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  if (isIPv4(unmapped)) return unmapped;
  const parsed = parseAddress(address);
  if (parsed === undefined || parsed instanceof ipaddr.IPv4) return parsed?.toString() ?? address;
  const subnet = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${subnet.join(':')}::/64`;
}

/**
 * Parses networks separated by commas, in CIDR notation or as single addresses.
 * @returns undefined if one of them is malformed
 */
export function parseNetworks(text: string): Network[] | undefined {
  const networks: Network[] = [];
  for (const one of text.split(',').map((part) => part.trim())) {
    const [address = '', prefixLength] = one.split('/');
    const parsed = parseAddress(address);
    if (parsed === undefined) return undefined;
    const bits = parsed instanceof ipaddr.IPv4 ? 32 : 128;
    const length = prefixLength === undefined ? bits : /^\d{1,3}$/.test(prefixLength) ? Number(prefixLength) : bits + 1;
    if (length > bits) return undefined;
    networks.push([parsed, length]);
  }
  return networks;
}

export function isInNetworks(address: string, networks: readonly Network[]): boolean {
  const parsed = parseAddress(address);
  if (parsed === undefined) return false;
  return networks.some(([network, length]) => network.kind() === parsed.kind() && parsed.match(network, length));
}
