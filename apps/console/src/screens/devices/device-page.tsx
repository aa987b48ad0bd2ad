import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { answerOf, api } from '../../api/client.ts';
import { type Loaded, useLoad } from '../../api/use-load.ts';
import { Confirm } from '../../parts/forms/dialog.tsx';
import { CopyButton } from '../../parts/layout/copy.tsx';
import { Empty, Heading, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { navigate } from '../../router.ts';
import { hasRole, isOperator } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatAgo, formatDay, formatFull, formatNumber, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { Credentials } from './credentials.tsx';
import type { DeviceDetail } from './device-data.ts';
import { Links } from './links.tsx';
import { Connection } from './table.tsx';

/** Takes a device from its application, or deletes it. */
function ReleaseOrDelete({ device: { deviceId } }: { device: DeviceDetail }) {
  const { devices: text } = texts.value;
  const asked = useSignal<'release' | 'delete' | undefined>(undefined);
  const claimCode = useSignal<string | undefined>(undefined);
  const params = { path: { id: deviceId } };
  const carryOut = async (question: 'release' | 'delete') => {
    if (question === 'release') {
      claimCode.value = (await answerOf(api.POST('/v1/x/admin/devices/{id}/release', { params }))).claimCode;
    } else {
      await answerOf(api.DELETE('/v1/x/admin/devices/{id}', { params }));
      navigate('/devices');
    }
  };
  const question = asked.value;
  return (
    <section class="card">
      <h2>{text.ending}</h2>
      {claimCode.value && (
        <div class="shown-key">
          <p class="notice late">{text.claimShownOnce}</p>
          <code>{claimCode.value}</code>
          <CopyButton text={claimCode.value} label={text.fields.claimCode} />
        </div>
      )}
      <div class="row start">
        {(['release', 'delete'] as const).map((one) => (
          <button
            key={one}
            type="button"
            class={`button${one === 'delete' ? ' danger' : ''}`}
            onClick={() => assign(asked, one)}
          >
            {text.questions[one].action}
          </button>
        ))}
      </div>
      {question && (
        <Confirm
          title={text.questions[question].title(deviceId)}
          action={text.questions[question].action}
          isDangerous={question === 'delete'}
          {...(question === 'delete' && { typed: deviceId })}
          onConfirm={() => carryOut(question)}
          onClose={() => assign(asked, undefined)}
        >
          <p class="muted">{text.questions[question].text}</p>
        </Confirm>
      )}
    </section>
  );
}

const refreshMs = 5000;

function Facts({ device }: { device: DeviceDetail }) {
  const { devices: text } = texts.value;
  const { lastUpload, createdAt, quarantined } = device;
  return (
    <section class="card">
      <dl class="facts">
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
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
        <section class="table-frame scrolls" tabIndex={0} aria-label={text.uploads}>
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
        </section>
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
        <Heading text={device.deviceId} />
        <Connection device={device} />
      </header>
      {failure && <p class="notice late">{failure}</p>}
      <div class="device-columns">
        <div>
          <Facts device={device} />
          {isOperator() && <Credentials device={device} mayChange={mayChange} onChanged={reload} />}
          {mayChange && <ReleaseOrDelete device={device} />}
        </div>
        <div>
          <Links device={device} mayChange={mayChange} onChanged={reload} />
          <Uploads uploads={device.uploads} />
        </div>
      </div>
    </div>
  );
}
