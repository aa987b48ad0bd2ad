/** A call of /v1/device on the n-th device and the n-th vehicle of a test. */
export interface Step {
  verb: 'post' | 'put' | 'delete';
  device: number;
  vehicle: number;
}

/** A period whose ends are the numbers of the steps that made them; null is without bound. */
export interface ModelPeriod {
  device: number;
  vehicle: number;
  from: number | null;
  until: number | null;
}

function expectedFailure(step: Step, current: ModelPeriod | undefined, occupant: ModelPeriod | undefined) {
  if (step.verb === 'delete') return undefined;
  if (step.verb === 'post' && current) return 'DEVICE_ALREADY_LINKED';
  return occupant && occupant !== current ? 'VEHICLE_ALREADY_LINKED' : undefined;
}

/** The link rules in their simplest form: changes `history` as a step should, and returns the failure it should have. */
export function applyStep(history: ModelPeriod[], step: Step, moment: number): string | undefined {
  const current = history.find(({ device, until }) => device === step.device && until === null);
  const occupant = history.find(({ vehicle, until }) => vehicle === step.vehicle && until === null);
  const failure = expectedFailure(step, current, occupant);
  const stays = step.verb === 'put' && current !== undefined && current === occupant;
  if (failure !== undefined || stays) return failure;
  const fresh = !history.some(({ device }) => device === step.device);
  const past = history.filter(({ vehicle }) => vehicle === step.vehicle);
  const from = fresh ? (past.at(-1)?.until ?? null) : moment;
  if (current) current.until = moment;
  if (step.verb !== 'delete') history.push({ device: step.device, vehicle: step.vehicle, from, until: null });
  return undefined;
}

/**
 * Periods with their moments replaced by the order of those moments: equal moments (adjacent periods) stay equal, and
 * the model's steps can be compared with the database's clock.
 */
export function byOrder<Moment extends number | string>(
  periods: readonly { who: string; from: Moment | null; until: Moment | null }[],
): string[] {
  const moments = periods.flatMap(({ from, until }) => [from, until]).filter((moment) => moment !== null);
  const ordered = [...new Set(moments)].sort((a, b) => (a < b ? -1 : 1));
  const rank = (moment: Moment | null) => (moment === null ? 'unbounded' : ordered.indexOf(moment));
  return periods.map(({ who, from, until }) => `${who} ${rank(from)} ${rank(until)}`).sort();
}
