import { type Signal, useSignal } from '@preact/signals';
import type { Booking } from '../../api/bookings.ts';
import { answerOf, api } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { Confirm, Dialog } from '../../parts/forms/dialog.tsx';
import { GroupField } from '../../parts/forms/group-field.tsx';
import { type NamedVehicle, nameVehicles, VehicleChoice } from '../../parts/forms/vehicle-picker.tsx';
import { changeQuery, headerFor } from '../../parts/layout/application-choice.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { addDays } from '../../parts/time/days.ts';
import { preferences } from '../../preferences.ts';
import { address } from '../../router.ts';
import { mayChange } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatClock, formatFull, formatShortDay, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { type CalendarRow, endOf, loadCalendar } from './booking-data.ts';
import { BookingForm } from './booking-form.tsx';
import { type CalendarDays, daysFrom, type Interval, shareOf, spans, tickTimes } from './calendar-days.ts';

/** Labels a time above the calendar: the hour of one day, else the day. */
const labelOf = (time: number, { count }: CalendarDays): string =>
  count === 1 ? formatClock(time) : formatShortDay(time);

/** Returns the start and the end of a booking as shares of an interval, each between 0 and 1. */
function sharesOf(booking: Booking, interval: Interval): { start: number; end: number } {
  const within = (time: number) => Math.min(1, Math.max(0, shareOf(time, interval)));
  const end = endOf(booking);
  return { start: within(Date.parse(booking.from)), end: end === undefined ? 1 : within(Date.parse(end)) };
}

/** Says a booking in words, for its tip and for a screen reader. */
function describe(booking: Booking): string {
  const { bookings: text } = texts.value;
  const { plate, userId, from, state, type } = booking;
  const end = endOf(booking);
  const times = `${formatTime(from)} – ${end === undefined ? text.open : formatTime(end)}`;
  return `${plate}, ${userId}, ${times}, ${text.types[type]}, ${text.states[state]}`;
}

function Bar({ booking, interval, onLook }: { booking: Booking; interval: Interval; onLook: () => void }) {
  const { start, end } = sharesOf(booking, interval);
  const style = { left: `${start * 100}%`, width: `max(${(end - start) * 100}%, 6px)` };
  const words = describe(booking);
  return (
    <button
      type="button"
      class={`booking ${booking.state.toLowerCase()}`}
      style={style}
      title={words}
      aria-label={words}
      onClick={onLook}
    >
      {booking.userId}
    </button>
  );
}

interface GridOptions {
  readonly rows: readonly CalendarRow[];
  readonly days: CalendarDays;
  readonly onLook: (booking: Booking) => void;
  readonly onNew: (vehicle: NamedVehicle) => void;
}

