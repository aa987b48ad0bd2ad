import { type Signal, useSignal } from '@preact/signals';
import type { Feature } from 'geojson';
import type { GeoJSONSource, MapMouseEvent } from 'maplibre-gl';
import { useEffect, useRef } from 'preact/hooks';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { ConfirmDeletion } from '../../parts/forms/dialog.tsx';
import { errorBeyond, errorOf, Field, Form, NumberInput, TextInput } from '../../parts/forms/fields.tsx';
import { FormEnd, useSave } from '../../parts/forms/use-save.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { MapList, MapWithSide } from '../../parts/lists/map-list.tsx';
import { useMap } from '../../parts/map/base-map.ts';
import { boundsOf } from '../../parts/map/route-layer.ts';
import { mayChange } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';

export type Spot = Schema<'ParkingSpot'>;

/** The texts of a spot that a person types, in the order of the form. */
const spotTexts = ['name', 'address', 'address2', 'zipcode', 'city', 'country'] as const;

/** Reads the parking spots of an application. @throws CallFailure */
async function loadSpots(appId: string): Promise<readonly Spot[]> {
  return (await answerOf(api.GET('/v1/parkings', { params: { header: headerFor(appId) } }))).parkings;
}

/** A spot while a person writes it. */
export type SpotDraft = Readonly<Record<(typeof spotTexts)[number], string>> & {
  readonly latitude: number | undefined;
  readonly longitude: number | undefined;
};

/** The draft of a spot, empty for a new one. */
function draftOf(spot: Spot | undefined): SpotDraft {
  const { name = '', address = '', address2 = '', zipcode = '', city = '', country = '' } = spot ?? {};
  return { name, address, address2, zipcode, city, country, latitude: spot?.latitude, longitude: spot?.longitude };
}

/** Creates a spot, or changes one. @throws CallFailure */
function saveSpot(appId: string, id: string | undefined, draft: SpotDraft): Promise<unknown> {
  const { latitude, longitude, ...written } = draft;
  const body = { ...written, ...(latitude !== undefined && longitude !== undefined && { latitude, longitude }) };
  const header = headerFor(appId);
  return id === undefined
    ? answerOf(api.POST('/v1/parkings', { params: { header }, body }))
    : answerOf(api.POST('/v1/parkings/{id}', { params: { path: { id }, header }, body }));
}

interface SpotMapOptions {
  readonly spots: readonly Spot[];
  /** The place of the spot that is written; it moves with a click. */
  readonly place: { readonly latitude: number; readonly longitude: number } | undefined;
  readonly isWriting: boolean;
  readonly onPlace: (latitude: number, longitude: number) => void;
  readonly onPick: (id: string) => void;
}

function featuresOf(spots: readonly Spot[], place: SpotMapOptions['place']): Feature[] {
  const points = spots.flatMap(({ id, name, latitude, longitude }) =>
    latitude === undefined || longitude === undefined ? [] : [{ id, name, latitude, longitude, isDraft: false }],
  );
  const draft = place ? [{ id: '', name: '', ...place, isDraft: true }] : [];
  return [...points, ...draft].map(({ latitude, longitude, ...properties }) => ({
    type: 'Feature',
    properties,
    geometry: { type: 'Point', coordinates: [longitude, latitude] },
  }));
}

