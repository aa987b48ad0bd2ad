import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '@odograph/runtime/config';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** A script of this folder in a child process, controlled by messages. */
export interface ChildScript {
  /** Sends a message and resolves with the next one received. */
  ask<Answer>(message: object): Promise<Answer>;
  stop(): Promise<void>;
}

/** Answer of every child script to `{ kind: 'usage' }`. */
export interface ProcessUsage {
  cpuSeconds: number;
  residentBytes: number;
}

async function nextMessage<Answer>(child: ChildProcess, name: string): Promise<Answer> {
  const ended = new AbortController();
  try {
    return await Promise.race([
      once(child, 'message', { signal: ended.signal }).then(([message]) => message as Answer),
      once(child, 'exit', { signal: ended.signal }).then(([code]): never => {
        throw new Error(`${name} exited with ${code}`);
      }),
    ]);
  } finally {
    ended.abort();
  }
}

/** Starts a script of this folder and resolves when it reports that it is ready. */
export async function startScript(file: URL, settings: object): Promise<ChildScript> {
  const name = basename(file.pathname);
  const child = spawn(process.execPath, ['scripts/run.mjs', fileURLToPath(file), JSON.stringify(settings)], {
    cwd: root,
    env: childEnvironment({}),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await nextMessage(child, name);
  return {
    ask(message) {
      const answer = nextMessage(child, name);
      child.send(message);
      return answer as Promise<never>;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

/** Runs in the child: answers each message with the result of its handler, and exits when the parent disconnects. */
export function serveParent(handlers: Readonly<Record<string, (message: never) => unknown>>): void {
  const usage = (): ProcessUsage => {
    const { user, system } = process.cpuUsage();
    return { cpuSeconds: (user + system) / 1e6, residentBytes: process.memoryUsage.rss() };
  };
  process.on('message', (message: { kind: string }) => {
    const handler = message.kind === 'usage' ? usage : handlers[message.kind];
    void Promise.resolve(handler?.(message as never)).then((answer) => process.send?.(answer ?? {}));
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ ready: true });
}

/** Reads the settings passed by the parent. */
export function readSettings<Settings>(): Settings {
  return JSON.parse(process.argv[2] ?? '{}') as Settings;
}