/** The calendar: a row for each vehicle, a bar for each booking. */
function CalendarGrid({ rows, days, onLook, onNew }: GridOptions) {
  const { bookings: text } = texts.value;
  const now = shareOf(Date.now(), days);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
    <section class="calendar card" aria-label={text.calendar} tabIndex={0}>
      <div class="calendar-inner">
        <div class="calendar-row calendar-head" aria-hidden="true">
          <span />
          <div class="calendar-line">
            {tickTimes(days, preferences.value.zone).map((time) => (
              <span key={time} class="calendar-tick" style={{ left: `${shareOf(time, days) * 100}%` }}>
                {labelOf(time, days)}
              </span>
            ))}
          </div>
        </div>
        <ul>
          {rows.map(({ id, plate, bookings }) => (
            <li key={id} class="calendar-row">
              <a href={`/vehicles/${id}`}>{plate}</a>
              {mayChange() && (
                <Button kind="plain icon" aria-label={text.createFor(plate)} onClick={() => onNew({ id, plate })}>
                  +
                </Button>
              )}
              <div class="calendar-line">
                {now > 0 && now < 1 && <span class="calendar-now" style={{ left: `${now * 100}%` }} />}
                {bookings.map((booking) => (
                  <Bar key={booking.bookingId} booking={booking} interval={days} onLook={() => onLook(booking)} />
                ))}
              </div>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

/** The task of the open dialog; `new` has no booking yet, but may have a vehicle. */
type Task =
  | { readonly kind: 'new'; readonly vehicle?: NamedVehicle }
  | { readonly kind: 'look' | 'change' | 'stop' | 'delete'; readonly booking: Booking };

function Toolbar({ days: { firstDay, count }, onNew }: { days: CalendarDays; onNew: () => void }) {
  const { bookings: text } = texts.value;
  const move = (spanCount: number) => changeQuery({ from: addDays(firstDay, spanCount * count) });
  return (
    <div class="calendar-tools">
      <div class="row">
        <Button aria-label={text.earlier} onClick={() => move(-1)}>
          ‹
        </Button>
        <Button onClick={() => changeQuery({ from: '' })}>{text.today}</Button>
        <Button aria-label={text.later} onClick={() => move(1)}>
          ›
        </Button>
      </div>
      <label class="field">
        <span>{text.firstDay}</span>
        <input
          class="input"
          type="date"
          value={firstDay}
          onChange={({ currentTarget }) => changeQuery({ from: currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>{text.span}</span>
        <select
          class="input"
          value={String(count)}
          onChange={({ currentTarget }) => changeQuery({ days: currentTarget.value })}
        >
          {spans.map((one) => (
            <option key={one} value={String(one)}>
              {text.days(one)}
            </option>
          ))}
        </select>
      </label>
      {mayChange() && (
        <Button kind="primary" onClick={onNew}>
          {text.create}
        </Button>
      )}
    </div>
  );
}

interface DetailOptions {
  readonly booking: Booking;
  readonly onTask: (kind: 'change' | 'stop' | 'delete') => void;
  readonly onClose: () => void;
}

function Detail({ booking, onTask, onClose }: DetailOptions) {
  const { bookings: text, change, remove } = texts.value;
  const { plate, vehicleId, userId, from, type, state } = booking;
  const end = endOf(booking);
  const rows = [
    [text.driver, userId],
    [text.type, text.types[type]],
    [text.state, text.states[state]],
    [text.from, formatFull(from)],
    [text.until, end === undefined ? text.open : formatFull(end)],
  ] as const;
  const isOver = state === 'ENDED' || state === 'STOPPED';
  return (
    <Dialog title={plate} onClose={onClose}>
      <dl class="booking-facts">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div class="row">
        <a class="button" href={`/vehicles/${vehicleId}`}>
          {text.openVehicle}
        </a>
        {mayChange() && !isOver && <Button onClick={() => onTask('change')}>{change}</Button>}
        {mayChange() && state === 'ACTIVE' && (
          <Button kind="danger" onClick={() => onTask('stop')}>
            {text.stop}
          </Button>
        )}
        {mayChange() && state === 'PLANNED' && (
          <Button kind="danger" onClick={() => onTask('delete')}>
            {remove}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

interface EndingOptions {
  readonly appId: string;
  readonly booking: Booking;
  readonly isStop: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Asks before a booking is stopped or deleted. */
function Ending({ appId, booking, isStop, onClose, onDone }: EndingOptions) {
  const { bookings: text, remove } = texts.value;
  const params = { path: { id: booking.bookingId }, header: headerFor(appId) };
  return (
    <Confirm
      title={isStop ? text.stopTitle(booking.plate) : text.deleteTitle(booking.plate)}
      action={isStop ? text.stop : remove}
      isDangerous
      onClose={onClose}
      onConfirm={async () => {
        if (isStop) await answerOf(api.POST('/v1/booking/{id}/stop', { params }));
        else await answerOf(api.DELETE('/v1/booking/{id}', { params }));
        onDone();
      }}
    >
      <p>{describe(booking)}</p>
      <p class="muted">{isStop ? text.stopText : text.deleteText}</p>
    </Confirm>
  );
}

interface TaskOptions {
  readonly appId: string;
  readonly task: Signal<Task | undefined>;
  readonly vehicles: readonly NamedVehicle[];
  readonly earliest: number;
  readonly onDone: () => void;
}

/** The dialog of what a person does with a booking. */
function TaskDialog({ appId, task, vehicles, earliest, onDone }: TaskOptions) {
  const now = task.value;
  const onClose = () => assign(task, undefined);
  if (now?.kind === 'look') {
    const { booking } = now;
    return <Detail booking={booking} onClose={onClose} onTask={(kind) => assign(task, { kind, booking })} />;
  }
  if (now?.kind === 'stop' || now?.kind === 'delete') {
    const isStop = now.kind === 'stop';
    return <Ending appId={appId} booking={now.booking} isStop={isStop} onClose={onClose} onDone={onDone} />;
  }
  const booking = now?.kind === 'change' ? now.booking : undefined;
  const vehicle = now?.kind === 'new' ? now.vehicle : undefined;
  return (
    <BookingForm
      appId={appId}
      booking={booking}
      vehicles={vehicle === undefined ? vehicles : [vehicle]}
      earliest={earliest}
      onClose={onClose}
      onDone={onDone}
    />
  );
}

/** The bookings of an interval, a row for each vehicle, booked or free. */
export function BookingCalendar({ appId }: { appId: string }) {
  const { bookings: text } = texts.value;
  const { query } = address.value;
  const span = spans.find((one) => String(one) === query.get('days')) ?? 7;
  const days = daysFrom(query.get('from'), span, preferences.value.zone);
  const vehicleId = query.get('vehicle') ?? undefined;
  const group = query.get('group') ?? '';
  const { data, failure, reload } = useLoad(async () => {
    const named = vehicleId === undefined ? [] : await nameVehicles(appId === '' ? undefined : appId, [vehicleId]);
    return { chosen: named, ...(await loadCalendar(appId, days, named[0], group)) };
  }, [appId, days.from, days.until, vehicleId, group]);
  const task = useSignal<Task | undefined>(undefined);
  const done = () => {
    task.value = undefined;
    reload();
  };
  const now = task.value;
  const vehicles = data?.chosen ?? [];
  return (
    <>
      <Toolbar days={days} onNew={() => assign(task, { kind: 'new' })} />
      <div class="calendar-tools">
        <VehicleChoice
          label={text.onlyVehicle}
          appId={appId === '' ? undefined : appId}
          chosen={vehicles}
          isSingle
          onChange={([one]) => changeQuery({ vehicle: one?.id ?? '' })}
        />
        <GroupField
          appId={appId}
          value={group}
          none={texts.value.groups.all}
          onChange={(id) => changeQuery({ group: id })}
        />
      </div>
      {failure && data && <p class="notice late">{failure}</p>}
      {data?.completeUntil && <p class="notice late">{text.incomplete(formatTime(data.completeUntil))}</p>}
      {!data && (failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />)}
      {data && data.rows.length === 0 && <Empty title={text.noVehicles} />}
      {data && data.rows.length > 0 && (
        <CalendarGrid
          rows={data.rows}
          days={days}
          onLook={(booking) => assign(task, { kind: 'look', booking })}
          onNew={(vehicle) => assign(task, { kind: 'new', vehicle })}
        />
      )}
      {data && data.hiddenCount > 0 && <p class="muted">{text.hidden(data.hiddenCount)}</p>}
      {now && <TaskDialog appId={appId} task={task} vehicles={vehicles} earliest={days.from} onDone={done} />}
    </>
  );
}
