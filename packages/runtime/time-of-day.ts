/**
 * Creates a clock that returns the latest plausible present in UNIX milliseconds: setting the wall clock back while the
 * process runs does not put the present into the future. For rejecting future times; measure durations with
 * `performance.now()`.
 */
export function createLatestNow(): () => number {
  const startedAtMs = Date.now() - performance.now();
  return () => Math.max(Date.now(), startedAtMs + performance.now());
}
