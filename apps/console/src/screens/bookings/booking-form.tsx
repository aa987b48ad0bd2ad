import { type Signal, useSignal } from '@preact/signals';
import { type Booking, loadBookings } from '../../api/bookings.ts';
import { answerOf, api, CallFailure } from '../../api/client.ts';
import { Dialog } from '../../parts/forms/dialog.tsx';
import { Field, Form, SelectField } from '../../parts/forms/fields.tsx';
import { FormEnd, useSave } from '../../parts/forms/use-save.tsx';
import { type NamedVehicle, VehicleChoice } from '../../parts/forms/vehicle-picker.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { assign } from '../../signals.ts';
import { fromLocalInput, noteClockChange, toLocalInput } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { faultOf, otherFaultOf } from './booking-data.ts';

interface Draft {
  readonly vehicles: readonly NamedVehicle[];
  readonly type: 'BOOKING' | 'FREE_FLOATING';
  readonly driver: string;
  readonly from: string;
  readonly until: string;
}

const hourMs = 3_600_000;

/** A new booking begins with the next full hour, or on the day that the calendar shows. */
function newDraft(vehicles: readonly NamedVehicle[], earliest: number): Draft {
  const from = Math.ceil(Math.max(Date.now(), earliest) / hourMs) * hourMs;
  return {
    ...{ vehicles, type: 'BOOKING', driver: '' },
    ...{ from: toLocalInput(from), until: toLocalInput(from + 2 * hourMs) },
  };
}

const draftOf = ({ vehicleId, plate, type, userId, from, until }: Booking): Draft => ({
  ...{ vehicles: [{ id: vehicleId, plate }], type, driver: userId },
  ...{ from: toLocalInput(from), until: toLocalInput(until) },
});

interface MomentOptions {
  readonly label: string;
  readonly value: string;
  /** The stored time of the booking that the form edits; undefined for a new one. */
  readonly original: string | undefined;
  readonly error: string | undefined;
  readonly hint?: string | undefined;
  readonly isRequired?: boolean;
  readonly onValue: (value: string) => void;
}

