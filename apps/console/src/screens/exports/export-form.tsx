import { type Signal, useSignal } from '@preact/signals';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { Form, Labelled, readFields, SelectField } from '../../parts/forms/fields.tsx';
import { GroupField } from '../../parts/forms/group-field.tsx';
import { readVehicle, VehicleField } from '../../parts/forms/vehicle-picker.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { preferences } from '../../preferences.ts';
import { address } from '../../router.ts';
import { assign } from '../../signals.ts';
import { formatMonth, fromLocalInput, toLocalInput } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

type Job = Schema<'ExportJob'>;

const formats: Readonly<Record<Job['of'], readonly Job['format'][]>> = {
  readings: ['csv', 'ndjson', 'parquet', 'gpx', 'geojson'],
  trips: ['csv', 'ndjson', 'parquet'],
  gaps: ['csv', 'ndjson', 'parquet'],
};
const subjects = ['readings', 'trips', 'gaps'] as const;
const shownMonths = 12;
const ownInterval = 'own';

/** Returns the start of the month `ago` months before this one, in the person's time zone. */
function monthStart(ago: number): Date {
  const now = new Date();
  return preferences.value.zone === 'utc'
    ? new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago))
    : new Date(now.getFullYear(), now.getMonth() - ago);
}

function monthOptions(): (readonly [value: string, text: string])[] {
  return Array.from({ length: shownMonths }, (_, ago) => [String(ago), formatMonth(monthStart(ago).getTime())]);
}

/** @throws CallFailure */
function readInterval(month: string, fields: Readonly<Record<string, string>>): { from: string; until: string } {
  if (month !== ownInterval) {
    const ago = Number(month);
    return { from: monthStart(ago).toISOString(), until: monthStart(ago - 1).toISOString() };
  }
  const [from, until] = [fields['from'], fields['until']].map((text) => fromLocalInput(text ?? ''));
  if (from === undefined || until === undefined) throw new CallFailure('INVALID_DATE', texts.value.exports.interval);
  return { from, until };
}

function OwnInterval() {
  const { exports: text } = texts.value;
  const bounds = [
    ['from', text.from, toLocalInput(monthStart(0).toISOString())],
    ['until', text.until, toLocalInput(Date.now())],
  ] as const;
  return bounds.map(([name, label, value]) => (
    <Labelled key={name} label={label}>
      <input class="input" type="datetime-local" name={name} defaultValue={value} required />
    </Labelled>
  ));
}

interface Choices {
  readonly of: Job['of'];
  readonly format: Job['format'];
  /** Months before this one, or `own` for the interval of the fields. */
  readonly month: string;
  /** The id of a group; empty for all vehicles. */
  readonly group: string;
}

/** @throws CallFailure */
async function createExport(form: HTMLFormElement, appId: string, choices: Choices): Promise<void> {
  const { of, format, month, group } = choices;
  const fields = readFields(form);
  const written = fields['vehicle'] ?? '';
  const vehicleId = await readVehicle(written, appId || undefined);
  if (vehicleId === undefined && written.trim() !== '') {
    throw new CallFailure('UNKNOWN_VEHICLE', texts.value.noSuchVehicle);
  }
  const body = {
    ...{ of, format, ...readInterval(month, fields), address: of === 'trips' },
    ...(vehicleId !== undefined && { vehicleId }),
    ...(group !== '' && { group }),
  };
  await answerOf(api.POST('/v1/x/exports', { params: { header: headerFor(appId) }, body }));
}

/** The fields for the subject and the format of an export. */
function ContentFields({ of, format }: { of: Signal<Job['of']>; format: Signal<Job['format']> }) {
  const { exports: text } = texts.value;
  const chooseSubject = (chosen: string) => {
    of.value = subjects.find((one) => one === chosen) ?? 'readings';
    if (!formats[of.value].includes(format.value)) format.value = 'csv';
  };
  return (
    <>
      <SelectField
        label={text.of}
        value={of.value}
        options={subjects.map((one) => [one, text.subjects[one]])}
        onChange={chooseSubject}
      />
      <SelectField
        label={text.format}
        value={format.value}
        options={formats[of.value].map((one) => [one, text.formats[one]])}
        onChange={(chosen) => assign(format, formats.readings.find((one) => one === chosen) ?? 'csv')}
      />
    </>
  );
}

/** Creates an export; proposes the vehicle in the address, and last month. */
export function ExportForm({ appId, onCreated }: { appId: string; onCreated: () => void }) {
  const { exports: text } = texts.value;
  const action = useAction();
  const of = useSignal<Job['of']>('readings');
  const format = useSignal<Job['format']>('csv');
  const month = useSignal('1');
  const group = useSignal('');
  const submit = (form: HTMLFormElement) => {
    void action.run(async () => {
      await createExport(form, appId, {
        ...{ of: of.value, format: format.value, month: month.value, group: group.value },
      });
      onCreated();
    });
  };
  return (
    <Form class="card form export-form" onSubmit={submit}>
      <h2>{text.create}</h2>
      <VehicleField
        label={text.vehicle}
        name="vehicle"
        appId={appId || undefined}
        hint={text.vehicleHint}
        initial={address.value.query.get('vehicle') ?? ''}
      />
      <GroupField
        appId={appId}
        value={group.value}
        none={texts.value.groups.all}
        onChange={(chosen) => assign(group, chosen)}
      />
      <ContentFields of={of} format={format} />
      <SelectField
        label={text.interval}
        value={month.value}
        options={[...monthOptions(), [ownInterval, text.ownInterval]]}
        onChange={(chosen) => assign(month, chosen)}
      />
      {month.value === ownInterval && <OwnInterval />}
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
      <div class="row start">
        <Button type="submit" kind="primary" disabled={action.isRunning}>
          {text.createAction}
        </Button>
      </div>
    </Form>
  );
}
