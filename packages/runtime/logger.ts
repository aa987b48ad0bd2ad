import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** Names under which a secret could reach a log line; their values never do. */
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

/** JSON lines on stdout, secrets redacted wherever they stand in the logged object. */
export function createLogger(level: string): Logger {
  return pino({ level, redact: { paths: redactedPaths, censor: '[redacted]' } });
}
