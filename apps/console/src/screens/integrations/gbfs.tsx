import { useSignal } from '@preact/signals';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Field, Form } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { CopyRows, SaveButton } from '../../parts/layout/copy.tsx';
import { LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { hasRole, operatorApplications } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatDay, formatNumber } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

type Publication = Schema<'GbfsPublicationSettings'>;
type Settings = Publication['settings'];

/** Loads the publication of an application. @returns undefined if it has none @throws CallFailure */
async function loadPublication(appId: string) {
  const params = { path: { appId } };
  try {
    const publication = await answerOf(api.GET('/v1/x/admin/gbfs/{appId}', { params }));
    return { publication, vehicles: await answerOf(api.GET('/v1/x/admin/gbfs/{appId}/vehicles', { params })) };
  } catch (error) {
    if (error instanceof CallFailure && error.code === 'NOT_FOUND') return { publication: undefined };
    throw error;
  }
}

/** Proposes incomplete settings; the platform names the missing members. */
function proposeSettings(appId: string): Settings {
  const name = operatorApplications().applications.find((one) => one.appId === appId)?.name ?? appId;
  return {
    publicUrl: location.origin,
    system: {
      system_id: appId,
      languages: ['en'],
      name: [{ text: name, language: 'en' }],
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

/** @throws CallFailure if the text is not JSON */
function parseSettings(text: string): Settings {
  try {
    return JSON.parse(text);
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

function SettingsForm({ appId, settings, onChanged }: FormOptions) {
  const { gbfs: text, save } = texts.value;
  const json = useSignal(JSON.stringify(settings ?? proposeSettings(appId), null, 2));
  const isSaved = useSignal(false);
  const action = useAction();
  const params = { path: { appId } };
  const publish = () =>
    action.run(async () => {
      isSaved.value = false;
      const body = { ...parseSettings(json.value), appId };
      await answerOf(api.PUT('/v1/x/admin/gbfs/{appId}', { params, body }));
      isSaved.value = true;
      onChanged();
    });
  const stop = async () => {
    await answerOf(api.DELETE('/v1/x/admin/gbfs/{appId}', { params }));
    onChanged();
  };
  return (
    <Form class="card form" aria-label={text.settings} onSubmit={() => void publish()}>
      <h2>{text.settings}</h2>
      <Field label={text.json} hint={text.jsonHint} error={action.failure}>
        {(input) => (
          <textarea
            {...input}
            class="input snippet"
            rows={18}
            spellcheck={false}
            readOnly={!hasRole('administrator')}
            value={json.value}
            onInput={({ currentTarget }) => assign(json, currentTarget.value)}
          />
        )}
      </Field>
      <div role="status">{isSaved.value && <p class="notice good">{text.saved}</p>}</div>
      {hasRole('administrator') && (
        <div class="row">
          <SaveButton name={`gbfs-${appId}.json`} type="application/json" content={json.value} title={text.download} />
          {settings && (
            <ActionButton action={text.stop} title={text.stopTitle} isDangerous onConfirm={stop}>
              {text.stopText}
            </ActionButton>
          )}
          <Button type="submit" kind="primary" disabled={action.isRunning}>
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
      <strong>{text.shown(formatNumber(published))}</strong>
      {hidden.length > 0 && (
        <details>
          <summary>{text.hidden(formatNumber(hidden.length))}</summary>
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
