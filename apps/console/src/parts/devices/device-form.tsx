import { useSignal } from '@preact/signals';
import { answerOf, api, CallFailure } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { operatorApplications } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { Form, readFields, SelectField, TextField } from '../forms/fields.tsx';
import { readVehicle, VehicleField } from '../forms/vehicle-picker.tsx';
import { Button } from '../layout/button.tsx';
import type { CreatedDevice, DeviceModel, DeviceSecrets } from './settings.tsx';

const idPattern = '\\s*[A-Za-z0-9._:\\-]+\\s*';
const imeiPattern = '\\s*\\d{15}\\s*';

/** Creates the device of the form. @param linked the vehicle, if the form does not ask for it. @throws CallFailure */
async function create(form: HTMLFormElement, linked: string | undefined): Promise<DeviceSecrets> {
  const { id = '', model = '', appId = '', vehicle = '', bluetoothName = '', bluetoothPin = '' } = readFields(form);
  const vehicleId = linked ?? (await readVehicle(vehicle, appId || undefined));
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

interface FormOptions {
  readonly models: readonly DeviceModel[];
  /** The vehicle that it is linked to, which decides its application; without it, the form asks for both. */
  readonly vehicleId?: string;
  readonly onCreated: (created: CreatedDevice) => void;
}

/** Chooses the application of a device, and the vehicle that it is linked to. */
function Owner() {
  const { devices: text } = texts.value;
  const { applications, isLimited } = operatorApplications();
  const appId = useSignal(isLimited ? (applications[0]?.appId ?? '') : '');
  return (
    <>
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
    </>
  );
}

/** Creates a device. */
export function DeviceForm({ models, vehicleId, onCreated }: FormOptions) {
  const { devices: text } = texts.value;
  const model = useSignal((models.find(({ name }) => name === 'generic') ?? models[0])?.name ?? '');
  const protocol = models.find(({ name }) => name === model.value)?.protocol ?? 'mqtt';
  const isTeltonika = protocol === 'teltonika';
  const action = useAction();
  const submit = (form: HTMLFormElement) => {
    void action.run(async () => onCreated({ secrets: await create(form, vehicleId), model: model.value, protocol }));
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
      {vehicleId === undefined && <Owner />}
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
