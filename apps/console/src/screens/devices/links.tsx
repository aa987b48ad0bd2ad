import { useSignal } from '@preact/signals';
import { answerOf, api, CallFailure } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { Confirm } from '../../parts/forms/dialog.tsx';
import { Form, readFields } from '../../parts/forms/fields.tsx';
import { readVehicle, VehicleField } from '../../parts/forms/vehicle-picker.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { assign } from '../../signals.ts';
import { formatFull, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import type { DeviceDetail } from './device-data.ts';

interface LinksOptions {
  readonly device: DeviceDetail;
  readonly mayChange: boolean;
  readonly onChanged: () => void;
}

/** Links a device to a vehicle, or moves it from the vehicle that the page shows. @throws CallFailure */
async function link({ deviceId: id, vehicleId: fromVehicleId }: DeviceDetail, vehicleId: string): Promise<void> {
  const params = { path: { id } };
  if (fromVehicleId === '') await answerOf(api.POST('/v1/x/admin/devices/{id}/link', { params, body: { vehicleId } }));
  else await answerOf(api.PUT('/v1/x/admin/devices/{id}/link', { params, body: { vehicleId, fromVehicleId } }));
}

/** Explains a change that another person was faster with. */
function explain(error: unknown): unknown {
  const isLate = error instanceof CallFailure && ['CHANGED_MEANWHILE', 'DEVICE_ALREADY_LINKED'].includes(error.code);
  return isLate ? new CallFailure(error.code, texts.value.devices.linkChanged) : error;
}

function LinkForm({ device, onChanged }: LinksOptions) {
  const { devices: text } = texts.value;
  const action = useAction();
  const submit = (form: HTMLFormElement) => {
    void action.run(async () => {
      const vehicleId = await readVehicle(readFields(form)['vehicle'] ?? '', device.appId || undefined);
      if (vehicleId === undefined) throw new CallFailure('UNKNOWN_VEHICLE', texts.value.noSuchVehicle);
      try {
        await link(device, vehicleId);
        form.reset();
      } catch (error) {
        throw explain(error);
      } finally {
        onChanged();
      }
    });
  };
  return (
    <Form class="link-form" onSubmit={submit}>
      <VehicleField
        label={device.vehicleId === '' ? text.linkTo : text.moveTo}
        name="vehicle"
        appId={device.appId || undefined}
        required
      />
      <Button type="submit" disabled={action.isRunning}>
        {device.vehicleId === '' ? text.link : text.move}
      </Button>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </Form>
  );
}

function Unlink({ device, onChanged }: LinksOptions) {
  const { devices: text } = texts.value;
  const isAsking = useSignal(false);
  const unlink = async () => {
    const { deviceId: id, vehicleId } = device;
    try {
      await answerOf(api.DELETE('/v1/x/admin/devices/{id}/link', { params: { path: { id } }, body: { vehicleId } }));
    } catch (error) {
      throw explain(error);
    } finally {
      onChanged();
    }
  };
  return (
    <>
      <Button onClick={() => assign(isAsking, true)}>{text.unlink}</Button>
      {isAsking.value && (
        <Confirm
          title={text.unlinkTitle(device.deviceId, device.plate)}
          action={text.unlink}
          onConfirm={unlink}
          onClose={() => assign(isAsking, false)}
        >
          <p class="muted">{text.unlinkText}</p>
        </Confirm>
      )}
    </>
  );
}

/** The vehicles that a device was linked to and when, with the change of the link. */
export function Links(options: LinksOptions) {
  const { devices: text } = texts.value;
  const { device, mayChange } = options;
  const time = (moment: string | undefined, otherwise: string) =>
    moment === undefined ? otherwise : <span title={formatFull(moment)}>{formatTime(moment)}</span>;
  return (
    <section class="card">
      <h2>{text.links}</h2>
      {device.links.length === 0 ? (
        <p class="muted">{text.noLinks}</p>
      ) : (
        <div class="table-frame scrolls">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{text.vehicle}</th>
                <th scope="col">{text.from}</th>
                <th scope="col">{text.until}</th>
              </tr>
            </thead>
            <tbody>
              {device.links.map(({ vehicleId, plate, from, until }) => (
                <tr key={`${vehicleId} ${from ?? ''}`}>
                  <td>
                    <a href={`/vehicles/${vehicleId}`}>{plate}</a>
                  </td>
                  <td>{time(from, text.fromStart)}</td>
                  <td>{time(until, text.untilNow)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {mayChange && (
        <>
          <LinkForm {...options} />
          {device.vehicleId !== '' && <Unlink {...options} />}
        </>
      )}
    </section>
  );
}
