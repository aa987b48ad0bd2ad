import './mileage-entry.css';
import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { limits } from '../../api/limits.ts';
import { useLoad } from '../../api/use-load.ts';
import { actingFor } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatFull, formatTime } from '../../texts/format.ts';
import { type ReportTexts, useReportTexts } from '../../texts/report-texts.ts';
import { texts } from '../../texts/texts.ts';
import { Dialog } from '../forms/dialog.tsx';
import { errorBeyond, errorOf, Form, LabelledChoice, TextInput } from '../forms/fields.tsx';
import { FormEnd, useSave } from '../forms/use-save.tsx';
import { LockIcon } from '../layout/icons.tsx';
import { LoadFailure, Loading } from '../layout/placeholders.tsx';

type Entry = Schema<'MileageEntry'>;

/** A trip of the mileage log. */
export interface MileageTrip {
  /** Empty for a user, who has one application. */
  readonly appId: string;
  readonly vehicleId: string;
  readonly tripId: string;
  readonly plate: string;
  /** Start of the trip, formatted for display. */
  readonly time: string;
}

const path = '/v1/x/vehicle/{id}/trips/{tripId}/mileage';
const facts = limits[path];
/** The fields of an entry in the order of the form; of a private trip, the log shows only the distance. */
const fields = ['purpose', 'partner', 'startPlace', 'endPlace', 'driver', 'note'] as const;
const privateFields = ['driver', 'note'] as const;
type Draft = Readonly<Record<(typeof fields)[number], string>> & Pick<Entry, 'class'>;

const draftOf = (entry: Partial<Entry> | undefined): Draft => ({
  ...{ class: entry?.class ?? 'business', purpose: entry?.purpose ?? '', partner: entry?.partner ?? '' },
  ...{ startPlace: entry?.startPlace ?? '', endPlace: entry?.endPlace ?? '' },
  ...{ driver: entry?.driver ?? '', note: entry?.note ?? '' },
});
const fieldsOf = (chosen: Entry['class']) => (chosen === 'private' ? privateFields : fields);
const paramsOf = ({ appId, vehicleId: id, tripId }: MileageTrip) => ({
  ...{ path: { id, tripId }, header: actingFor(appId) },
});

/** The entries of a trip, the valid one first; none of them can be changed. */
function Entries({ entries, names }: { entries: readonly Entry[]; names: ReportTexts }) {
  const { mileage: text } = texts.value;
  if (entries.length === 0) return null;
  return (
    <>
      <ul class="mileage-entries" aria-label={text.entries}>
        {entries.toReversed().map(({ version, class: use, purpose, enteredBy, enteredAt, late }, index) => (
          <li key={version} class={index === 0 ? '' : 'muted'}>
            <LockIcon size={14} />
            <span>
              <strong>{[names.words[use], purpose].filter(Boolean).join(' · ')}</strong>
              <small title={formatFull(enteredAt)}>
                {[
                  index === 0 ? text.valid : text.replaced,
                  text.entered(enteredBy, formatTime(enteredAt)),
                  ...(late ? [names.columns.late] : []),
                ].join(' · ')}
              </small>
            </span>
          </li>
        ))}
      </ul>
      <p class="muted">{text.lockedText}</p>
    </>
  );
}

interface EntryFormOptions {
  readonly trip: MileageTrip;
  readonly names: ReportTexts;
  /** The valid entry. */
  readonly entry: Entry | undefined;
  readonly onEntered: () => void;
  readonly onClose: () => void;
}

function EntryForm({ trip, names, entry, onEntered, onClose }: EntryFormOptions) {
  const { mileage: text } = texts.value;
  const draft = useSignal(draftOf(entry));
  const saving = useSave<Entry>(undefined);
  const shown = fieldsOf(draft.value.class);
  const enter = () => {
    const written = shown.flatMap((field) => {
      const value = draft.value[field].trim();
      return value === '' ? [] : [[field, value] as const];
    });
    const body = { class: draft.value.class, ...Object.fromEntries(written) };
    saving.run(
      () => answerOf(api.POST(path, { params: paramsOf(trip), body })),
      () => {
        onEntered();
        onClose();
      },
    );
  };
  return (
    <Form class="form" onSubmit={enter}>
      <LabelledChoice
        label={names.columns.class}
        name="class"
        chosen={draft.value.class}
        options={facts.class.enum.map((one) => [one, names.words[one]] as const)}
        onChoose={(chosen) => assign(draft, { ...draft.value, class: chosen })}
      />
      {shown.map((field) => (
        <TextInput
          key={field}
          label={names.columns[field]}
          value={draft.value[field]}
          error={errorOf(saving.failure, field)}
          maxLength={facts[field].maxLength}
          isOptional={field !== 'purpose' || draft.value.class !== 'business'}
          onValue={(value) => assign(draft, { ...draft.value, [field]: value })}
        />
      ))}
      <FormEnd
        saving={saving}
        describe={() => ({})}
        failure={errorBeyond(saving.failure, shown)}
        action={entry ? text.replace : text.enter}
        onTheirs={() => undefined}
        onClose={onClose}
      />
    </Form>
  );
}

/** Enters a trip into the mileage log, or replaces its entry. */
export function MileageEntry({ trip, onEntered, onClose }: Omit<EntryFormOptions, 'names' | 'entry'>) {
  const { mileage: text } = texts.value;
  const names = useReportTexts();
  const load = async () => (await answerOf(api.GET(path, { params: paramsOf(trip) }))).entries;
  const { data, failure, reload } = useLoad(load, [trip.tripId]);
  const fault = failure ?? names.failure;
  const content = () => {
    if (!data || !names.data) return fault ? <LoadFailure message={fault} retry={reload} /> : <Loading />;
    const part = { trip, names: names.data, onEntered, onClose };
    return (
      <>
        <Entries entries={data} names={names.data} />
        <EntryForm {...part} entry={data.at(-1)} />
      </>
    );
  };
  return (
    <Dialog title={text.title(trip.plate, trip.time)} onClose={onClose}>
      {content()}
    </Dialog>
  );
}
