import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { openMailer } from '@odograph/mail/mailer';
import type { Config } from '@odograph/runtime/config';
import { healthOf, type RunningServices, type ServiceHost } from '@odograph/runtime/service';

const times = { checkMs: 10_000, failsAfterMs: 60_000, pauseMs: 3_600_000 };

interface Fault {
  readonly sinceMs: number;
  /** The same while the mail is repeated. */
  readonly key: string;
  isReported: boolean;
}

/**
 * Mails ALERT_EMAIL a part of this process whose state in /health has failed for a minute: once until it recovers, and at most
 * once an hour. The mail server may be away; a mail that fails is repeated at the next check, and lost if the process ends.
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
    await check().catch((error: unknown) =>
      logger.warn({ err: error }, 'alert of a failing service not sent; retrying'),
    );
    if (!isStopped) timer = setTimeout(() => void run(), checkMs);
  };
  timer = setTimeout(() => void run(), checkMs);
  onStop('health alerts', () => {
    isStopped = true;
    clearTimeout(timer);
    mailer.close();
  });
}
