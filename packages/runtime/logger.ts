import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** Names of fields whose values are redacted. */
const secretNames = [
  'password',
  'oldPassword',
  'newPassword',
  'appKey',
  'secret',
  'token',
  'refreshToken',
  'refresh_token',
  'authorization',
  'adminToken',
  'key',
  'pin',
];

const redactedPaths = [
  ...secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
  '*.headers["x-service-token"]',
  '*.headers.cookie',
  '*.*.headers["x-service-token"]',
];

/** Creates a logger that writes JSON lines, to stdout by default, and redacts secrets up to three levels deep. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = { level, redact: { paths: redactedPaths, censor: '[redacted]' } };
  return destination === undefined ? pino(options) : pino(options, destination);
}
