import './map-settings.css';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { answerOf, api, CallFailure, type Schema, sessionEnded } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { Form, Labelled } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { CopyRows } from '../../parts/layout/copy.tsx';
import { Heading, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { mayChangeMap } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatBytes, formatFull, formatPercent } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

/** The platform takes parts of at most 4 MiB. */
const partBytes = 4 * 1024 ** 2;

const createId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

async function sendPart(query: URLSearchParams, body: Blob) {
  const headers = { 'content-type': 'application/octet-stream' };
  const response = await fetch(`/v1/x/admin/map?${query}`, { method: 'PUT', headers, body });
  if (response.status === 401) sessionEnded.value = true;
  return { response, error: await response.json().catch(() => undefined) };
}

/** Sends a map file in parts. @param onProgress receives the share sent, from 0 to 1 @throws CallFailure */
async function uploadMap(file: File, onProgress: (share: number) => void): Promise<void> {
  const upload = createId();
  let offset = 0;
  do {
    onProgress(offset / Math.max(1, file.size));
    const query = new URLSearchParams({ upload, offset: String(offset), size: String(file.size) });
    await answerOf(sendPart(query, file.slice(offset, offset + partBytes)));
    offset += partBytes;
  } while (offset < file.size);
}

type Settings = Schema<'MapSettings'>;

function Current({ settings }: { settings: Settings }) {
  const { mapSettings: text } = texts.value;
  const { kind, setting, fault, attribution, url, file } = settings;
  const rows: readonly (readonly [string, string | undefined])[] = [
    [text.kind, text.kinds[kind]],
    [text.setting, setting ?? (file && text.noSetting)],
    [text.from, file ? file.source : url],
    [text.area, file?.bbox.replaceAll(',', ', ')],
    [text.zooms, file && `${file.minZoom} – ${file.maxZoom}`],
    [text.attribution, attribution.replaceAll(/<[^>]*>/g, '') || undefined],
    [text.size, file && formatBytes(file.bytes)],
    [text.changedAt, file && formatFull(file.changedAt)],
  ];
  return (
    <section class="card">
      <h2>{text.current}</h2>
      {fault !== undefined && <p class="notice wrong">{text.fault(fault)}</p>}
      <dl class="facts">
        {rows.map(([name, value]) =>
          value === undefined ? null : [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>],
        )}
      </dl>
    </section>
  );
}

/** One way to get a street map, with the information that other sites get. */
function Way({
  title,
  text,
  reveals,
  children,
}: Record<'title' | 'text' | 'reveals', string> & { children: ComponentChildren }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <p>{text}</p>
      {children}
      <p class="muted">{reveals}</p>
    </section>
  );
}

function Upload({ isDisabled, onUsed }: { isDisabled: boolean; onUsed: () => void }) {
  const { mapSettings: text } = texts.value;
  const action = useAction();
  const share = useSignal(0);
  const isUsed = useSignal(false);
  const submit = (form: HTMLFormElement) => {
    const file = new FormData(form).get('file');
    isUsed.value = false;
    void action.run(async () => {
      if (!(file instanceof File)) throw new CallFailure('INVALID_PARAMETER', text.file);
      await uploadMap(file, (sent) => assign(share, sent));
      isUsed.value = true;
      form.reset();
      onUsed();
    });
  };
  return (
    <Form class="form" onSubmit={submit}>
      <Labelled label={text.file}>
        <input class="input" type="file" name="file" accept=".pmtiles" required disabled={isDisabled} />
      </Labelled>
      <div role="status">
        {action.isRunning && (
          <>
            <progress value={share.value} aria-label={text.uploadAction} />
            <span>{text.uploading(formatPercent(Math.floor(share.value * 100)))}</span>
          </>
        )}
        {isUsed.value && <p class="notice good">{text.uploaded}</p>}
      </div>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
      <div class="row start">
        <Button type="submit" kind="primary" disabled={isDisabled || action.isRunning}>
          {text.uploadAction}
        </Button>
      </div>
    </Form>
  );
}

async function load() {
  const [settings, { bbox }] = await Promise.all([
    answerOf(api.GET('/v1/x/map')),
    answerOf(api.GET('/v1/x/vehicles/area')),
  ]);
  return { settings, bbox };
}

/** The source of the console's map, and the ways to get a street map. */
export function MapSettingsScreen() {
  const { mapSettings: text } = texts.value;
  const { data, failure, reload } = useLoad(load, []);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const { settings, bbox } = data;
  const { setting } = settings;
  const command = `npx odograph map download ${bbox === undefined ? '--around-fleet' : `--bbox ${bbox}`}`;
  const addresses = [
    [text.images, 'MAP_TILES_URL=https://tiles.example/{z}/{x}/{y}.png'],
    [text.style, 'MAP_STYLE_URL=https://tiles.example/style.json'],
  ] as const;
  return (
    <div class="page map-settings">
      <Heading text={text.title} />
      <Current settings={settings} />
      {!mayChangeMap() && <p class="muted">{text.notAllowed}</p>}
      {mayChangeMap() && (
        <>
          {setting !== undefined && <p class="notice late">{text.settingFirst(setting)}</p>}
          <Way title={text.download} text={text.downloadText} reveals={text.downloadReveals}>
            <CopyRows rows={[[text.command, command]]} />
          </Way>
          <Way title={text.upload} text={text.uploadText} reveals={text.uploadReveals}>
            <Upload isDisabled={setting !== undefined} onUsed={reload} />
          </Way>
          <Way title={text.site} text={text.siteText} reveals={text.siteReveals}>
            <CopyRows rows={addresses} />
          </Way>
        </>
      )}
    </div>
  );
}
