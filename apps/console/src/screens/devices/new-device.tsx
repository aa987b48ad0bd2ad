import { useSignal } from '@preact/signals';
import { answerOf, api, CallFailure } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { Form, readFields, SelectField, TextField } from '../../parts/forms/fields.tsx';
import { readVehicle, VehicleField } from '../../parts/forms/vehicle-picker.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Heading, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { operatorApplications } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { type DeviceModel, type DeviceSecrets, loadAddresses, loadModels } from './device-data.ts';
import { Settings, SourceSettings, TeltonikaSettings } from './settings.tsx';

const idPattern = '\\s*[A-Za-z0-9._:\\-]+\\s*';
const imeiPattern = '\\s*\\d{15}\\s*';

/** Creates the device of the form. @throws CallFailure */
async function create(form: HTMLFormElement): Promise<DeviceSecrets> {
  const { id = '', model = '', appId = '', vehicle = '', bluetoothName = '', bluetoothPin = '' } = readFields(form);
  const vehicleId = await readVehicle(vehicle, appId || undefined);
  if (vehicle.trim() !== '' && vehicleId === undefined) {
    throw new CallFailure('UNKNOWN_VEHICLE', texts.value.noSuchVehicle);
  }
  const body = {
    ...{ id: id.trim(), model, bluetoothName, bluetoothPin },
    ...(appId !== '' && { appId }),
    ...(vehicleId !== undefined && { vehicleId }),
  };
  return answerOf(api.POST('/v1/x/admin/devices', { body }));
}

/** A device that was created just now. */
interface Created {
  readonly secrets: DeviceSecrets;
  readonly protocol: DeviceModel['protocol'];
}

interface FormOptions {
  readonly models: readonly DeviceModel[];
  readonly onCreated: (created: Created) => void;
}

function DeviceForm({ models, onCreated }: FormOptions) {
  const { devices: text } = texts.value;
  const { applications, isLimited } = operatorApplications();
  const appId = useSignal(isLimited ? (applications[0]?.appId ?? '') : '');
  const model = useSignal((models.find(({ name }) => name === 'generic') ?? models[0])?.name ?? '');
  const protocol = models.find(({ name }) => name === model.value)?.protocol ?? 'mqtt';
  const isTeltonika = protocol === 'teltonika';
  const action = useAction();
  const submit = (form: HTMLFormElement) => {
    void action.run(async () => onCreated({ secrets: await create(form), protocol }));
  };
  return (
    <Form class="card form" onSubmit={submit}>
      <TextField
        label={text.columns.deviceId}
        name="id"
        hint={isTeltonika ? text.imeiRule : text.idRule}
        required
        maxLength={64}
        pattern={isTeltonika ? imeiPattern : idPattern}
      />
      <SelectField
        label={text.columns.model}
        value={model.value}
        options={models.map(({ name }) => [name, name])}
        onChange={(one) => assign(model, one)}
        name="model"
      />
      <SelectField
        label={text.columns.appId}
        value={appId.value}
        options={[
          ...(isLimited ? [] : [['', text.noApplication] as const]),
          ...applications.map((one) => [one.appId, one.name] as const),
        ]}
        hint={appId.value === '' ? text.noApplicationText : undefined}
        onChange={(one) => assign(appId, one)}
        name="appId"
      />
      <VehicleField label={text.vehicle} name="vehicle" appId={appId.value || undefined} hint={text.vehicleText} />
      <details>
        <summary>{text.bluetooth}</summary>
        <TextField label={text.bluetoothName} name="bluetoothName" maxLength={64} />
        <TextField label={text.bluetoothPin} name="bluetoothPin" maxLength={64} />
      </details>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
      <div class="row">
        <Button type="submit" kind="primary" disabled={action.isRunning}>
          {text.create}
        </Button>
      </div>
    </Form>
  );
}

/** Provisions a device in one form, and shows its settings with the secret once. */
export function NewDevicePage() {
  const { devices: text } = texts.value;
  const created = useSignal<Created | undefined>(undefined);
  const { data, failure, reload } = useLoad(() => Promise.all([loadModels(), loadAddresses()]), []);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const [models, addresses] = data;
  const { secrets, protocol } = created.value ?? {};
  return (
    <div class="page devices-form">
      <a href="/devices">{text.back}</a>
      {secrets ? (
        <>
          <Heading text={text.created(secrets.deviceId)} />
          {protocol === 'mqtt' && <Settings secrets={secrets} urls={addresses.urls} />}
          {protocol === 'teltonika' && (
            <TeltonikaSettings title={text.settings} secrets={secrets} urls={addresses.teltonika} />
          )}
          {protocol === 'source' && <SourceSettings secrets={secrets} />}
          <div class="row">
            <Button onClick={() => assign(created, undefined)}>{text.addAnother}</Button>
            <a class="button primary" href={`/devices/${encodeURIComponent(secrets.deviceId)}`}>
              {text.open}
            </a>
          </div>
        </>
      ) : (
        <>
          <Heading text={text.add} />
          <DeviceForm models={models} onCreated={(device) => assign(created, device)} />
        </>
      )}
    </div>
  );
}