function Moment({ label, value, original, error, hint, isRequired = true, onValue }: MomentOptions) {
  return (
    <Field label={label} error={error} hint={noteClockChange(value, original) ?? hint}>
      {(input) => (
        <input
          {...input}
          class="input"
          type="datetime-local"
          required={isRequired}
          value={value}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface BookingFormOptions {
  readonly appId: string;
  /** The booking to change; undefined for a new one. */
  readonly booking: Booking | undefined;
  /** The vehicle of the calendar, for a new booking. */
  readonly vehicles: readonly NamedVehicle[];
  /** A new booking does not begin before this time, UNIX milliseconds. */
  readonly earliest: number;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Loads the booking as it is now; another person may have moved it by up to half a year. */
async function loadBooking(appId: string, { bookingId, vehicleId, from }: Booking): Promise<Booking | undefined> {
  const daysLater = (days: number) => new Date(Date.parse(from) + days * 24 * hourMs).toISOString();
  const { bookings } = await loadBookings(
    { from: daysLater(-180), until: daysLater(180), vehicleId },
    headerFor(appId),
  );
  return bookings.find((one) => one.bookingId === bookingId);
}

async function create(appId: string, { vehicles, type, driver, from, until }: Draft): Promise<unknown> {
  const [vehicle] = vehicles;
  if (!vehicle) throw new CallFailure('UNKNOWN_VEHICLE', texts.value.noVehicleChosen);
  const end = type === 'BOOKING' || until !== '' ? fromLocalInput(until) : undefined;
  const body = {
    ...{ from: fromLocalInput(from) ?? '', type },
    ...(end !== undefined && { until: end }),
    ...(driver !== '' && { driver }),
  };
  const path = { id: vehicle.id };
  return answerOf(api.POST('/v1/vehicle/{id}/booking', { params: { path, header: headerFor(appId) }, body }));
}

/** Sends only the times that differ from the current booking: the start of a running booking cannot be set again. */
function change(appId: string, booking: Booking, { from, until }: Draft): Promise<unknown> {
  const body = {
    ...(from !== toLocalInput(booking.from) && { from: fromLocalInput(from) ?? '' }),
    ...(until !== toLocalInput(booking.until) && { until: fromLocalInput(until) ?? '' }),
  };
  const path = { id: booking.bookingId };
  return answerOf(api.PUT('/v1/booking/{id}', { params: { path, header: headerFor(appId) }, body }));
}

function NewFields({ appId, draft, failure }: { appId: string; draft: Signal<Draft>; failure: Failure }) {
  const { bookings: text } = texts.value;
  const set = (changed: Partial<Draft>) => assign(draft, { ...draft.value, ...changed });
  const { vehicles, type, driver } = draft.value;
  return (
    <>
      <VehicleChoice
        label={text.vehicle}
        appId={appId === '' ? undefined : appId}
        chosen={vehicles}
        isSingle
        error={faultOf(failure, 'vehicle')}
        onChange={(chosen) => set({ vehicles: chosen })}
      />
      <SelectField
        label={text.type}
        value={type}
        options={[
          ['BOOKING', text.types.BOOKING],
          ['FREE_FLOATING', text.types.FREE_FLOATING],
        ]}
        onChange={(chosen) => set({ type: chosen === 'FREE_FLOATING' ? 'FREE_FLOATING' : 'BOOKING' })}
      />
      <Field label={text.driver} hint={text.driverHint} error={faultOf(failure, 'driver')}>
        {(input) => (
          <input
            {...input}
            class="input"
            autocomplete="off"
            maxLength={256}
            value={driver}
            onInput={({ currentTarget }) => set({ driver: currentTarget.value })}
          />
        )}
      </Field>
    </>
  );
}

type Failure = ReturnType<typeof useSave>['failure'];

/** Creates a booking, or changes the times of one. */
export function BookingForm({ appId, booking, vehicles, earliest, onClose, onDone }: BookingFormOptions) {
  const { bookings: text } = texts.value;
  const draft = useSignal<Draft>(booking ? draftOf(booking) : newDraft(vehicles, earliest));
  const saving = useSave(booking, ({ from, until, state }) => JSON.stringify([from, until, state]));
  const { failure } = saving;
  const { from, until, type } = draft.value;
  // The platform does not remove the end of a booking.
  const canBeOpenEnded = type === 'FREE_FLOATING' && booking?.until === undefined;
  const set = (changed: Partial<Draft>) => assign(draft, { ...draft.value, ...changed });
  const save = () => {
    if (booking) {
      const work = (current: Booking) => change(appId, current, draft.value);
      saving.runUnlessChanged(() => loadBooking(appId, booking), work, onDone);
    } else saving.run(() => create(appId, draft.value), onDone);
  };
  return (
    <Dialog title={booking ? text.changeTitle(booking.plate) : text.newTitle} onClose={onClose}>
      <Form class="form" onSubmit={save}>
        {!booking && <NewFields appId={appId} draft={draft} failure={failure} />}
        <Moment
          label={text.from}
          value={from}
          original={booking?.from}
          error={faultOf(failure, 'from')}
          onValue={(value) => set({ from: value })}
        />
        <Moment
          label={text.until}
          value={until}
          original={booking?.until}
          error={faultOf(failure, 'until')}
          hint={canBeOpenEnded ? text.untilHint : undefined}
          isRequired={!canBeOpenEnded}
          onValue={(value) => set({ until: value })}
        />
        <FormEnd
          failure={otherFaultOf(failure)}
          saving={saving}
          describe={(one) => ({
            [text.from]: toLocalInput(one.from),
            [text.until]: toLocalInput(one.until),
            [text.state]: text.states[one.state],
          })}
          onTheirs={(theirs) => assign(draft, draftOf(theirs))}
          onClose={onClose}
        />
      </Form>
    </Dialog>
  );
}
