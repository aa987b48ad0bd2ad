import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, statfs } from 'node:fs/promises';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import type { Config } from '@odograph/runtime/config';
import { describeRedis, parseMultiHostUrl, redisServers } from '@odograph/runtime/redis-url';
import { openEngines } from '../installation/engines.ts';
import {
  attempt,
  type Check,
  type ClockReading,
  checkCertificate,
  checkExpiry,
  checkPrivateKey,
  checkSkew,
  fault,
  ok,
  unknown,
  warning,
} from './check.ts';
import { checkDatabase, checkRoles } from './database.ts';
import { checkQueues, checkRedis } from './redis.ts';

interface Examined {
  readonly checks: Check[];
  readonly clock: ClockReading;
  readonly dataDirectory: string | undefined;
}

const redisRemedy = 'start Redis, or correct REDIS_URL; if it exited, see its log (a full disk ends it)';

const isHere = (url: string) =>
  !parseMultiHostUrl(url) && ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname);

/** Checks an engine; keeps its clock and, on this host, the directory of its data. */
async function examine(group: string, remedy: string, url: string, run: () => Promise<Examined>) {
  let clock: ClockReading | undefined;
  let directory: string | undefined;
  const checks = await attempt(group, remedy, async () => {
    const examined = await run();
    clock = examined.clock;
    directory = isHere(url) ? examined.dataDirectory : undefined;
    return examined.checks;
  });
  const disk =
    directory === undefined
      ? []
      : await attempt(`disk of ${group}`, remedy, () => checkDisk(`disk of ${group}`, directory ?? ''));
  return { clock, checks: [...checks, ...disk] };
}

/** Checks each server of REDIS_URL; with several, the names of the checks end with its address. */
async function examineRedis(urls: string) {
  const servers = redisServers(urls).map((url) => ({ url, name: describeRedis(url) }));
  return Promise.all(
    servers.map(async ({ url, name }) => {
      const { clock, checks } = await examine('Redis', redisRemedy, url, () => checkRedis(url));
      if (servers.length === 1) return { clock, checks };
      return { clock, checks: checks.map((one) => ({ ...one, check: `${one.check} of ${name}` })) };
    }),
  );
}

/** Checks everything that this host's settings reach. @param platformUrl where the platform answers */
export async function diagnose(config: Config, platformUrl: string): Promise<Check[]> {
  const engines = await openEngines(config);
  try {
    const database = await examine('database', 'start PostgreSQL, or correct DATABASE_URL', engines.databaseUrl, () =>
      checkDatabase(engines.databaseUrl, config),
    );
    const servers = await examineRedis(engines.redisUrl);
    const clock = servers[0]?.clock;
    const skew = database.clock && clock ? [checkSkew('clocks of the engines', database.clock, clock)] : [];
    const groups = [
      attempt('backlog', redisRemedy, async () => (clock === undefined ? [] : checkQueues(engines.redisUrl, config))),
      checkRoles(config),
      attempt('clock of this host', 'see docs/operating.md, "Clocks"', checkTimeSync),
      attempt('disk space', 'correct DATA_DIR', () => checkDisk('disk space', config.DATA_DIR)),
      attempt('certificates', 'correct the settings that name certificates', () => checkCertificates(config)),
      attempt('platform', 'start the platform, or set ODOGRAPH_URL to its address', () => checkPlatform(platformUrl)),
    ];
    const others = (await Promise.all(groups)).flat();
    return [
      ok('settings', 'valid'),
      ...database.checks,
      ...servers.flatMap(({ checks }) => checks),
      ...skew,
      ...others,
    ];
  } finally {
    await engines.stop();
  }
}

const minFreeBytes = 1024 ** 3;
const minFreeShare = 0.1;
const answerMs = 5000;

/** Checks the disk space of a directory; skips a directory that does not exist on this host. */
async function checkDisk(check: string, directory: string): Promise<Check[]> {
  const space = await statfs(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'EACCES') return undefined;
    throw error;
  });
  if (space === undefined) {
    return [unknown(check, `${directory} cannot be seen from this host`, 'run doctor on the host that has it')];
  }
  const { bavail, blocks, bsize } = space;
  const free = bavail * bsize;
  const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free (${Math.round((100 * bavail) / blocks)} %) in ${directory}`;
  const isLow = free < minFreeBytes || bavail / blocks < minFreeShare;
  return [isLow ? warning(check, detail, 'free or add space, or set RETENTION_DAYS') : ok(check, detail)];
}

/** Asks systemd whether the clock of this host is synchronized. */
async function checkTimeSync(): Promise<Check[]> {
  const check = 'clock of this host';
  const command = ['show', '--property=NTPSynchronized', '--value'];
  const answer = await promisify(execFile)('timedatectl', command, { timeout: answerMs }).catch(() => undefined);
  if (answer === undefined) {
    return [unknown(check, 'timedatectl does not answer', 'see that chrony or another NTP client runs on this host')];
  }
  return answer.stdout.trim() === 'yes'
    ? [ok(check, 'synchronized')]
    : [fault(check, 'not synchronized', 'start an NTP client, such as systemd-timesyncd or chrony')];
}

/** Checks the certificates that the settings name, and the one that the server at ODOGRAPH_URL shows. */
async function checkCertificates(config: Config): Promise<Check[]> {
  const checks: Check[] = [];
  for (const name of ['MQTT_TLS_CERTIFICATE', 'MQTT_TLS_CLIENT_CA'] as const) {
    const path = config[name];
    if (path !== undefined) checks.push(checkCertificate(name, await readFile(path, 'utf8'), Date.now()));
  }
  const { MQTT_TLS_CERTIFICATE: certificate, MQTT_TLS_KEY: key } = config;
  if (certificate !== undefined && key !== undefined) {
    const [certificatePem, keyPem] = await Promise.all([readFile(certificate, 'utf8'), readFile(key, 'utf8')]);
    checks.push(checkPrivateKey('MQTT_TLS_KEY', certificatePem, keyPem));
  }
  if (config.ODOGRAPH_URL?.startsWith('https:')) checks.push(await checkServerCertificate(config.ODOGRAPH_URL));
  return checks;
}

async function checkServerCertificate(url: string): Promise<Check> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  // The check reports any fault of the certificate, so no certificate is rejected here.
  const socket = connect({ host, port: Number(port || 443), servername: host, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(answerMs) });
    const check = `certificate of ${hostname}`;
    if (!socket.authorized) {
      return fault(
        check,
        `not trusted: ${socket.authorizationError}`,
        'serve a certificate of that name with its chain',
      );
    }
    return checkExpiry(check, socket.getPeerCertificate().valid_to, Date.now(), 'renew it in the proxy');
  } finally {
    socket.destroy();
  }
}

/** Checks that the platform is healthy. */
async function checkPlatform(url: string): Promise<Check[]> {
  const response = await fetch(`${url}/health`);
  const body = await response.text();
  return [
    response.ok
      ? ok('platform', `healthy at ${url}`)
      : fault('platform', body, 'see the log of the service that is not ok'),
  ];
}
