import { readFileSync } from 'node:fs';

/** Minimum of descriptors reserved for databases, Redis, files and child processes; otherwise a fortieth of the limit. */
const leastReserve = 256;
const reserveDivisor = 40;
/** Eighths of the remaining descriptors for HTTP connections and for TCP connections of the gateway; MQTT gets the rest. */
const httpEighths = 1;
const gatewayEighths = 2;

export interface ConnectionShares {
  readonly mqtt: number;
  readonly http: number;
  readonly gateway: number;
}

/**
 * Divides the file descriptors of this process between client connections, with a reserve: without free descriptors,
 * reading files and reconnecting to databases fail.
 * @param limit descriptors that the process may open
 * @returns the maximum of connections of each kind
 */
export function shareDescriptors(limit: number = descriptorLimit()): ConnectionShares {
  const available = Math.max(8, limit - Math.max(leastReserve, Math.ceil(limit / reserveDivisor)));
  const http = Math.floor((available * httpEighths) / 8);
  const gateway = Math.floor((available * gatewayEighths) / 8);
  return { http, gateway, mqtt: available - http - gateway };
}

/** Reads the limit of open file descriptors of this process; the largest safe integer where there is none. */
export function descriptorLimit(): number {
  return limitOf(process.platform === 'linux' ? linuxLimit() : reportedLimit());
}

/** proc(5), /proc/pid/limits. */
function linuxLimit(): string | undefined {
  return /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
}

/** Slower than reading a file, but the same on every system. */
function reportedLimit(): string | number | undefined {
  const report: { userLimits?: { open_files?: { soft?: string | number } } } = process.report.getReport();
  return report.userLimits?.open_files?.soft;
}

function limitOf(value: string | number | undefined): number {
  const limit = Number(value);
  return Number.isInteger(limit) && limit > 0 ? limit : Number.MAX_SAFE_INTEGER;
}
