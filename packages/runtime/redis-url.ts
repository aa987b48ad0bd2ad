/** Splits REDIS_URL into its servers, Sentinel groups or clusters. The first holds everything but the other shards. */
export const redisServers = (urls: string): string[] => urls.split(/,(?=rediss?(?:\+[a-z]+)?:\/\/)/);

const multiHostUrl =
  /^redis(?<tls>s?)\+(?<kind>cluster|sentinel):\/\/(?:(?<username>[^:@]*)(?::(?<password>[^@]*))?@)?(?<hosts>[^/?@]+)(?:\/(?<name>[^/?]*))?(?:\?sentinelPassword=(?<sentinelPassword>.+))?$/;

interface Host {
  readonly host: string;
  readonly port: number;
}

/** @throws when a host is invalid */
function parseHosts(hosts: string, defaultPort: number): Host[] {
  return hosts.split(',').map((one) => {
    const { hostname, port } = new URL(`redis://${one}`);
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || defaultPort };
  });
}

/**
 * Parses the address of a cluster, or of the Sentinels of one primary; undefined for that of one server.
 * @throws if it is malformed
 */
export function parseMultiHostUrl(url: string) {
  if (!/^rediss?\+/.test(url)) return undefined;
  const { kind, hosts = '', tls, username, password, name, sentinelPassword } = multiHostUrl.exec(url)?.groups ?? {};
  if (kind === undefined) throw new Error('must be redis+cluster://HOST,… or redis+sentinel://HOST,…/NAME');
  if (kind === 'sentinel' && !name) throw new Error('redis+sentinel:// must end with the name of the primary');
  const decoded = (text: string | undefined) => (text ? decodeURIComponent(text) : undefined);
  return {
    isCluster: kind === 'cluster',
    hosts: parseHosts(hosts, kind === 'cluster' ? 6379 : 26_379),
    name: decoded(name) ?? '',
    sentinelPassword: decoded(sentinelPassword),
    credentials: {
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
    },
    tls: tls === 's' ? { tls: {} } : {},
  };
}

/** Tells whether an address is that of a Redis Cluster, where all keys of a Lua script must share a hash tag. */
export const isRedisCluster = (url: string): boolean => /^rediss?\+cluster:/.test(url);

/** Returns why REDIS_URL is invalid, without its secrets; undefined if it is valid. */
export function redisUrlFault(urls: string): string | undefined {
  try {
    for (const url of redisServers(urls)) if (!parseMultiHostUrl(url)) new URL(url);
    return undefined;
  } catch (error) {
    return error instanceof Error && error.message.startsWith('redis') ? error.message : 'is not a valid address';
  }
}

/** Returns hosts and ports, without user and password, for messages. */
export function describeRedis(url: string): string {
  const hosts = parseMultiHostUrl(url)?.hosts ?? [
    { host: new URL(url).hostname, port: Number(new URL(url).port) || 6379 },
  ];
  return hosts.map(({ host, port }) => `${host}:${port}`).join(', ');
}