/** The parking spots on the map. A click picks one, or gives the one that is written its place. */
function SpotMap({ spots, place, isWriting, onPlace, onPick }: SpotMapOptions) {
  const { container, map } = useMap((created, { parked, accent, surface, label, halo }) => {
    created.addSource('spots', { type: 'geojson', data: { type: 'FeatureCollection', features: [] } });
    created.addLayer({
      id: 'spots',
      type: 'circle',
      source: 'spots',
      paint: {
        'circle-radius': ['case', ['get', 'isDraft'], 9, 7],
        'circle-color': ['case', ['get', 'isDraft'], accent, parked],
        'circle-stroke-color': surface,
        'circle-stroke-width': 2,
      },
    });
    created.addLayer({
      id: 'spot-names',
      type: 'symbol',
      source: 'spots',
      layout: {
        ...{ 'text-field': ['get', 'name'], 'text-font': ['system-ui'], 'text-size': 12 },
        ...{ 'text-anchor': 'top', 'text-offset': [0, 0.8] },
      },
      paint: { 'text-color': label, 'text-halo-color': halo, 'text-halo-width': 1.4 },
    });
  });
  const clicked = useRef({ isWriting, onPlace, onPick });
  clicked.current = { isWriting, onPlace, onPick };
  useEffect(() => {
    const features = featuresOf(spots, place);
    void map?.getSource<GeoJSONSource>('spots')?.setData({ type: 'FeatureCollection', features });
  }, [map, spots, place?.latitude, place?.longitude]);
  useEffect(() => {
    const known = spots.flatMap(({ latitude, longitude }) =>
      latitude === undefined || longitude === undefined ? [] : [[longitude, latitude] as const],
    );
    const bounds = boundsOf(known);
    if (map && bounds) map.fitBounds(bounds, { padding: 60, maxZoom: 14, animate: false });
  }, [map, spots.length]);
  useEffect(() => {
    if (!map) return undefined;
    const click = ({ point, lngLat }: MapMouseEvent) => {
      const now = clicked.current;
      if (now.isWriting) return now.onPlace(lngLat.lat, lngLat.lng);
      const [found] = map.queryRenderedFeatures(point, { layers: ['spots'] });
      const id: unknown = found?.properties['id'];
      if (typeof id === 'string') now.onPick(id);
    };
    map.on('click', click);
    return () => map.off('click', click);
  }, [map]);
  return <section class="map" ref={container} aria-label={texts.value.parkingSpots.map} />;
}

const maxTextLength = 256;

interface PlaceOptions {
  readonly draft: Signal<SpotDraft>;
  readonly hasPlace: boolean;
  readonly error: string | undefined;
}

function PlaceFields({ draft, hasPlace, error }: PlaceOptions) {
  const { geofences: place } = texts.value;
  const set = (changed: Partial<SpotDraft>) => assign(draft, { ...draft.value, ...changed });
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
  const set = (changed: Partial<SpotDraft>) => assign(draft, { ...draft.value, ...changed });
  // A place can be moved, but not taken away.
  const hasPlace =
    spot?.latitude !== undefined || draft.value.latitude !== undefined || draft.value.longitude !== undefined;
  const save = () => {
    const work = () => saveSpot(appId, spot?.id, draft.value);
    const now = async () => (await loadSpots(appId)).find(({ id }) => id === spot?.id);
    if (spot) saving.runUnlessChanged(now, work, onClose);
    else saving.run(work, onClose);
  };
  return (
    <Form class="form" onSubmit={save}>
      <p class="muted">{text.placeHint}</p>
      {spotTexts.map((name) => (
        <TextInput
          key={name}
          label={text.fields[name]}
          value={draft.value[name]}
          maxLength={maxTextLength}
          isOptional={name === 'address2'}
          error={errorOf(failure, name)}
          onValue={(value) => set({ [name]: value })}
        />
      ))}
      <PlaceFields draft={draft} hasPlace={hasPlace} error={errorOf(failure, 'longitude')} />
      <FormEnd
        failure={errorBeyond(failure, [...spotTexts, 'longitude'])}
        saving={saving}
        describe={(one) => Object.fromEntries(spotTexts.map((name) => [text.fields[name], one[name]]))}
        onTheirs={(theirs) => assign(draft, draftOf(theirs))}
        onClose={onClose}
      />
    </Form>
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
          <Button kind="primary" onClick={() => onWrite(undefined)}>
            {text.create}
          </Button>
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
            onPlace={(lat, lng) =>
              assign(draft, { ...draft.value, latitude: roundDegrees(lat), longitude: roundDegrees(lng) })
            }
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
          <SpotList spots={data} onWrite={write} onDelete={(spot) => assign(deleted, spot)} />
        )}
      </MapWithSide>
      <DeleteSpot appId={appId} deleted={deleted} onDone={reload} />
    </>
  );
}
