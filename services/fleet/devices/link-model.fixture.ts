/** A call of /v1/device; device and vehicle are indexes. */
export interface Step {
  verb: 'post' | 'put' | 'delete';
  device: number;
  vehicle: number;
}

/** A link whose times are step numbers; null is unbounded. */
export interface ModelLink {
  device: number;
  vehicle: number;
  from: number | null;
  until: number | null;
}

function expectedFailure(step: Step, current: ModelLink | undefined, occupant: ModelLink | undefined) {
  if (step.verb === 'delete') return undefined;
  if (step.verb === 'post' && current) return 'DEVICE_ALREADY_LINKED';
  return occupant && occupant !== current ? 'VEHICLE_ALREADY_LINKED' : undefined;
}

/** The link rules in their simplest form: applies a step to `history` and returns the expected failure. */
export function applyStep(history: ModelLink[], step: Step, time: number): string | undefined {
  const current = history.find(({ device, until }) => device === step.device && until === null);
  const occupant = history.find(({ vehicle, until }) => vehicle === step.vehicle && until === null);
  const failure = expectedFailure(step, current, occupant);
  const stays = step.verb === 'put' && current !== undefined && current === occupant;
  if (failure !== undefined || stays) return failure;
  const fresh = !history.some(({ device }) => device === step.device);
  const past = history.filter(({ vehicle }) => vehicle === step.vehicle);
  const from = fresh ? (past.at(-1)?.until ?? null) : time;
  if (current) current.until = time;
  if (step.verb !== 'delete') history.push({ device: step.device, vehicle: step.vehicle, from, until: null });
  return undefined;
}

/**
 * Replaces the times of links by their ranks. Step numbers and database times become comparable, and adjacent links keep
 * equal times.
 */
export function rankTimes<Time extends number | string>(
  links: readonly { link: string; from: Time | null; until: Time | null }[],
): string[] {
  const times = links.flatMap(({ from, until }) => [from, until]).filter((time) => time !== null);
  const ordered = [...new Set(times)].sort((a, b) => (a < b ? -1 : 1));
  const rank = (time: Time | null) => (time === null ? 'unbounded' : ordered.indexOf(time));
  return links.map(({ link, from, until }) => `${link} ${rank(from)} ${rank(until)}`).sort();
}
