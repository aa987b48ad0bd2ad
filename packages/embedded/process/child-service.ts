import type { ChildArguments, ChildMessage, ParentMessage } from './child-messages.ts';

/** What runs in a child process. */
export interface ChildService {
  port: number;
  durable: boolean;
  /** Orderly, before the process ends with 0. */
  stop(): Promise<void> | void;
  /** The parent is gone: immediate, the process ends after it. */
  abandon(): void;
}

/**
 * Runs a service in this process for as long as its parent lives: the channel to the parent closes with the parent, even when that is
 * killed. Signals are left to the parent, which drains before it says stop; a terminal sends them to both.
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
    tellParent({ kind: 'failed', message: failure.message, portTaken: failure.code === 'EADDRINUSE' }, () =>
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
  tellParent({ kind: 'ready', port: running.port, durable: running.durable });
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

function tellParent(message: ChildMessage, sent: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, sent);
}
