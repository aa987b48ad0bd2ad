import type { Logger } from '@odograph/runtime/logger';

/** Logs a problem of one connection. */
export type ThrottledLog = (message: string, details: Record<string, unknown>) => void;

/**
 * Warns at most `linesPerWindow` times for the same message in `windowMs`, and says with the next line how many it kept
 * to itself: a storm of reconnecting devices must not become a storm of lines.
 */
export function createThrottledLog(logger: Logger, linesPerWindow = 10, windowMs = 10_000): ThrottledLog {
  const windows = new Map<string, { startMs: number; lines: number }>();
  return (message, details) => {
    const now = performance.now();
    let window = windows.get(message);
    const suppressed = window === undefined ? 0 : Math.max(0, window.lines - linesPerWindow);
    const renewed = window === undefined || now - window.startMs > windowMs;
    if (window === undefined || renewed) {
      window = { startMs: now, lines: 0 };
      windows.set(message, window);
    }
    window.lines += 1;
    if (window.lines > linesPerWindow) return;
    logger.warn(renewed && suppressed > 0 ? { ...details, suppressed } : details, message);
  };
}
