import { InvalidSettings, readConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import closeWithGrace from 'close-with-grace';
import { startPlatform } from './platform.ts';
import { giveWay } from './priority.ts';
import { selectServices } from './services.ts';

/** Runs the services named on the command line, all of them when none is named. */
async function main(names: readonly string[]): Promise<void> {
  const selected = selectServices(names);
  const config = readConfig();
  const logger = createLogger(config.LOG_LEVEL);
  giveWay(selected, logger);
  const platform = await startPlatform(config, logger, selected);
  closeWithGrace({ delay: config.SHUTDOWN_TIMEOUT_MS, logger: false }, async ({ err, signal }) => {
    if (err) logger.fatal({ err }, 'an error nobody expected');
    logger.info({ signal }, 'draining');
    // Nobody balances what somebody ends by hand.
    if (signal === 'SIGTERM') await platform.drain();
    await platform.stop();
    logger.info('stopped');
  });
  logger.info({ http: platform.httpUrl, mqtt: platform.mqttUrl, services: selected.map(({ name }) => name) }, 'ready');
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const known = error instanceof InvalidSettings || (error instanceof Error && error.message.startsWith('no service'));
  process.stderr.write(`${known ? (error as Error).message : String((error as Error)?.stack ?? error)}\n`);
  process.exit(1);
});
