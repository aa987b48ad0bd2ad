import { type Signal, useSignal } from '@preact/signals';
import { answerOf, api } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { ConfirmDeletion } from '../../parts/forms/dialog.tsx';
import { errorBeyond, errorOf, Field, NumberInput, TextInput } from '../../parts/forms/fields.tsx';
import { FormEnd, useSave } from '../../parts/forms/use-save.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { MapList, MapWithSide } from '../../parts/lists/map-list.tsx';
import { mayChange } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { draftOf, loadSpots, type Spot, type SpotDraft, saveSpot, spotTexts } from './spot-data.ts';
import { SpotMap } from './spot-map.tsx';

const longestText = 256;

interface PlaceOptions {
  readonly draft: Signal<SpotDraft>;
  readonly hasPlace: boolean;
  readonly error: string | undefined;
}

function PlaceFields({ draft, hasPlace, error }: PlaceOptions) {
  const { geofences: place } = texts.value;
  const set = (changed: Partial<SpotDraft>) => {
    draft.value = { ...draft.value, ...changed };
  };
  return (
    <>
      <Field label={place.latitude}>
        {(input) => (
          <NumberInput
            {...input}
            minimum={-90}
            maximum={90}
            isRequired={hasPlace}
            value={draft.value.latitude}
            onValue={(latitude) => set({ latitude })}
          />
        )}
      </Field>
      <Field label={place.longitude} error={error}>
        {(input) => (
          <NumberInput
            {...input}
            minimum={-180}
            maximum={180}
            isRequired={hasPlace}
            value={draft.value.longitude}
            onValue={(longitude) => set({ longitude })}
          />
        )}
      </Field>
    </>
  );
}

interface SpotFormOptions {
  readonly appId: string;
  /** The spot to change; undefined for a new one. */
  readonly spot: Spot | undefined;
  readonly draft: Signal<SpotDraft>;
  readonly onClose: () => void;
}

function SpotForm({ appId, spot, draft, onClose }: SpotFormOptions) {
  const { parkingSpots: text } = texts.value;
  const saving = useSave(spot);
  const { failure } = saving;
  const set = (changed: Partial<SpotDraft>) => {
    draft.value = { ...draft.value, ...changed };
  };
  // A place can be moved, but not taken away.
  const hasPlace =
    spot?.latitude !== undefined || draft.value.latitude !== undefined || draft.value.longitude !== undefined;
  const save = (event: SubmitEvent) => {
    event.preventDefault();
    const work = () => saveSpot(appId, spot?.id, draft.value);
    const now = async () => (await loadSpots(appId)).find(({ id }) => id === spot?.id);
    if (spot) saving.runUnlessChanged(now, work, onClose);
    else saving.run(work, onClose);
  };
  return (
    <form class="form" onSubmit={save}>
      <p class="muted">{text.placeHint}</p>
      {spotTexts.map((name) => (
        <TextInput
          key={name}
          label={text.fields[name]}
          value={draft.value[name]}
          maxLength={longestText}
          isOptional={name === 'address2'}
          error={errorOf(failure, name)}
          onValue={(value) => set({ [name]: value })}
        />
      ))}
      <PlaceFields draft={draft} hasPlace={hasPlace} error={errorOf(failure, 'longitude')} />
      <FormEnd
        failure={errorBeyond(failure, [...spotTexts, 'longitude'])}
        original={spot}
        saving={saving}
        describe={(one) => Object.fromEntries(spotTexts.map((name) => [text.fields[name], one[name]]))}
        onTheirs={(theirs) => {
          draft.value = draftOf(theirs);
        }}
        onClose={onClose}
      />
    </form>
  );
}

interface ListOptions {
  readonly spots: readonly Spot[];
  readonly onWrite: (spot: Spot | undefined) => void;
  readonly onDelete: (spot: Spot) => void;
}

function SpotList({ spots, onWrite, onDelete }: ListOptions) {
  const { parkingSpots: text } = texts.value;
  return (
    <>
      {mayChange() && (
        <div>
          <button type="button" class="button primary" onClick={() => onWrite(undefined)}>
            {text.create}
          </button>
        </div>
      )}
      {spots.length === 0 && <Empty title={text.none} />}
      <MapList
        label={text.list}
        things={spots}
        detailOf={({ shortId, address, zipcode, city }) => `${shortId} · ${address}, ${zipcode} ${city}`}
        onChange={onWrite}
        onDelete={onDelete}
      />
    </>
  );
}

interface DeleteOptions {
  readonly appId: string;
  readonly deleted: Signal<Spot | undefined>;
  readonly onDone: () => void;
}

function DeleteSpot({ appId, deleted, onDone }: DeleteOptions) {
  const { parkingSpots: text } = texts.value;
  return (
    <ConfirmDeletion
      deleted={deleted}
      titleOf={({ name }) => text.deleteTitle(name)}
      text={text.deleteText}
      onDelete={async ({ id }) => {
        await answerOf(api.DELETE('/v1/parkings/{id}', { params: { path: { id }, header: headerFor(appId) } }));
        onDone();
      }}
    />
  );
}

/** About 0.1 m. */
const roundDegrees = (degrees: number): number => Math.round(degrees * 1e6) / 1e6;

/** The parking spots of an application, on the map and as a list. */
export function ParkingSpots({ appId }: { appId: string }) {
  const { parkingSpots: text } = texts.value;
  const { data, failure, reload } = useLoad(() => loadSpots(appId), [appId]);
  const written = useSignal<{ readonly spot: Spot | undefined } | undefined>(undefined);
  const draft = useSignal<SpotDraft>(draftOf(undefined));
  const deleted = useSignal<Spot | undefined>(undefined);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const write = (spot: Spot | undefined) => {
    draft.value = draftOf(spot);
    written.value = { spot };
  };
  const pick = (id: string) => {
    const spot = data.find((one) => one.id === id);
    if (spot && mayChange()) write(spot);
  };
  const close = () => {
    written.value = undefined;
    reload();
  };
  const { latitude, longitude } = draft.value;
  const place = latitude === undefined || longitude === undefined ? undefined : { latitude, longitude };
  return (
    <>
      <MapWithSide
        label={text.list}
        failure={failure}
        map={
          <SpotMap
            spots={written.value ? data.filter(({ id }) => id !== written.value?.spot?.id) : data}
            place={written.value ? place : undefined}
            isWriting={written.value !== undefined}
            onPlace={(lat, lng) => {
              draft.value = { ...draft.value, latitude: roundDegrees(lat), longitude: roundDegrees(lng) };
            }}
            onPick={pick}
          />
        }
      >
        {written.value ? (
          <SpotForm
            key={written.value.spot?.id}
            appId={appId}
            spot={written.value.spot}
            draft={draft}
            onClose={close}
          />
        ) : (
          <SpotList
            spots={data}
            onWrite={write}
            onDelete={(spot) => {
              deleted.value = spot;
            }}
          />
        )}
      </MapWithSide>
      <DeleteSpot appId={appId} deleted={deleted} onDone={reload} />
    </>
  );
}
