import './guide.css';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { Fleet } from '../../live/fleet.ts';
import { DeviceForm } from '../../parts/devices/device-form.tsx';
import { type CreatedDevice, loadAddresses, loadModels, NewSettings } from '../../parts/devices/settings.tsx';
import { Form, readFields, TextField } from '../../parts/forms/fields.tsx';
import { loadVehicle, type OperatedVehicle, VehicleForm } from '../../parts/forms/vehicle-form.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { ShownOnce } from '../../parts/layout/copy.tsx';
import { Empty, Heading, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { navigate } from '../../router.ts';
import { hasRole, isUnlimited, operatorApplications, readSession } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatAgo } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

const steps = ['application', 'vehicle', 'device', 'reading'] as const;
type Step = (typeof steps)[number] | 'done';

interface FrameOptions {
  readonly step: Step;
  readonly children: ComponentChildren;
}

function Frame({ step, children }: FrameOptions) {
  const { guide: text } = texts.value;
  const current = step === 'done' ? steps.length : steps.indexOf(step);
  return (
    <div class="page form-page">
      <a href="/vehicles">{text.back}</a>
      <Heading text={text.title} />
      <ol class="guide-steps" aria-label={text.steps.label}>
        {steps.map((one, index) => (
          <li key={one} class={index < current ? 'done' : ''} aria-current={index === current ? 'step' : undefined}>
            <span class="guide-number">{index < current ? '✓' : index + 1}</span>
            {text.steps[one]}
          </li>
        ))}
      </ol>
      {children}
    </div>
  );
}

/** Creates the first application, and shows its appKey once before the guide continues. */
function ApplicationStep() {
  const { guide: text, application } = texts.value;
  const created = useSignal<Schema<'ApplicationKey'> | undefined>(undefined);
  const action = useAction();
  if (!hasRole('administrator') || !isUnlimited()) {
    return <Empty title={application.none}>{<p>{text.noApplication}</p>}</Empty>;
  }
  if (created.value) {
    const { appId, appKey } = created.value;
    const { accounts } = texts.value;
    return (
      <>
        <p>{text.keyText}</p>
        <ShownOnce
          entries={[
            [accounts.appId, appId],
            [accounts.appKey, appKey],
          ]}
        />
        <div class="row">
          <Button kind="primary" onClick={() => void readSession()}>
            {text.next}
          </Button>
        </div>
      </>
    );
  }
  const submit = (form: HTMLFormElement) => {
    const { name = '' } = readFields(form);
    void action.run(async () => {
      created.value = await answerOf(api.POST('/v1/x/admin/applications', { body: { name } }));
    });
  };
  return (
    <Form class="card form" aria-label={text.steps.application} onSubmit={submit}>
      <p class="muted">{text.applicationText}</p>
      <TextField label={text.applicationName} name="name" required maxLength={256} />
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
      <div class="row">
        <Button type="submit" kind="primary" disabled={action.isRunning}>
          {text.next}
        </Button>
      </div>
    </Form>
  );
}

interface DeviceStepOptions {
  readonly vehicle: OperatedVehicle;
  readonly onCreated: (created: CreatedDevice) => void;
}

function DeviceStep({ vehicle: { id, plate }, onCreated }: DeviceStepOptions) {
  const { guide: text } = texts.value;
  const { data, failure, reload } = useLoad(loadModels, []);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <>
      <p>{text.deviceText(plate)}</p>
      <DeviceForm models={data} vehicleId={id} onCreated={onCreated} />
      <div class="row">
        <a class="button plain" href={`/vehicles/${id}`}>
          {text.withoutDevice}
        </a>
      </div>
    </>
  );
}

const refreshMs = 3000;

