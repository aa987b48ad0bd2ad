/** Times in whole minutes; an end of null is open. */
export interface ModelBooking {
  vehicle: number;
  isFreeFloating: boolean;
  from: number;
  until: number | null;
  isStopped: boolean;
  isDeleted: boolean;
}

/** Everything the rules depend on, in its simplest form. */
export interface Model {
  now: number;
  bookings: ModelBooking[];
  /** Times at which vehicles drove. */
  drives: { vehicle: number; at: number }[];
  unavailable: Set<number>;
}

/** A step; `from` and `until` in minutes from now, `booking` counts backwards from the newest, which is 0. */
export type Step =
  | { kind: 'create'; vehicle: number; isFreeFloating: boolean; from: number; until: number | null }
  | { kind: 'update'; booking: number; from: number | undefined; until: number | undefined }
  | { kind: 'stop'; booking: number }
  | { kind: 'delete'; booking: number }
  | { kind: 'drive' | 'flag'; vehicle: number }
  | { kind: 'wait'; minutes: number };

function isOver(model: Model, { isStopped, until }: ModelBooking): boolean {
  return isStopped || (until !== null && until <= model.now);
}

function isBadInterval(model: Model, { isFreeFloating, from, until }: ModelBooking, start?: number): boolean {
  if (from !== start && from < model.now - 5) return true;
  return until === null ? !isFreeFloating : until <= from || until <= model.now;
}

function isTaken(model: Model, wanted: ModelBooking, self?: ModelBooking): boolean {
  const end = ({ until }: ModelBooking) => until ?? Number.POSITIVE_INFINITY;
  return model.bookings.some(
    (other) =>
      other !== self &&
      !other.isDeleted &&
      other.vehicle === wanted.vehicle &&
      Math.max(other.from, wanted.from) < Math.min(end(other), end(wanted)),
  );
}

function place(model: Model, wanted: ModelBooking, self?: ModelBooking): string | undefined {
  if (isBadInterval(model, wanted, self?.from)) return 'INVALID_INTERVAL';
  if (model.unavailable.has(wanted.vehicle) || isTaken(model, wanted, self)) return 'VEHICLE_NOT_AVAILABLE';
  return undefined;
}

/** The start of the next booking, at which an open-ended one ends; null without one. */
function nextStart(model: Model, { vehicle, from }: ModelBooking): number | null {
  const starts = model.bookings
    .filter((other) => !other.isDeleted && other.vehicle === vehicle && other.until !== other.from)
    .map((other) => other.from)
    .filter((start) => start > Math.max(from, model.now));
  return starts.length === 0 ? null : Math.min(...starts);
}

function create(model: Model, { vehicle, isFreeFloating, from, until }: Extract<Step, { kind: 'create' }>) {
  const times = { from: model.now + from, until: until === null ? null : model.now + until };
  const wanted = { vehicle, isFreeFloating, ...times, isStopped: false, isDeleted: false };
  if (wanted.until === null && isFreeFloating) wanted.until = nextStart(model, wanted);
  const failure = place(model, wanted);
  if (failure === undefined) model.bookings.push(wanted);
  return failure;
}

function update(model: Model, booking: ModelBooking, { from, until }: Extract<Step, { kind: 'update' }>) {
  if (isOver(model, booking)) return 'BOOKING_EXPIRED';
  const wanted = { ...booking };
  if (from !== undefined) wanted.from = model.now + from;
  if (until !== undefined) wanted.until = model.now + until;
  const failure = place(model, wanted, booking);
  if (failure === undefined) Object.assign(booking, wanted);
  return failure;
}

function stop(model: Model, booking: ModelBooking): string | undefined {
  if (booking.isStopped) return undefined;
  if (isOver(model, booking)) return 'BOOKING_EXPIRED';
  Object.assign(booking, { isStopped: true, until: Math.max(booking.from, model.now) });
  return undefined;
}

function remove(model: Model, booking: ModelBooking): string | undefined {
  const { vehicle, isFreeFloating, from } = booking;
  const wasDriven = model.drives.some((drive) => drive.vehicle === vehicle && drive.at >= from);
  const isEarly = isFreeFloating && model.now - from <= 10 && !wasDriven;
  if (isOver(model, booking) || (from <= model.now && !isEarly)) return 'BOOKING_EXPIRED';
  booking.isDeleted = true;
  return undefined;
}

/** Tells whether the booking is in the list of active ones. */
export function isActive(model: Model, booking: ModelBooking): boolean {
  return !booking.isDeleted && !isOver(model, booking) && booking.from <= model.now;
}

/** Applies a step by the rules of bookings in their simplest form. @returns the code of the expected failure */
export function applyStep(model: Model, step: Step): string | undefined {
  if (step.kind === 'create') return create(model, step);
  if (step.kind === 'wait') model.now += step.minutes;
  if (step.kind === 'drive') model.drives.push({ vehicle: step.vehicle, at: model.now });
  if (step.kind === 'flag' && !model.unavailable.delete(step.vehicle)) model.unavailable.add(step.vehicle);
  if (!('booking' in step)) return undefined;
  const booking = model.bookings.at(-1 - step.booking);
  if (!booking || booking.isDeleted) return 'NOT_FOUND';
  if (step.kind === 'update') return update(model, booking, step);
  return step.kind === 'stop' ? stop(model, booking) : remove(model, booking);
}
