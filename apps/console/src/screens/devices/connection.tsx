import { formatFull, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import type { TableDevice } from './device-data.ts';

/** Whether a device is connected, or since when it is not; one behind another system never is. */
export function Connection({ device }: { device: Pick<TableDevice, 'connected' | 'disconnectedSince' | 'protocol'> }) {
  const { devices: text } = texts.value;
  const { connected, disconnectedSince, protocol } = device;
  if (protocol === 'source' && !connected && !disconnectedSince) {
    return <span class="muted">{text.throughSource}</span>;
  }
  const state = connected ? 'connected' : 'disconnected';
  return (
    <span class={`device-connection ${state}`} title={disconnectedSince && formatFull(disconnectedSince)}>
      <span class="dot" aria-hidden="true" />
      {connected && text.connected}
      {!connected && (disconnectedSince ? text.disconnected(formatTime(disconnectedSince)) : text.neverConnected)}
    </span>
  );
}
