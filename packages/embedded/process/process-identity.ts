import { readFileSync } from 'node:fs';

/** Identity of a process, distinct from later ones with the same id. */
export interface ProcessIdentity {
  pid: number;
  /** Start time in the kernel's clock ticks; empty where it is not available. */
  startedAt: string;
}

/** Identifies a running process; `startedAt` is available on Linux only. */
export function identifyProcess(pid: number): ProcessIdentity {
  return { pid, startedAt: readStartTime(pid) };
}

/** Whether this process still runs, and its id was not reused. */
export function isRunning({ pid, startedAt }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const now = readProcess(pid);
  if (now === undefined) return startedAt === '';
  return now.state !== 'Z' && now.state !== 'X' && (startedAt === '' || now.startedAt === startedAt);
}

const readStartTime = (pid: number): string => readProcess(pid)?.startedAt ?? '';

/** proc(5), /proc/pid/stat: field 3 is the state, field 22 the start time. The name before them may contain any character. */
function readProcess(pid: number): { state: string; startedAt: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startedAt: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}
