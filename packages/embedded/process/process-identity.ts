import { readFileSync } from 'node:fs';

/** A process that another process with the same number is not taken for. */
export interface ProcessIdentity {
  pid: number;
  /** When it started, as the system counts; empty where the system does not tell. */
  startedAt: string;
}

/** The identity of a running process; `startedAt` is known on Linux only. */
export function identifyProcess(pid: number): ProcessIdentity {
  return { pid, startedAt: readStartTime(pid) };
}

/** Whether this very process still runs. */
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

/** proc(5), /proc/pid/stat: field 3 is the state, field 22 the start time. The name before them may hold anything. */
function readProcess(pid: number): { state: string; startedAt: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startedAt: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}
