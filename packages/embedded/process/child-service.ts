/** A message of the child to the process that started it. */
export type ChildMessage =
  | { kind: 'ready'; port: number; durable: boolean }
  | { kind: 'failed'; message: string; portTaken: boolean };

/** A message to the child, which also ends as soon as the channel closes. */
export type ParentMessage = { kind: 'stop' };

/** The options of a child process, as JSON in its first argument. */
export interface ChildArguments {
  dataDirectory: string;
  /** 0 for any free port. */
  port: number;
  /** How long a transaction may idle while others wait, ms. */
  idleTransactionTimeoutMs: number;
}

/** A server that runs in a child process. */
export interface ChildService {
  port: number;
  durable: boolean;
  /** Shuts down in order; the process then exits with 0. */
  stop(): Promise<void> | void;
  /** Releases what outlives the process, because the parent has died; the process exits right after. */
  abandon(): void;
}

/**
 * Runs a service in this process until its parent stops it or dies; the channel closes even when the parent is killed.
 * Signals are ignored: a terminal sends them to the parent too, which drains before it stops its children.
 */
export async function runChild(start: (options: ChildArguments) => Promise<ChildService>): Promise<void> {
  let service: ChildService | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.on('disconnect', () => {
    service?.abandon();
    process.exit(0);
  });
  try {
    service = await start(JSON.parse(process.argv[2] ?? '{}') as ChildArguments);
  } catch (error) {
    const failure = error as NodeJS.ErrnoException;
    sendToParent({ kind: 'failed', message: failure.message, portTaken: failure.code === 'EADDRINUSE' }, () =>
      process.exit(1),
    );
    return;
  }
  if (!process.connected) {
    service.abandon();
    process.exit(0);
  }
  const running = service;
  process.on('message', (message: ParentMessage) => {
    if (message.kind === 'stop') void stop(running);
  });
  sendToParent({ kind: 'ready', port: running.port, durable: running.durable });
}

async function stop(service: ChildService): Promise<void> {
  try {
    await service.stop();
    process.exit(0);
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}

function sendToParent(message: ChildMessage, sent: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, sent);
}
