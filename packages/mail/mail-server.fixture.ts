import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** A message that the server accepted. */
export interface ReceivedMail {
  readonly recipients: readonly string[];
  /** Headers and body, as sent. */
  readonly source: string;
}

/** An SMTP server on the loopback interface. */
export interface TestMailServer {
  readonly url: string;
  readonly port: number;
  readonly received: ReceivedMail[];
  /** Recipients that the server rejects with 550. */
  readonly refused: Set<string>;
  /** The number of RCPT commands received. */
  attempts: number;
  close(): Promise<void>;
}

/** Starts an SMTP server. @param port 0 for any free port */
export async function startMailServer(port = 0): Promise<TestMailServer> {
  const received: ReceivedMail[] = [];
  const refused = new Set<string>();
  const server = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'], closeTimeout: 100 },
    onRcptTo({ address }, _session, done) {
      started.attempts += 1;
      done(refused.has(address) ? Object.assign(new Error('no such user'), { responseCode: 550 }) : null);
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const recipients = session.envelope.rcptTo.map(({ address }) => address);
        received.push({ recipients, source: Buffer.concat(chunks).toString() });
        done();
      });
    },
  });
  // Clients may disconnect in the middle of a session.
  server.on('error', () => undefined);
  server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  const { port: own } = server.server.address() as AddressInfo;
  const started: TestMailServer = {
    ...{ url: `smtp://127.0.0.1:${own}`, port: own, received, refused, attempts: 0 },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return started;
}
