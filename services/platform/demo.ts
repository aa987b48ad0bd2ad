import { InvalidSettings, readConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { runDemo } from './demo/demo.ts';

const vehicleCount = 8;

try {
  const config = readConfig();
  await runDemo(config, createLogger(config.LOG_LEVEL), vehicleCount);
} catch (error) {
  process.stderr.write(
    `${error instanceof InvalidSettings ? error.message : String((error as Error).stack ?? error)}\n`,
  );
  process.exit(1);
}
