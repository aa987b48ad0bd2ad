import { type Signal, useSignal } from '@preact/signals';
import { answerOf, api } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { ConfirmDeletion } from '../../parts/forms/dialog.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { MapList, MapWithSide } from '../../parts/lists/map-list.tsx';
import { mayChange } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { GeofenceForm, shapeText } from './geofence-form.tsx';
import { GeofenceMap } from './geofence-map.tsx';
import { type Draft, emptyDraft, toDraft } from './geofence-shapes.ts';
import { type Geofence, loadGeofences } from './rule-data.ts';

interface ListOptions {
  readonly geofences: readonly Geofence[];
  readonly onNew: (type: Draft['type']) => void;
  readonly onChange: (geofence: Geofence) => void;
  readonly onDelete: (geofence: Geofence) => void;
}

function List({ geofences, onNew, onChange, onDelete }: ListOptions) {
  const { geofences: text } = texts.value;
  return (
    <>
      {mayChange() && (
        <div class="row start">
          <button type="button" class="button primary" onClick={() => onNew('Point')}>
            {text.newCircle}
          </button>
          <button type="button" class="button primary" onClick={() => onNew('Polygon')}>
            {text.newPolygon}
          </button>
        </div>
      )}
      {geofences.length === 0 ? (
        <Empty title={text.none}>{<p>{text.noneText}</p>}</Empty>
      ) : (
        <MapList label={text.list} things={geofences} detailOf={shapeText} onChange={onChange} onDelete={onDelete} />
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
            geofences={data}
            onNew={(type) => edit(undefined, emptyDraft(type))}
            onChange={change}
            onDelete={(geofence) => {
              deleted.value = geofence;
            }}
          />
        )}
      </MapWithSide>
      <DeleteGeofence appId={appId} deleted={deleted} onDone={reload} />
    </>
  );
}

const isDrawn = (draft: Signal<Draft | undefined>): draft is Signal<Draft> => draft.value !== undefined;
