/**
 * The latest that it can be now, in ms since 1970: a clock on the wall that is set back while the process runs does not make
 * the present the future. For what is refused because it lies ahead; durations are measured with `performance.now()`.
 * @returns asks for it
 */
export function createLatestNow(): () => number {
  const startedAtMs = Date.now() - performance.now();
  return () => Math.max(Date.now(), startedAtMs + performance.now());
}
