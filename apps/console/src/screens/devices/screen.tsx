import './devices.css';
import { Empty } from '../../parts/layout/placeholders.tsx';
import { address } from '../../router.ts';
import { hasRole } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { DevicePage } from './device-page.tsx';
import { DeviceImport } from './import-page.tsx';
import { NewDevicePage } from './new-device.tsx';
import { DevicesTable } from './table.tsx';

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
