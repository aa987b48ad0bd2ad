import type { Config } from '@odograph/runtime/config';
import { createTransport } from 'nodemailer';

/** A message to one recipient. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  /** Idempotency key of letters, digits and `-`, from which the Message-ID is made; mail clients merge retries by it. */
  readonly key: string;
  readonly attachments?: readonly MailAttachment[];
}

export interface MailAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly content: Buffer;
}

/** Thrown if the mail server did not accept a message. The error text contains neither server nor address. */
export class MailFailure extends Error {
  /** The SMTP reply code; undefined without a reply. */
  readonly status: number | undefined;

  constructor(status: number | undefined, cause: unknown) {
    super(status === undefined ? 'the mail server cannot be reached' : `the mail server answered ${status}`, { cause });
    this.status = status;
  }
}

export interface Mailer {
  /**
   * Makes one delivery attempt. Messages are not queued: the caller retries with the same key. A failed attempt may still
   * have been accepted, so delivery is at least once.
   * @param signal aborts the attempt
   * @throws MailFailure, after at most about a minute if the server does not respond
   */
  send(mail: Mail, signal?: AbortSignal): Promise<void>;
  close(): void;
}

/** Large attachments take seconds on a slow server; an unresponsive server must not block a delivery. */
const timeouts = { dnsTimeout: 10_000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 };
const maxConnections = 4;

/** Creates a mailer for SMTP_URL; undefined if it is not set. */
export function openMailer({ SMTP_URL: url, MAIL_FROM: from }: Pick<Config, 'SMTP_URL' | 'MAIL_FROM'>) {
  return url === undefined || from === undefined ? undefined : createMailer(url, from);
}

function createMailer(url: string, from: string): Mailer {
  // Callers retry; requeueing in the transport would duplicate messages.
  const pool = { url, pool: true as const, maxConnections, maxRequeues: 0, ...timeouts };
  // With opportunistic STARTTLS, an attacker can strip TLS, so verifying the certificate helps only if TLS is required.
  const isVerified = url.startsWith('smtps:') || new URL(url).searchParams.get('requireTLS') === 'true';
  const tls = { rejectUnauthorized: isVerified };
  // Message content must not make nodemailer read files or fetch URLs.
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