/** Says why no reading has come yet, as far as the platform knows. */
function DeviceState({ deviceId }: { deviceId: string }) {
  const { guide: text } = texts.value;
  const params = { path: { id: deviceId } };
  const { data: device, reload } = useLoad(() => answerOf(api.GET('/v1/x/devices/{id}', { params })), [deviceId]);
  useEffect(() => {
    const timer = setInterval(reload, refreshMs);
    return () => clearInterval(timer);
  }, [deviceId]);
  if (!device) return null;
  return (
    <p class="muted">
      {device.connected ? text.connected : text.notConnected}
      {device.quarantined > 0 && ` ${text.quarantined(device.quarantined)}`}{' '}
      <a href={`/devices/${encodeURIComponent(deviceId)}`}>{text.openDevice}</a>
    </p>
  );
}

function Done({ id, plate, lastContact }: { id: string; plate: string; lastContact: string }) {
  const { guide: text } = texts.value;
  return (
    <>
      <h2>{text.done(plate)}</h2>
      <p class="notice good" role="status">
        {text.received(formatAgo(lastContact))}
      </p>
      <div class="row">
        <a class="button" href="/vehicles?add=one">
          {text.another}
        </a>
        <a class="button" href={`/vehicles/${id}`}>
          {text.open}
        </a>
        <a class="button primary" href={`/map?vehicle=${id}`}>
          {text.openMap}
        </a>
      </div>
    </>
  );
}

interface ReadingStepOptions {
  readonly vehicle: OperatedVehicle;
  readonly deviceId: string;
  /** The device with its secret; undefined if it was created before the page was loaded. */
  readonly created: CreatedDevice | undefined;
}

/** Waits for the first reading. The settings stay visible: the reading may come from a terminal instead. */
function ReadingStep({ vehicle: { id, plate }, deviceId, created }: ReadingStepOptions) {
  const { guide: text } = texts.value;
  const fleet = useMemo(() => new Fleet({ only: id }), [id]);
  useEffect(() => () => fleet.stop(), [fleet]);
  fleet.watch();
  const { data: addresses } = useLoad(loadAddresses, []);
  const lastContact = fleet.vehicles.get(id)?.lastContact;
  return (
    <Frame step={lastContact === undefined ? 'reading' : 'done'}>
      <section class="card form">
        {lastContact === undefined ? (
          <>
            <p class="working" role="status">
              <span class="spinner" />
              {text.waiting}
            </p>
            <DeviceState deviceId={deviceId} />
          </>
        ) : (
          <Done id={id} plate={plate} lastContact={lastContact} />
        )}
      </section>
      {created && addresses && <NewSettings created={created} addresses={addresses} />}
    </Frame>
  );
}

/** The steps for an existing vehicle. */
function VehicleSteps({ vehicle }: { vehicle: OperatedVehicle }) {
  const created = useSignal<CreatedDevice | undefined>(undefined);
  const deviceId = created.value?.secrets.deviceId ?? vehicle.deviceId;
  if (deviceId !== null) return <ReadingStep vehicle={vehicle} deviceId={deviceId} created={created.value} />;
  return (
    <Frame step="device">
      <DeviceStep vehicle={vehicle} onCreated={(device) => assign(created, device)} />
    </Frame>
  );
}

function LoadedVehicle({ id }: { id: string }) {
  const { data, failure, reload } = useLoad(() => loadVehicle(id), [id]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return <VehicleSteps vehicle={data} />;
}

/**
 * Leads to a vehicle that reports: application, vehicle, device, first reading.
 * @param vehicleId the vehicle to continue with; undefined for a new one
 */
export function Guide({ vehicleId }: { vehicleId: string | undefined }) {
  const { guide: text } = texts.value;
  if (vehicleId !== undefined) return <LoadedVehicle id={vehicleId} />;
  if (operatorApplications().applications.length === 0) {
    return <Frame step="application">{<ApplicationStep />}</Frame>;
  }
  return (
    <Frame step="vehicle">
      <VehicleForm
        action={text.next}
        onDone={({ id }) => navigate(`/vehicles?add=one&vehicle=${id}`, { replace: true })}
        onClose={() => navigate('/vehicles')}
      />
    </Frame>
  );
}
