/** The exit codes of the command line (docs/operating.md, "Command line"). */
export const exitCodes = { done: 0, failed: 1, usage: 2, unreachable: 3 } as const;

/** A command line that cannot be run as it was given; nothing was done. */
export class UsageFailure extends Error {}

/** The platform does not answer. */
export class Unreachable extends Error {}

/** The platform refuses a request. */
export class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Returns the exit code for whatever a command threw. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageFailure) return exitCodes.usage;
  return error instanceof Unreachable ? exitCodes.unreachable : exitCodes.failed;
}
