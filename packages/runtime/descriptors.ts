import { readFileSync } from 'node:fs';

/** Minimum of descriptors reserved for databases, Redis, files and child processes; otherwise a fortieth of the limit. */
const minReserve = 256;
const reserveDivisor = 40;
/** Share of HTTP connections in the remaining descriptors; connections of devices get the rest. */
const httpDivisor = 8;

export interface ConnectionShares {
  /** At the broker and at the gateway. */
  readonly devices: number;
  readonly http: number;
}

/**
 * Divides the file descriptors of this process between client connections, with a reserve: without free descriptors,
 * reading files and reconnecting to databases fail.
 * @param limit descriptors that the process may open
 * @returns the maximum of connections of each kind
 */
export function shareDescriptors(limit: number = descriptorLimit()): ConnectionShares {
  const available = Math.max(2, limit - Math.max(minReserve, Math.ceil(limit / reserveDivisor)));
  const http = Math.floor(available / httpDivisor);
  return { http, devices: available - http };
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
