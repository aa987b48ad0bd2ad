import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

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

/** pino's number of the level `warn`. */
const warnLevel = 40;
/** Warnings and errors of one cause that are written in a window. */
const linesPerWindow = 10;
const windowMs = 10_000;
const maximumCauses = 1000;

/** Returns the message of a line with the code of its error, which is no text of a client. */
function causeOf(fields: unknown, message: unknown): string {
  const { sqlState, err } = Object(fields) as { sqlState?: unknown; err?: unknown };
  const { code } = Object(err ?? fields) as { code?: unknown };
  return JSON.stringify([message, sqlState ?? code]);
}

/**
 * Suppresses warnings and errors beyond 10 of one cause in 10 s: a failure that repeats for each device or attempt must
 * not become a storm of lines. The first line of a later window has the number of those suppressed.
 */
function createThrottle() {
  const windows = new Map<string, { startMs: number; lines: number }>();
  return (cause: string): { isSuppressed: boolean; suppressed: number } => {
    const nowMs = performance.now();
    const window = windows.get(cause);
    if (window !== undefined && nowMs - window.startMs <= windowMs) {
      window.lines += 1;
      return { isSuppressed: window.lines > linesPerWindow, suppressed: 0 };
    }
    if (windows.size >= maximumCauses) windows.clear();
    windows.set(cause, { startMs: nowMs, lines: 1 });
    return { isSuppressed: false, suppressed: Math.max(0, (window?.lines ?? 0) - linesPerWindow) };
  };
}

/**
 * Creates a logger that writes JSON lines, to stdout by default, redacts secrets up to three levels deep, and limits
 * repeated warnings and errors. Its children share the limits.
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const throttle = createThrottle();
  const options: LoggerOptions = {
    level,
    redact: { paths: redactedPaths, censor: '[redacted]' },
    hooks: {
      logMethod(parameters, method, levelNumber) {
        const [fields, message] = parameters as [fields: unknown, message?: unknown];
        if (levelNumber < warnLevel) return method.apply(this, parameters);
        const { isSuppressed, suppressed } = throttle(
          typeof fields === 'string' ? causeOf({}, fields) : causeOf(fields, message),
        );
        if (isSuppressed) return;
        method.apply(suppressed === 0 ? this : this.child({ suppressed }), parameters);
      },
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** Creates the logger of a process: lines for people on a terminal, JSON lines elsewhere. */
export async function openLogger(level: string): Promise<Logger> {
  if (!process.stdout.isTTY) return createLogger(level);
  const { default: pretty } = await import('pino-pretty');
  return createLogger(level, pretty({ ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss', singleLine: true }));
}
