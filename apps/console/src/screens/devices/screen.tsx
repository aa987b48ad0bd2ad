import './devices.css';
import { useSignal } from '@preact/signals';
import { useLoad } from '../../api/use-load.ts';
import { DeviceForm } from '../../parts/devices/device-form.tsx';
import { type CreatedDevice, loadAddresses, loadModels, NewSettings } from '../../parts/devices/settings.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, Heading, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { address } from '../../router.ts';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { DevicePage } from './device-page.tsx';
import { DeviceImport } from './import-page.tsx';
import { DevicesTable } from './table.tsx';

/** Provisions a device in one form, and shows its settings with the secret once. */
function NewDevicePage() {
  const { devices: text } = texts.value;
  const created = useSignal<CreatedDevice | undefined>(undefined);
  const { data, failure, reload } = useLoad(() => Promise.all([loadModels(), loadAddresses()]), []);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const [models, addresses] = data;
  return (
    <div class="page form-page">
      <a href="/devices">{text.back}</a>
      {created.value ? (
        <>
          <Heading text={text.created(created.value.secrets.deviceId)} />
          <NewSettings created={created.value} addresses={addresses} />
          <div class="row">
            <Button onClick={() => assign(created, undefined)}>{text.addAnother}</Button>
            <a class="button primary" href={`/devices/${encodeURIComponent(created.value.secrets.deviceId)}`}>
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

/** Devices: the table of all, one of them, and new ones, one by one or from a file. */
export function DevicesScreen() {
  const { path, query } = address.value;
  const [, , id = ''] = path.split('/');
  if (id !== '') return <DevicePage key={id} id={decodeURIComponent(id)} />;
  const add = query.get('add');
  if (add === null) return <DevicesTable />;
  if (!hasRole('operator')) return <Empty title={texts.value.readOnly} />;
  return add === 'file' ? <DeviceImport /> : <NewDevicePage />;
}
