import { effect, type Signal, useSignal } from '@preact/signals';
import type { Feature, FeatureCollection } from 'geojson';
import type { GeoJSONSource, Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useRef } from 'preact/hooks';
import { answerOf, api } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { ConfirmDeletion } from '../../parts/forms/dialog.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { MapList, MapWithSide } from '../../parts/lists/map-list.tsx';
import { useMap } from '../../parts/map/base-map.ts';
import type { MapPalette } from '../../parts/map/palette.ts';
import { boundsOf } from '../../parts/map/route-layer.ts';
import { mayChange } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { type Geofence, loadGeofences } from './alarm-text.ts';
import { GeofenceEditor, handlesOf } from './geofence-editor.ts';
import { GeofenceForm, shapeText } from './geofence-form.tsx';
import { type Draft, emptyDraft, outlineOf, type Place, toDraft } from './geofence-shapes.ts';

const collection = (features: readonly Feature[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: [...features],
});

function areaOf(draft: Draft, id: string): Feature[] {
  const outline = outlineOf(draft).map(([longitude, latitude]) => [longitude, latitude]);
  if (outline.length < 2) return [];
  const geometry =
    outline.length > 3
      ? { type: 'Polygon' as const, coordinates: [outline] }
      : { type: 'LineString' as const, coordinates: outline };
  return [{ type: 'Feature', properties: { id, name: draft.name }, geometry }];
}

function addLayers(map: MapLibreMap, { accent, surface, parked, label, halo }: MapPalette): void {
  for (const source of ['geofences', 'draft', 'handles'])
    map.addSource(source, { type: 'geojson', data: collection([]) });
  const addArea = (source: string, colour: string, width: number) => {
    const paint = { 'fill-color': colour, 'fill-opacity': 0.16 };
    map.addLayer({ id: `${source}-fill`, type: 'fill', source, paint });
    map.addLayer({ id: `${source}-line`, type: 'line', source, paint: { 'line-color': colour, 'line-width': width } });
  };
  addArea('geofences', parked, 1.6);
  map.addLayer({
    id: 'geofence-names',
    type: 'symbol',
    source: 'geofences',
    layout: { 'text-field': ['get', 'name'], 'text-font': ['system-ui'], 'text-size': 12 },
    paint: { 'text-color': label, 'text-halo-color': halo, 'text-halo-width': 1.4 },
  });
  addArea('draft', accent, 2.5);
  map.addLayer({
    id: 'handles',
    type: 'circle',
    source: 'handles',
    paint: {
      'circle-radius': ['case', ['get', 'isSelected'], 9, 7],
      'circle-color': ['case', ['get', 'isSelected'], accent, surface],
      'circle-stroke-color': accent,
      'circle-stroke-width': 2.5,
    },
  });
}

interface GeofenceMapOptions {
  readonly geofences: readonly Geofence[];
  /** The geofence that is drawn; undefined while none is. */
  readonly draft: Signal<Draft | undefined>;
  /** The corner that the Delete key removes. */
  readonly corner: Signal<number | undefined>;
  /** The geofence that is changed, and drawn as the draft. */
  readonly changed: string | undefined;
  readonly onPick: (id: string) => void;
}

/** The geofences on the map; one of them can be drawn. */
function GeofenceMap({ geofences, draft, corner, changed, onPick }: GeofenceMapOptions) {
  const { container, map } = useMap(addLayers);
  const pick = useRef(onPick);
  pick.current = onPick;
  useEffect(() => {
    const others = geofences.filter(({ id }) => id !== changed);
    const areas = others.flatMap((geofence) => areaOf(toDraft(geofence), geofence.id));
    void map?.getSource<GeoJSONSource>('geofences')?.setData(collection(areas));
  }, [map, geofences, changed]);
  useEffect(() => {
    if (!map) return;
    const shown = draft.peek();
    const outlines: readonly Place[] = shown ? outlineOf(shown) : geofences.flatMap((one) => outlineOf(toDraft(one)));
    const bounds = boundsOf(outlines);
    if (bounds) map.fitBounds(bounds, { padding: 60, maxZoom: 15, animate: false });
  }, [map, changed, geofences.length]);
  useEffect(() => {
    if (!map) return undefined;
    const editor = new GeofenceEditor(map, draft, corner, (id) => pick.current(id));
    const stop = effect(() => {
      const drawn = draft.value;
      void map.getSource<GeoJSONSource>('draft')?.setData(collection(drawn ? areaOf(drawn, '') : []));
      const handles = drawn ? handlesOf(drawn, corner.value) : [];
      void map.getSource<GeoJSONSource>('handles')?.setData(collection(handles));
    });
    return () => {
      stop();
      editor.stop();
    };
  }, [map]);
  return <section class="map" ref={container} aria-label={texts.value.geofences.map} />;
}

