import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Form, readFields, TextField } from '../../parts/forms/fields.tsx';
import { readVehicle, VehicleField } from '../../parts/forms/vehicle-picker.tsx';
import { ApplicationField } from '../../parts/layout/application-choice.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { SaveButton } from '../../parts/layout/copy.tsx';
import { operatorApplications } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatNumber } from '../../texts/format.ts';
import { lookUp, texts } from '../../texts/texts.ts';

interface DataOptions<Found> {
  readonly title: string;
  /** The field `subject` of the form. */
  readonly field: (appId: string) => ComponentChildren;
  readonly find: (subject: string, appId: string) => Promise<Found>;
  /** Renders the search result; `onErased` replaces it with a message. */
  readonly found: (found: Found, onErased: (message: string) => void) => ComponentChildren;
}

/** Finds a person or a vehicle of an application, to export or erase its data. */
function DataOf<Found>({ title, field, find, found }: DataOptions<Found>) {
  const { accounts: text } = texts.value;
  const appId = useSignal(operatorApplications().applications[0]?.appId ?? '');
  const subject = useSignal<Found | undefined>(undefined);
  const erased = useSignal<string | undefined>(undefined);
  const action = useAction();
  const submit = (form: HTMLFormElement) => {
    subject.value = undefined;
    erased.value = undefined;
    const { subject: written = '' } = readFields(form);
    void action.run(async () => assign(subject, await find(written, appId.value)));
  };
  return (
    <section class="card form">
      <h2>{title}</h2>
      <Form class="grant-form" onSubmit={submit}>
        {field(appId.value)}
        <ApplicationField label={text.application} value={appId.value} onChange={(chosen) => assign(appId, chosen)} />
        <Button type="submit" disabled={action.isRunning}>
          {text.find}
        </Button>
      </Form>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
      <div role="status">{erased.value && <p class="notice good">{erased.value}</p>}</div>
      {subject.value &&
        found(subject.value, (message) => {
          subject.value = undefined;
          erased.value = message;
        })}
    </section>
  );
}

/** A person whose data was exported. */
interface FoundPerson {
  readonly id: string;
  readonly appId: string;
  readonly data: Schema<'PersonExport'>;
}

function PersonFound({ person, onErased }: { person: FoundPerson; onErased: (pseudonym: string) => void }) {
  const { accounts: text } = texts.value;
  const { id, appId, data } = person;
  const kinds = Object.entries(data).filter(([, rows]) => rows.length > 0);
  const erase = async () => {
    const call = api.POST('/v1/x/admin/persons/{id}/erase', { params: { path: { id } }, body: { appId } });
    onErased((await answerOf(call)).pseudonym);
  };
  return (
    <section aria-label={id} class="found">
      <h3>{id}</h3>
      <dl>
        {kinds.map(([kind, rows]) => [
          <dt key={kind}>{lookUp(text.kinds, kind) ?? kind}</dt>,
          <dd key={`${kind} count`}>{formatNumber(rows.length)}</dd>,
        ])}
      </dl>
      <div class="row start">
        <SaveButton
          name={`person-${id.replaceAll(/[^\w.-]/g, '_')}.json`}
          type="application/json"
          content={JSON.stringify(data, undefined, 2)}
          title={text.download}
        />
        <ActionButton action={text.erase} title={text.eraseTitle(id)} isDangerous typed={id} onConfirm={erase}>
          {text.erasePersonText}
        </ActionButton>
      </div>
    </section>
  );
}

function PersonData() {
  const { accounts: text } = texts.value;
  const find = async (written: string, appId: string) => {
    const id = written.trim();
    const params = { path: { id }, query: { appId } };
    return { id, appId, data: await answerOf(api.GET('/v1/x/admin/persons/{id}', { params })) };
  };
  return (
    <DataOf<FoundPerson>
      title={text.person}
      field={() => <TextField label={text.personId} name="subject" required maxLength={256} />}
      find={find}
      found={(person, onErased) => (
        <PersonFound person={person} onErased={(pseudonym) => onErased(text.personErased(pseudonym))} />
      )}
    />
  );
}

/** A vehicle that a person chose. */
interface FoundVehicle {
  readonly id: string;
  readonly plate: string;
  readonly appId: string;
}

function VehicleFound({ vehicle, onErased }: { vehicle: FoundVehicle; onErased: () => void }) {
  const { accounts: text } = texts.value;
  const { id, plate, appId } = vehicle;
  const erase = async () => {
    await answerOf(api.DELETE('/v1/vehicle', { params: { header: { 'X-Application': appId } }, body: { id } }));
    onErased();
  };
  return (
    <section aria-label={plate} class="found">
      <h3>
        {plate} · {id}
      </h3>
      <div class="row start">
        <a class="button" href={`/v1/x/admin/vehicles/${id}/export`} download={`vehicle-${id}.ndjson`} data-load>
          {text.download}
        </a>
        <ActionButton action={text.erase} title={text.eraseTitle(plate)} isDangerous typed={plate} onConfirm={erase}>
          {text.eraseVehicleText}
        </ActionButton>
      </div>
    </section>
  );
}

async function findVehicle(written: string, appId: string): Promise<FoundVehicle> {
  const id = await readVehicle(written, appId);
  if (id === undefined) throw new CallFailure('UNKNOWN_VEHICLE', texts.value.noSuchVehicle);
  const params = { path: { id }, header: { 'X-Application': appId } };
  const { plate } = await answerOf(api.GET('/v1/vehicle/{id}', { params }));
  return { id, plate, appId };
}

function VehicleData() {
  const { accounts: text } = texts.value;
  return (
    <DataOf<FoundVehicle>
      title={text.vehicle}
      field={(appId) => <VehicleField label={text.plateOf} name="subject" appId={appId || undefined} required />}
      find={findVehicle}
      found={(vehicle, onErased) => (
        <VehicleFound vehicle={vehicle} onErased={() => onErased(text.vehicleErased(vehicle.plate))} />
      )}
    />
  );
}

/** Exports and erases what is stored about a person or a vehicle. */
export function PersonalData() {
  return (
    <>
      <PersonData />
      <VehicleData />
    </>
  );
}
