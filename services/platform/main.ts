import { InvalidSettings, readConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import closeWithGrace from 'close-with-grace';
import { stopWithNpm } from './npm-parent.ts';
import { startPlatform } from './platform.ts';
import { giveWay } from './priority.ts';
import { selectServices } from './services.ts';
import { checkBeforeStart, portFailure, StartFailure } from './start-checks.ts';

/** Runs the services named on the command line, all of them when none is named. */
async function main(names: readonly string[]): Promise<void> {
  const selected = selectServices(names);
  const config = readConfig();
  const logger = createLogger(config.LOG_LEVEL);
  stopWithNpm(logger);
  giveWay(selected, logger);
  const serviceNames = selected.map(({ name }) => name);
  await checkBeforeStart(config, serviceNames);
  const platform = await startPlatform(config, logger, selected).catch((error: unknown) => {
    throw portFailure(error, config) ?? error;
  });
  closeWithGrace({ delay: config.SHUTDOWN_TIMEOUT_MS, logger: false }, async ({ err, signal }) => {
    if (err) logger.fatal({ err }, 'unhandled error');
    logger.info({ signal }, 'draining');
    // Ctrl-C: no load balancer to wait for, so skip the drain.
    if (signal === 'SIGTERM') await platform.drain();
    await platform.stop();
    logger.info('stopped');
  });
  logger.info({ http: platform.httpUrl, mqtt: platform.mqttUrl, services: serviceNames }, 'ready');
}

function isExpected(error: unknown): error is Error {
  if (error instanceof InvalidSettings || error instanceof StartFailure) return true;
  return error instanceof Error && error.message.startsWith('no service');
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${isExpected(error) ? error.message : String((error as Error)?.stack ?? error)}\n`);
  process.exit(1);
});