interface ListOptions {
  readonly appId: string;
  readonly geofences: readonly Geofence[];
  readonly onNew: (type: Draft['type']) => void;
  readonly onChange: (geofence: Geofence) => void;
  readonly onDelete: (geofence: Geofence) => void;
}

function List({ appId, geofences, onNew, onChange, onDelete }: ListOptions) {
  const { geofences: text } = texts.value;
  return (
    <>
      {mayChange() && (
        <div class="row start">
          <Button kind="primary" onClick={() => onNew('Point')}>
            {text.newCircle}
          </Button>
          <Button kind="primary" onClick={() => onNew('Polygon')}>
            {text.newPolygon}
          </Button>
          <Button kind="primary" onClick={() => onNew('LineString')}>
            {text.newCorridor}
          </Button>
        </div>
      )}
      {geofences.length === 0 ? (
        <Empty title={text.none}>{<p>{text.noneText}</p>}</Empty>
      ) : (
        <MapList
          label={text.list}
          things={geofences}
          detailOf={shapeText}
          actionOf={({ id, name }) =>
            mayChange() && (
              <a
                class="button"
                href={`/alarms/rules?${new URLSearchParams({ ...(appId && { app: appId }), geofence: id })}`}
                aria-label={`${text.newAlarm}: ${name}`}
              >
                {text.newAlarm}
              </a>
            )
          }
          onChange={onChange}
          onDelete={onDelete}
        />
      )}
    </>
  );
}

interface DeleteOptions {
  readonly appId: string;
  readonly deleted: Signal<Geofence | undefined>;
  readonly onDone: () => void;
}

function DeleteGeofence({ appId, deleted, onDone }: DeleteOptions) {
  const { geofences: text } = texts.value;
  return (
    <ConfirmDeletion
      deleted={deleted}
      titleOf={({ name }) => text.deleteTitle(name)}
      text={text.deleteText}
      onDelete={async ({ id }) => {
        await answerOf(api.DELETE('/v1/x/geofences/{id}', { params: { path: { id }, header: headerFor(appId) } }));
        onDone();
      }}
    />
  );
}

/** The geofences of an application, on the map and as a list. */
export function Geofences({ appId }: { appId: string }) {
  const { geofences: text } = texts.value;
  const { data, failure, reload } = useLoad(() => loadGeofences(appId), [appId]);
  const draft = useSignal<Draft | undefined>(undefined);
  const changed = useSignal<Geofence | undefined>(undefined);
  const corner = useSignal<number | undefined>(undefined);
  const deleted = useSignal<Geofence | undefined>(undefined);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const edit = (geofence: Geofence | undefined, drawn: Draft | undefined) => {
    changed.value = geofence;
    draft.value = drawn;
    corner.value = undefined;
  };
  const change = (geofence: Geofence | undefined) => {
    if (geofence && mayChange()) edit(geofence, toDraft(geofence));
  };
  const close = () => {
    edit(undefined, undefined);
    reload();
  };
  return (
    <>
      <MapWithSide
        label={text.list}
        failure={failure}
        map={
          <GeofenceMap
            geofences={data}
            draft={draft}
            corner={corner}
            changed={changed.value?.id}
            onPick={(id) => change(data.find((one) => one.id === id))}
          />
        }
      >
        {isDrawn(draft) ? (
          <GeofenceForm
            key={changed.value?.id}
            appId={appId}
            geofence={changed.value}
            draft={draft}
            corner={corner}
            onClose={close}
          />
        ) : (
          <List
            appId={appId}
            geofences={data}
            onNew={(type) => edit(undefined, emptyDraft(type))}
            onChange={change}
            onDelete={(geofence) => assign(deleted, geofence)}
          />
        )}
      </MapWithSide>
      <DeleteGeofence appId={appId} deleted={deleted} onDone={reload} />
    </>
  );
}

const isDrawn = (draft: Signal<Draft | undefined>): draft is Signal<Draft> => draft.value !== undefined;
