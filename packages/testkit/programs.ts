import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Reports a program that tests need; without it they are skipped.
 * @throws in continuous integration (CI=true), where a skipped test would go unnoticed
 */
function required(name: string, isInstalled: boolean): boolean {
  if (!isInstalled && process.env['CI'] === 'true') throw new Error(`${name} is not installed: CI=true requires it`);
  return isInstalled;
}

const runs = (program: string, ...parameters: string[]) => spawnSync(program, parameters).status === 0;

/** For tests that kill a Redis of their own. */
export const hasRedisServer = required('redis-server', runs('redis-server', '--version'));

/** For tests of fail-over by Sentinels. */
export const hasRedisSentinel = required('redis-sentinel', runs('redis-sentinel', '--version'));

/** For tests with certificates. */
export const hasOpenssl = required('openssl', runs('openssl', 'version'));

/** HAProxy, for tests behind a load balancer. */
export const hasHaproxy = required('haproxy', runs('haproxy', '-v'));

/** For tests of the console; undefined without a browser. The headless shell needs half of the CPU time of a whole browser. */
export const browserPath = ['chromium-headless-shell', 'chromium', 'google-chrome']
  .map((name) => `/usr/bin/${name}`)
  .find((path) => existsSync(path));
export const hasBrowser = required('Chromium', browserPath !== undefined);

/** Programs of the ACME test: Caddy, and the certificate authority and DNS server of Pebble; all are Go modules. */
export const hasAcmePrograms =
  runs('caddy', 'version') && ['pebble', 'pebble-challtestsrv'].every((name) => runs('which', name));

/** PgBouncer, for tests of connections through a pooler; not installed in CI. */
export const hasPgbouncer = existsSync('/usr/sbin/pgbouncer');
