import type { Config } from '@odograph/runtime/config';
import { createTransport } from 'nodemailer';

/** A message to one address. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  /** Letters, digits and `-`, the same whenever the message is repeated: mail programs show its copies as one. */
  readonly key: string;
  readonly attachments?: readonly MailAttachment[];
}

export interface MailAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly content: Buffer;
}

/** Thrown for a message that the mail server has not accepted; its text names neither server nor address. */
export class MailFailure extends Error {
  /** The reply code of the mail server; undefined without a reply. */
  readonly status: number | undefined;

  constructor(status: number | undefined, cause: unknown) {
    super(status === undefined ? 'the mail server cannot be reached' : `the mail server answered ${status}`, { cause });
    this.status = status;
  }
}

export interface Mailer {
  /**
   * Sends a message once. It is neither queued nor repeated: whoever sends keeps it until this returns, and repeats it with the
   * same key. The mail server may have accepted it although this throws, so a message can arrive twice.
   * @param signal gives up
   * @throws MailFailure after about a minute without an answer
   */
  send(mail: Mail, signal?: AbortSignal): Promise<void>;
  close(): void;
}

/** Slow servers and large attachments take seconds, silent ones would hold a delivery. */
const timeouts = { dnsTimeout: 10_000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };
const maxConnections = 4;

/** Opens the mail server of SMTP_URL; undefined without that setting. */
export function openMailer({ SMTP_URL: url, MAIL_FROM: from }: Pick<Config, 'SMTP_URL' | 'MAIL_FROM'>) {
  return url === undefined || from === undefined ? undefined : createMailer(url, from);
}

function createMailer(url: string, from: string): Mailer {
  // A message that is queued again by the transport could arrive twice without anybody asking for it.
  const pool = { url, pool: true as const, maxConnections, maxRequeues: 0, ...timeouts };
  // Whoever can replace a certificate can also hide STARTTLS: verifying it protects only where TLS is required.
  const isVerified = url.startsWith('smtps:') || new URL(url).searchParams.get('requireTLS') === 'true';
  const tls = { rejectUnauthorized: isVerified };
  // Texts of a message must never name files or addresses to be fetched.
  const transport = createTransport({ ...pool, tls, disableFileAccess: true, disableUrlAccess: true });
  const domain = /@([A-Za-z0-9.-]+)>?$/.exec(from)?.[1] ?? 'localhost';
  return {
    async send({ to, subject, text, html, key, attachments = [] }, signal) {
      try {
        await transport.sendMail({
          ...{ from, subject, text, ...(html !== undefined && { html }) },
          to: { name: '', address: to },
          messageId: `<${key}@${domain}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
          attachments: [...attachments],
          ...(signal && { signal }),
        });
      } catch (error) {
        const status: unknown = Object(error).responseCode;
        throw new MailFailure(typeof status === 'number' ? status : undefined, error);
      }
    },
    close: () => transport.close(),
  };
}
