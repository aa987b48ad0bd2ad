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

/** The metadata service of Azure, public by its range. */
const azureMetadata = '168.63.129.16';
const nat64Prefix = ipaddr.IPv6.parse('64:ff9b::');

const isGlobalIPv4 = (address: ipaddr.IPv4): boolean =>
  address.range() === 'unicast' && address.toString() !== azureMetadata;

/**
 * Whether an address belongs to the public internet: neither private, shared, loopback, link-local (cloud metadata), multicast,
 * reserved nor unspecified (IANA special-purpose address registries). An IPv4-mapped address, and one of NAT64 (RFC 6052,
 * 64:ff9b::/96), is judged by the IPv4 address that it holds.
 */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (address === undefined) return false;
  if (address instanceof ipaddr.IPv4) return isGlobalIPv4(address);
  if (address.match(nat64Prefix, 96)) return isGlobalIPv4(new ipaddr.IPv4(address.toByteArray().slice(-4)));
  // 2000::/3 is all that is assigned to global unicast (RFC 4291, section 2.4).
  return address.range() === 'unicast' && ((address.parts[0] ?? 0) & 0xe000) === 0x2000;
}

/** Checks the settings that name networks. A proxy is trusted only by its address or its position. */
export function networkFaults(settings: Readonly<Record<string, string>>): string[] {
  const { HTTP_TRUST_PROXY: proxies, METRICS_NETWORKS: metrics, WEBHOOK_ALLOWED_NETWORKS: webhooks } = settings;
  const { TELTONIKA_NETWORKS: teltonika, PROXY_PROTOCOL_NETWORKS: balancers } = settings;
  const isNetworks = (value: string | undefined) => value === undefined || parseNetworks(value) !== undefined;
  return [
    ...(/^\d{1,2}$/.test(proxies ?? '') || isNetworks(proxies)
      ? []
      : ['HTTP_TRUST_PROXY: must be the number of proxies, or their networks, such as 1 or 10.0.0.0/8,fd00::/8']),
    ...(isNetworks(metrics) ? [] : ['METRICS_NETWORKS: must be networks, such as 127.0.0.0/8,10.0.0.0/8']),
    ...(isNetworks(teltonika) ? [] : ['TELTONIKA_NETWORKS: must be networks, such as 10.20.0.0/16,fd00::/8']),
    ...(isNetworks(balancers) ? [] : ['PROXY_PROTOCOL_NETWORKS: must be networks, such as 10.0.0.0/8,fd00::/8']),
    ...(isNetworks(webhooks) ? [] : ['WEBHOOK_ALLOWED_NETWORKS: must be networks, such as 10.0.0.0/8,fd00::/8']),
  ];
}
