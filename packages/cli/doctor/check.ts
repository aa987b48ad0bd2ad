import { createPrivateKey, X509Certificate } from 'node:crypto';
import { messageOf } from '@odograph/runtime/message-of';

/** One line of the diagnosis. */
export interface Check {
  check: string;
  /** unknown: it cannot be seen from here. */
  result: 'ok' | 'warning' | 'fault' | 'unknown';
  detail: string;
  /** How to mend what is not ok. */
  remedy?: string;
}

const dayMs = 86_400_000;
const certificateWarningDays = 30;
const maxClockDifferenceMs = 1000;

export const ok = (check: string, detail: string): Check => ({ check, result: 'ok', detail });
export const finding = (result: Check['result'], check: string, detail: string, remedy: string): Check => ({
  check,
  result,
  detail,
  remedy,
});
export const warning = finding.bind(undefined, 'warning');
export const fault = finding.bind(undefined, 'fault');
export const unknown = finding.bind(undefined, 'unknown');

/** A check that is ok, or else has a fault. */
export function expectThat(isRight: boolean, check: string, detail: string, remedy: string): Check {
  return isRight ? ok(check, detail) : fault(check, detail, remedy);
}

/** Whether a version such as 16.4 is older than the oldest supported one. */
export function isOlder(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return ownMajor < major || (ownMajor === major && ownMinor < minor);
}

/** A clock that was read once, between two looks at that of this host. */
export interface ClockReading {
  readonly clockMs: number;
  readonly beforeMs: number;
  readonly afterMs: number;
}

/** Compares a clock with that of this host. */
export function checkClock(check: string, { clockMs, beforeMs, afterMs }: ClockReading): Check {
  const differenceMs = Math.max(beforeMs - clockMs, clockMs - afterMs, 0);
  const detail = `${Math.round(differenceMs)} ms from this host`;
  return expectThat(differenceMs <= maxClockDifferenceMs, check, detail, 'synchronize both hosts by NTP');
}

/** Compares the clocks of two engines, each read relative to that of this host. */
export function checkSkew(check: string, left: ClockReading, right: ClockReading): Check {
  const bounds = ({ clockMs, beforeMs, afterMs }: ClockReading) => [clockMs - afterMs, clockMs - beforeMs] as const;
  const [leftLow, leftHigh] = bounds(left);
  const [rightLow, rightHigh] = bounds(right);
  const differenceMs = Math.max(leftLow - rightHigh, rightLow - leftHigh, 0);
  const remedy = 'synchronize the hosts of both by NTP: tokens, commands and locks compare their times';
  return expectThat(differenceMs <= maxClockDifferenceMs, check, `${Math.round(differenceMs)} ms apart`, remedy);
}

/** Checks the end of a certificate. */
export function checkExpiry(check: string, validTo: string, nowMs: number, remedy: string): Check {
  const days = Math.floor((new Date(validTo).getTime() - nowMs) / dayMs);
  if (days < 0) return fault(check, `expired ${-days} days ago`, remedy);
  return days < certificateWarningDays
    ? warning(check, `expires in ${days} days`, remedy)
    : ok(check, `expires in ${days} days`);
}

/** Checks the expiry of the certificates in a PEM file; in a chain or a list of authorities, the earliest counts. */
export function checkCertificate(check: string, pem: string, nowMs: number): Check {
  const remedy = `renew the file that ${check} names; it is read again without a restart`;
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return fault(check, 'holds no certificate in PEM', `correct the file that ${check} names`);
  const ends = blocks.map((block) => Date.parse(new X509Certificate(block).validTo));
  return checkExpiry(check, new Date(Math.min(...ends)).toISOString(), nowMs, remedy);
}

/** Checks that a private key belongs to the first certificate of a PEM file. */
export function checkPrivateKey(check: string, certificatePem: string, keyPem: string): Check {
  const isOwn = new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(keyPem));
  const detail = isOwn ? 'matches its certificate' : 'does not match its certificate';
  return expectThat(isOwn, check, detail, 'install the key and the certificate of the same request');
}

/** Runs one group of checks; its failure becomes a fault of that group and does not hide the others. */
export async function attempt(group: string, remedy: string, run: () => Promise<Check[]>): Promise<Check[]> {
  return run().catch((error: unknown) => {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return [fault(group, messageOf(cause), remedy)];
  });
}
