import { type Signal, useSignal } from '@preact/signals';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { errorBeyond, Form, Labelled } from '../../parts/forms/fields.tsx';
import { ConflictNotice, useSave } from '../../parts/forms/use-save.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { CopyRows, SaveButton } from '../../parts/layout/copy.tsx';
import { LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { hasRole, operatorApplications } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatDay } from '../../texts/format.ts';
import { language, texts } from '../../texts/texts.ts';
import { GbfsFields } from './gbfs-form.tsx';
import { describeSettings, fieldsOf, type GbfsSettings, membersWithoutField, pruneSettings } from './gbfs-members.ts';

type Publication = Schema<'GbfsPublicationSettings'>;
type Settings = GbfsSettings;

/** Loads the settings of a publication. @returns undefined if the application has none @throws CallFailure */
async function loadSettings(appId: string): Promise<Publication | undefined> {
  try {
    return await answerOf(api.GET('/v1/x/admin/gbfs/{appId}', { params: { path: { appId } } }));
  } catch (error) {
    if (error instanceof CallFailure && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/** Loads the publication of an application and its vehicles; neither if it has none. @throws CallFailure */
async function loadPublication(appId: string) {
  const publication = await loadSettings(appId);
  if (!publication) return { publication };
  const params = { path: { appId } };
  return { publication, vehicles: await answerOf(api.GET('/v1/x/admin/gbfs/{appId}/vehicles', { params })) };
}

/** Proposes settings without the contact address. */
function proposeSettings(appId: string): Settings {
  const name = operatorApplications().applications.find((one) => one.appId === appId)?.name ?? appId;
  return {
    publicUrl: location.origin,
    system: {
      system_id: appId,
      languages: [language.value],
      name: [{ text: name, language: language.value }],
      opening_hours: '24/7',
      feed_contact_email: '',
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    },
    vehicleTypes: [
      {
        vehicle_type_id: 'car',
        form_factor: 'car',
        propulsion_type: 'combustion',
        max_range_meters: 700_000,
        rangeIfUnknownMeters: 100_000,
        return_constraint: 'free_floating',
      },
    ],
    stations: 'all',
  };
}

/** Parses settings. @throws CallFailure if the text is not JSON or not settings */
function parseSettings(text: string, proposed: Settings): Settings {
  try {
    const { appId: _appId, ...given } = JSON.parse(text);
    // The form needs these members; the platform checks all others.
    return { ...proposed, ...given, system: { ...proposed.system, ...given.system } };
  } catch (error) {
    throw new CallFailure('INVALID_PARAMETER', texts.value.gbfs.notJson(error instanceof Error ? error.message : ''));
  }
}

interface FormOptions {
  readonly appId: string;
  /** Undefined while nothing is published. */
  readonly settings: Settings | undefined;
  readonly onChanged: () => void;
}

/** Saves and loads settings as a file, and lists its members without a field. */
function SettingsFile({ appId, draft }: { appId: string; draft: Signal<Settings> }) {
  const { gbfs: text } = texts.value;
  const action = useAction();
  const others = membersWithoutField(draft.value);
  const open = (file: File) =>
    action.run(async () => assign(draft, parseSettings(await file.text(), proposeSettings(appId))));
  return (
    <details>
      <summary>{text.file}</summary>
      <div class="form">
        <p class="muted">{text.fileText}</p>
        {others.length > 0 && (
          <p class="notice">
            {text.others} <code>{others.join(', ')}</code>
          </p>
        )}
        <Labelled label={text.openFile}>
          <input
            class="input file"
            type="file"
            accept=".json,application/json"
            onChange={({ currentTarget }) => {
              const [file] = currentTarget.files ?? [];
              if (file) void open(file);
              currentTarget.value = '';
            }}
          />
        </Labelled>
        <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
        <div class="row start">
          <SaveButton
            name={`gbfs-${appId}.json`}
            type="application/json"
            content={JSON.stringify(pruneSettings(draft.value), null, 2)}
            title={text.download}
          />
        </div>
      </div>
    </details>
  );
}

function SettingsForm({ appId, settings, onChanged }: FormOptions) {
  const { gbfs: text, save, readOnly } = texts.value;
  const draft = useSignal(settings ?? proposeSettings(appId));
  const isSaved = useSignal(false);
  const saving = useSave(settings);
  const { isBusy, failure } = saving;
  const mayChange = hasRole('administrator');
  const params = { path: { appId } };
  const publish = () => {
    isSaved.value = false;
    const body = { ...pruneSettings(draft.value), appId };
    const change = async () => {
      await answerOf(api.PUT('/v1/x/admin/gbfs/{appId}', { params, body }));
      saving.rebase((await loadSettings(appId))?.settings ?? body);
    };
    const done = () => {
      isSaved.value = true;
      onChanged();
    };
    if (settings) saving.runUnlessChanged(async () => (await loadSettings(appId))?.settings, change, done);
    else saving.run(change, done);
  };
  const stop = async () => {
    await answerOf(api.DELETE('/v1/x/admin/gbfs/{appId}', { params }));
    onChanged();
  };
  const beyond = errorBeyond(failure, fieldsOf(draft.value));
  return (
    <Form class="card form gbfs-form" aria-label={text.settings} onSubmit={publish}>
      <h2>{text.settings}</h2>
      {!mayChange && <p class="muted">{readOnly}</p>}
      <fieldset class="plain form" disabled={!mayChange}>
        <GbfsFields appId={appId} draft={draft} failure={failure} />
        <SettingsFile appId={appId} draft={draft} />
      </fieldset>
      <div role="status">{isSaved.value && <p class="notice good">{text.saved}</p>}</div>
      <div role="alert">{failure && <p class="notice wrong">{beyond ?? text.faulty}</p>}</div>
      <ConflictNotice saving={saving} describe={describeSettings} onTheirs={(theirs) => assign(draft, theirs)} />
      {mayChange && (
        <div class="row">
          {settings && (
            <ActionButton action={text.stop} title={text.stopTitle} isDangerous onConfirm={stop}>
              {text.stopText}
            </ActionButton>
          )}
          <Button type="submit" kind="primary" disabled={isBusy}>
            {settings ? save : text.publish}
          </Button>
        </div>
      )}
    </Form>
  );
}

type Vehicles = NonNullable<Awaited<ReturnType<typeof loadPublication>>['vehicles']>;

function Shown({ publication, vehicles }: { publication: Publication; vehicles: Vehicles }) {
  const { gbfs: text } = texts.value;
  const { published, hidden } = vehicles;
  return (
    <section class="card form" aria-label={text.published}>
      <h2>{text.published}</h2>
      <CopyRows rows={[[text.address, publication.discoveryUrl]]} />
      <p class="muted">{text.publicText}</p>
      <p class="muted">{text.updatedAt(formatDay(publication.updatedAt))}</p>
      <strong>{text.shown(published)}</strong>
      {hidden.length > 0 && (
        <details>
          <summary>{text.hidden(hidden.length)}</summary>
          <ul>
            {hidden.map(({ vehicleId, plate, reason }) => (
              <li key={vehicleId}>
                <a href={`/vehicles/${vehicleId}`}>{plate}</a> {text.reasons[reason] ?? reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** The GBFS feeds of an application and their settings. */
export function GbfsPublication({ appId }: { appId: string }) {
  const { gbfs: text } = texts.value;
  const { data, failure, reload } = useLoad(() => loadPublication(appId), [appId]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const { publication, vehicles } = data;
  return (
    <>
      {failure && <p class="notice late">{failure}</p>}
      {publication && vehicles ? (
        <Shown publication={publication} vehicles={vehicles} />
      ) : (
        <section class="card form">
          <h2>{text.unpublished}</h2>
          <p class="muted">{text.unpublishedText}</p>
        </section>
      )}
      {(publication || hasRole('administrator')) && (
        <SettingsForm
          key={publication ? 'published' : 'unpublished'}
          appId={appId}
          settings={publication?.settings}
          onChanged={reload}
        />
      )}
    </>
  );
}
