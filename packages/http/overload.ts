import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Failure } from '@odograph/contracts/failures';
import type { Http } from './http.ts';

const maximumDelayMs = 5000;
const sampleMs = 1000;
const resolutionMs = 10;

/**
 * Refuses requests while the event loop is late by more than 5 s, on average over a second. Its timer makes no system
 * call, since one that fails without free descriptors would end the process (process.memoryUsage() reads a file).
 * @throws Failure OVERLOADED in the request
 */
export function refuseWhileOverloaded(http: Http): void {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  delays.enable();
  let delayMs = 0;
  const timer = setInterval(() => {
    delayMs = delays.count === 0 ? Number.POSITIVE_INFINITY : delays.mean / 1e6 - resolutionMs;
    delays.reset();
  }, sampleMs).unref();
  http.addHook('onClose', () => {
    clearInterval(timer);
    delays.disable();
  });
  http.addHook('onRequest', async () => {
    if (delayMs > maximumDelayMs) throw new Failure('OVERLOADED', undefined, { retryAfterSeconds: 5 });
  });
}
