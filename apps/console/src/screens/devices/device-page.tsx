import { useEffect } from 'preact/hooks';
import { answerOf, api } from '../../api/client.ts';
import { type Loaded, useLoad } from '../../api/use-load.ts';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { hasRole, isOperator } from '../../session.ts';
import { formatAgo, formatDay, formatFull, formatNumber, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { Connection } from './connection.tsx';
import { Credentials } from './credentials.tsx';
import type { DeviceDetail } from './device-data.ts';
import { Ending } from './ending.tsx';
import { Links } from './links.tsx';

const refreshMs = 5000;

function Facts({ device }: { device: DeviceDetail }) {
  const { devices: text } = texts.value;
  const { lastUpload, createdAt, quarantined } = device;
  return (
    <section class="card facts">
      <dl>
        <dt>{text.columns.model}</dt>
        <dd>{device.model}</dd>
        <dt>{text.columns.appId}</dt>
        <dd>{device.appId || text.noApplication}</dd>
        <dt>{text.columns.lastUpload}</dt>
        <dd title={lastUpload && formatFull(lastUpload)}>{lastUpload ? formatAgo(lastUpload) : text.noUpload}</dd>
        <dt>{text.columns.createdAt}</dt>
        <dd title={formatFull(createdAt)}>{formatDay(createdAt)}</dd>
        <dt>{text.columns.quarantined}</dt>
        <dd>
          {quarantined > 0 && isOperator() ? (
            <a href="/pipeline">{formatNumber(quarantined)}</a>
          ) : (
            formatNumber(quarantined)
          )}
        </dd>
      </dl>
    </section>
  );
}

function Uploads({ uploads }: { uploads: DeviceDetail['uploads'] }) {
  const { devices: text } = texts.value;
  return (
    <section class="card">
      <h2>{text.uploads}</h2>
      {uploads.length === 0 ? (
        <p class="muted">{text.noUploads}</p>
      ) : (
        <div class="table-frame scrolls">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{text.received}</th>
                <th scope="col" class="number">
                  {text.readings}
                </th>
                <th scope="col">{text.measured}</th>
              </tr>
            </thead>
            <tbody>
              {uploads.map(({ receivedAt, readings, firstTime, lastTime }) => (
                <tr key={receivedAt}>
                  <td title={formatFull(receivedAt)}>{formatTime(receivedAt)}</td>
                  <td class="number">{formatNumber(readings)}</td>
                  <td>
                    {firstTime === lastTime
                      ? formatTime(lastTime)
                      : `${formatTime(firstTime)} – ${formatTime(lastTime)}`}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function useDevice(id: string): Loaded<DeviceDetail> {
  const loaded = useLoad(() => answerOf(api.GET('/v1/x/devices/{id}', { params: { path: { id } } })), [id]);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') loaded.reload();
    }, refreshMs);
    return () => clearInterval(timer);
  }, [id]);
  return loaded;
}

/** One device: connection, links in time, credentials, last uploads. */
export function DevicePage({ id }: { id: string }) {
  const { devices: text } = texts.value;
  const { data: device, failure, code, reload } = useDevice(id);
  if (!device) {
    if (code === 'UNKNOWN_DEVICE') return <Empty title={text.unknown}>{<p>{text.unknownText}</p>}</Empty>;
    return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  }
  const mayChange = hasRole('operator');
  return (
    <div class="page device-page">
      <a href="/devices">{text.back}</a>
      <header class="device-title">
        <h1>{device.deviceId}</h1>
        <Connection device={device} />
      </header>
      {failure && <p class="notice late">{failure}</p>}
      <div class="device-columns">
        <div>
          <Facts device={device} />
          {isOperator() && <Credentials device={device} mayChange={mayChange} onChanged={reload} />}
          {mayChange && <Ending device={device} />}
        </div>
        <div>
          <Links device={device} mayChange={mayChange} onChanged={reload} />
          <Uploads uploads={device.uploads} />
        </div>
      </div>
    </div>
  );
}
