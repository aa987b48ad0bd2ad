import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { openMailer } from '@odograph/mail/mailer';
import type { Config } from '@odograph/runtime/config';
import { healthOf, type RunningServices, type ServiceHost } from '@odograph/runtime/service';

const times = { checkMs: 10_000, failsAfterMs: 60_000, pauseMs: 3_600_000 };

interface Fault {
  readonly sinceMs: number;
  /** Idempotency key, the same for all retries of the e-mail. */
  readonly key: string;
  isReported: boolean;
}

/**
 * Sends an e-mail to ALERT_EMAIL when a service of this process has been failing in /health for a minute: once per failure,
 * and at most hourly for each service. A failed e-mail is retried at the next check, and lost if the process ends.
 */
export function watchHealth(
  { config, logger, onStop }: Pick<ServiceHost, 'logger' | 'onStop'> & { readonly config: Config },
  services: RunningServices,
  { checkMs, failsAfterMs, pauseMs } = times,
): void {
  const { ALERT_EMAIL: to, PUBLIC_URL: publicUrl } = config;
  const mailer = to === undefined ? undefined : openMailer(config);
  if (to === undefined || !mailer) return;
  const faults = new Map<string, Fault>();
  const reportedMs = new Map<string, number>();
  const check = async (): Promise<void> => {
    for (const [name, { ok, state }] of Object.entries(await healthOf(services))) {
      const nowMs = performance.now();
      if (ok) {
        faults.delete(name);
        continue;
      }
      const fault = faults.get(name) ?? { sinceMs: nowMs, key: `alert-${randomUUID()}`, isReported: false };
      faults.set(name, fault);
      const isPaused = nowMs - (reportedMs.get(name) ?? Number.NEGATIVE_INFINITY) < pauseMs;
      if (fault.isReported || isPaused || nowMs - fault.sinceMs < failsAfterMs) continue;
      const text = [`${name}: ${state}`, ...(publicUrl === undefined ? [] : [new URL('/pipeline', publicUrl).href])];
      await mailer.send({ to, subject: `Odograph: ${name} fails`, text: text.join('\n'), key: fault.key });
      fault.isReported = true;
      reportedMs.set(name, nowMs);
    }
  };
  let timer: NodeJS.Timeout;
  let isStopped = false;
  const run = async (): Promise<void> => {
    await check().catch((error: unknown) => logger.warn({ err: error }, 'health alert not sent; retrying'));
    if (!isStopped) timer = setTimeout(() => void run(), checkMs);
  };
  timer = setTimeout(() => void run(), checkMs);
  onStop('health alerts', () => {
    isStopped = true;
    clearTimeout(timer);
    mailer.close();
  });
}
