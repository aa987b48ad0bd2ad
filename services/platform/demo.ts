import { InvalidSettings, readConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { runDemo } from './demo/demo.ts';
import { StartFailure } from './start-checks.ts';

try {
  const config = readConfig();
  await runDemo(config, createLogger(config.LOG_LEVEL));
} catch (error) {
  const isExpected = error instanceof InvalidSettings || error instanceof StartFailure;
  process.stderr.write(`${isExpected ? error.message : String((error as Error).stack ?? error)}\n`);
  process.exit(1);
}
