import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '@odograph/contracts/failures';
import type { Addresses } from '@odograph/database/addresses';
import type { Tables } from '@odograph/database/tables';
import { type Mailer, MailFailure } from '@odograph/mail/mailer';
import { writeReportFile } from '@odograph/reports/file';
import { readTotals, totalsOf } from '@odograph/reports/report';
import { fill, readTexts } from '@odograph/reports/texts';
import type { FailureReports } from '@odograph/runtime/background-failures';
import type { Logger } from '@odograph/runtime/logger';
import type { Kysely } from 'kysely';
import * as sent from './sent-reports.ts';

interface SenderOptions {
  readonly db: Kysely<Tables>;
  readonly addresses: Addresses;
  readonly mailer: Mailer;
  readonly failures: FailureReports<'reports'>;
  readonly logger: Logger;
  readonly clock: () => Date;
  /** Interval between checks for due reports. */
  readonly intervalMs: number;
}

/**
 * Sends due reports, and checks sent reports for late data. The primary key of `sent_report` ensures one report for each due
 * time. Delivery is at least once: a process that stops after the mail server accepted a message, but before it recorded
 * that, leaves the message to be sent again with the same Message-ID.
 */
export class ReportSender {
  readonly #options: SenderOptions;
  readonly #stopping = new AbortController();
  #loop = Promise.resolve();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Stops after the message in flight. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { failures, intervalMs } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#work();
        failures.succeeded('reports');
      } catch (error) {
        failures.failed('reports', error);
      }
      await delay(intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #work(): Promise<void> {
    const { db, clock } = this.#options;
    await sent.planReports(db, clock());
    for (;;) {
      const report = this.#stopping.signal.aborted ? undefined : await sent.leaseReport(db, clock());
      if (report === undefined) break;
      await this.#send(report);
    }
    for (;;) {
      const report = this.#stopping.signal.aborted ? undefined : await sent.claimSentReport(db, clock());
      if (report === undefined) break;
      const viewer = { applicationIds: [report.applicationId] };
      const scope = { ...report.scope, viewer, vehicleIds: await sent.listVehicles(db, report) };
      await sent.compareTotals(db, report, await readTotals(db, report.kind, scope), clock());
    }
  }

  async #send(report: sent.ScheduledReport): Promise<void> {
    const { db, clock } = this.#options;
    try {
      await this.#sendToAll(report);
      await sent.markSent(db, report, clock());
    } catch (error) {
      const isFinal = error instanceof Failure && error.code === 'INVALID_PARAMETER';
      await sent.markFailed(db, report, { message: this.#describe(report, error), isFinal, now: clock() });
    }
  }

  /** Describes a failed attempt to users of the API. Other errors name internals and are only logged. */
  #describe({ scheduleId, dueAt }: sent.ScheduledReport, error: unknown): string {
    if (error instanceof Failure || error instanceof MailFailure) return error.message;
    this.#options.logger.error({ err: error, scheduleId, dueAt }, 'scheduled report not sent');
    return 'the platform could not create the report; the reason is in its log';
  }

  /** Sends to the remaining recipients; a rejected recipient does not delay the others. */
  async #sendToAll(report: sent.ScheduledReport): Promise<void> {
    const { db, addresses, mailer, clock } = this.#options;
    const { kind, format, language, scope, scheduleId, dueAt, recipients, accepted } = report;
    const { report: content, file } = await writeReportFile(db, addresses, { kind, scope, format, language });
    if (accepted.length === 0) await sent.storeTotals(db, report, totalsOf(content));
    const texts = readTexts(language);
    const [, days = ''] = /-(\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d)\./.exec(file.name) ?? [];
    const [from, until] = [days.slice(0, 10), days.slice(11)];
    const mail = {
      subject: `${texts.kinds[kind]} ${from} – ${until}`,
      text: fill(texts.mail, { report: texts.kinds[kind] ?? kind, from, until, timeZone: scope.timeZone }),
      attachments: [{ filename: file.name, contentType: file.mediaType, content: file.content }],
    };
    const failed: unknown[] = [];
    for (const [number, to] of recipients.entries()) {
      if (accepted.includes(to)) continue;
      const key = `report-${scheduleId}-${Date.parse(dueAt)}-${number}`;
      try {
        await mailer.send({ ...mail, to, key });
        await sent.markAccepted(db, report, to, clock());
      } catch (error) {
        failed.push(error);
      }
    }
    if (failed.length > 0) throw failed[0];
  }
}
