import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { devNull } from 'node:os';
import { createInterface } from 'node:readline';

const program = 'psql';

export interface Psql {
  /** Copies the rows of a query out as text. @returns the milliseconds measured by psql */
  copyMs(query: string): Promise<number>;
  close(): Promise<void>;
}

/** Starts a session of psql; undefined when it is not on the PATH. */
export async function openPsql(url: string): Promise<Psql | undefined> {
  const child = spawn(program, ['-X', '-q', '-v', 'ON_ERROR_STOP=1', url], { stdio: ['pipe', 'pipe', 'inherit'] });
  const found = await Promise.race([once(child, 'spawn').then(() => true), once(child, 'error').then(() => false)]);
  if (!found) return undefined;
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  child.stdin.write('\\timing on\n');
  return {
    async copyMs(query) {
      const answered = once(lines, 'line') as Promise<[string]>;
      child.stdin.write(`\\copy (${query.replaceAll(/\s+/g, ' ').trim()}) to '${devNull}'\n`);
      const [line] = await Promise.race([answered, exited.then(() => Promise.reject(new Error('psql exited')))]);
      return Number(/^Time: ([\d.]+) ms/.exec(line)?.[1]);
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}
