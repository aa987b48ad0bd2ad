import { constants, setPriority } from 'node:os';
import { parseArgs } from 'node:util';
import type { Http } from '@odograph/http/http';
import { findRemovedSettings, InvalidSettings, readConfig, shutdownTimeoutMs } from '@odograph/runtime/config';
import { type Logger, openLogger } from '@odograph/runtime/logger';
import type { Service } from '@odograph/runtime/service';
import closeWithGrace from 'close-with-grace';
import { describeAddresses, startPlatform } from './platform.ts';
import { logUnhandledErrors, stopWithNpm } from './process-lifetime.ts';
import { loadServices, selectServices, UnknownService } from './services.ts';
import { checkBeforeStart, portFailure, StartFailure } from './start-checks.ts';

/**
 * Lowers the priority of a process that runs only background services (`nice` 10 on POSIX systems): when CPU is scarce,
 * acknowledging uploads takes precedence over storing them.
 */
function lowerPriority(services: readonly Service<Http>[], logger: Logger): void {
  if (!services.every(({ yields }) => yields)) return;
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    logger.warn({ err: error }, 'process priority not lowered');
  }
}

/** Accept that data is lost for good: see docs/operating.md. */
const allowances = {
  'allow-unreadable-values': { type: 'boolean' },
  'allow-incomplete-database': { type: 'boolean' },
} as const;

/** Runs the named services, or all of them when none is named. */
async function main(): Promise<void> {
  const { values: allowed, positionals } = parseArgs({ options: allowances, allowPositionals: true });
  const serviceNames = selectServices(positionals);
  const config = readConfig();
  const logger = await openLogger(config.LOG_LEVEL);
  stopWithNpm(logger);
  const removed = findRemovedSettings();
  if (removed.length > 0) logger.warn({ removed }, 'removed settings ignored: see CHANGELOG.md');
  await checkBeforeStart(config, serviceNames);
  const services = await loadServices(serviceNames);
  lowerPriority(services, logger);
  const platform = await startPlatform(config, logger, services, allowed).catch((error: unknown) => {
    throw portFailure(error, config) ?? error;
  });
  logUnhandledErrors(logger);
  const skip = ['uncaughtException', 'unhandledRejection'] as const;
  closeWithGrace({ delay: shutdownTimeoutMs(config), logger: false, skip: [...skip] }, async ({ signal }) => {
    logger.info({ signal }, 'draining');
    // Ctrl-C: no load balancer to wait for, so skip the drain.
    if (signal === 'SIGTERM') await platform.drain();
    await platform.stop();
    logger.info('stopped');
  });
  const addresses = describeAddresses(config, platform, serviceNames);
  const signIn = 'npx odograph operator create --name NAME --role administrator';
  const shown = serviceNames.includes('console') ? { ...addresses, signIn } : addresses;
  logger.info({ ...shown, http: platform.httpUrl, services: serviceNames }, 'ready');
  if (process.stdout.isTTY) {
    const lines = Object.entries(shown).map(([name, value]) => `  ${name.padEnd(10)} ${value}\n`);
    process.stdout.write(`\nOdograph is ready\n${lines.join('')}\n`);
  }
}

const isExpected = (error: unknown): error is Error =>
  [InvalidSettings, StartFailure, UnknownService].some((expected) => error instanceof expected) ||
  (error instanceof TypeError && 'code' in error && error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION');

main().catch((error: unknown) => {
  process.stderr.write(`${isExpected(error) ? error.message : String((error as Error)?.stack ?? error)}\n`);
  process.exit(1);
});
