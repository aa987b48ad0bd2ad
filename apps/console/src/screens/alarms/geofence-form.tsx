import { type Signal, useSignal } from '@preact/signals';
import { answerOf, api } from '../../api/client.ts';
import { limits } from '../../api/limits.ts';
import { errorBeyond, errorOf, Field, Form, NumberInput, QuantityInput, TextInput } from '../../parts/forms/fields.tsx';
import { FormEnd, useSave } from '../../parts/forms/use-save.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { CloseIcon } from '../../parts/layout/icons.tsx';
import { preferences } from '../../preferences.ts';
import { assign } from '../../signals.ts';
import { formatQuantity } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { shownUnit } from '../../texts/units.ts';
import { type Geofence, loadGeofences } from './alarm-text.ts';
import { type Draft, type DraftPoint, nowhere, toBody, toDraft } from './geofence-shapes.ts';
import { Windows } from './geofence-windows.tsx';

const facts = limits['/v1/x/geofences'];

/** Describes the shape of a geofence in a few words. */
export function shapeText(geofence: Geofence): string {
  const { geofences: text } = texts.value;
  const { type, radiusMetres = 0, widthMetres = 0, corners, windows } = toDraft(geofence);
  const shapes = {
    Point: `${text.circle}, ${formatQuantity(radiusMetres, 'm')}`,
    Polygon: `${text.polygon}, ${text.corners(corners.length)}`,
    LineString: `${text.corridor}, ${formatQuantity(widthMetres, 'm')}`,
  };
  return windows.length > 0 ? `${shapes[type]}, ${text.timed}` : shapes[type];
}

function Circle({ draft, error }: { draft: Signal<Draft>; error: string | undefined }) {
  const { geofences: text } = texts.value;
  const { centre, radiusMetres } = draft.value;
  const set = (change: Partial<DraftPoint>) =>
    assign(draft, { ...draft.value, centre: { ...draft.value.centre, ...change } });
  return (
    <>
      <Field label={text.latitude}>
        {(input) => (
          <NumberInput
            {...input}
            minimum={-90}
            maximum={90}
            isRequired
            value={centre.latitude}
            onValue={(latitude) => set({ latitude })}
          />
        )}
      </Field>
      <Field label={text.longitude}>
        {(input) => (
          <NumberInput
            {...input}
            minimum={-180}
            maximum={180}
            isRequired
            value={centre.longitude}
            onValue={(longitude) => set({ longitude })}
          />
        )}
      </Field>
      <Field label={text.radius(shownUnit('m', preferences.value.units))} error={error}>
        {(input) => (
          <QuantityInput
            {...input}
            {...facts.radiusMetres}
            unit="m"
            isRequired
            value={radiusMetres}
            onValue={(radius) => assign(draft, { ...draft.value, radiusMetres: radius })}
          />
        )}
      </Field>
    </>
  );
}

interface CornerOptions {
  readonly index: number;
  readonly corner: DraftPoint;
  readonly isSelected: boolean;
  readonly onFocus: () => void;
  readonly onChange: (corner: DraftPoint) => void;
  readonly onRemove: () => void;
}

function Corner({ index, corner, isSelected, onFocus, onChange, onRemove }: CornerOptions) {
  const { geofences: text } = texts.value;
  return (
    <li class="corner" aria-current={isSelected} onFocusCapture={onFocus}>
      <span>{index + 1}</span>
      <NumberInput
        aria-label={text.cornerLatitude(index + 1)}
        minimum={-90}
        maximum={90}
        isRequired
        value={corner.latitude}
        onValue={(latitude) => onChange({ ...corner, latitude })}
      />
      <NumberInput
        aria-label={text.cornerLongitude(index + 1)}
        minimum={-180}
        maximum={180}
        isRequired
        value={corner.longitude}
        onValue={(longitude) => onChange({ ...corner, longitude })}
      />
      <Button kind="plain icon" aria-label={text.removeCorner(index + 1)} onClick={onRemove}>
        <CloseIcon size={16} />
      </Button>
    </li>
  );
}

function Polygon({ draft, selected }: { draft: Signal<Draft>; selected: Signal<number | undefined> }) {
  const { geofences: text } = texts.value;
  const set = (corners: readonly DraftPoint[]) => assign(draft, { ...draft.value, corners });
  const { corners } = draft.value;
  return (
    <>
      <ol class="corners" aria-label={text.corners(corners.length)}>
        {corners.map((corner, index) => (
          <Corner
            key={index}
            index={index}
            corner={corner}
            isSelected={selected.value === index}
            onFocus={() => assign(selected, index)}
            onChange={(changed) => set(corners.with(index, changed))}
            onRemove={() => {
              selected.value = undefined;
              set(corners.filter((_unused, other) => other !== index));
            }}
          />
        ))}
      </ol>
      <div>
        <Button onClick={() => set([...corners, nowhere])}>{text.addCorner}</Button>
      </div>
    </>
  );
}

function Width({ draft, error }: { draft: Signal<Draft>; error: string | undefined }) {
  const { geofences: text } = texts.value;
  return (
    <Field label={text.width(shownUnit('m', preferences.value.units))} error={error}>
      {(input) => (
        <QuantityInput
          {...input}
          {...facts.widthMetres}
          unit="m"
          isRequired
          value={draft.value.widthMetres}
          onValue={(widthMetres) => assign(draft, { ...draft.value, widthMetres })}
        />
      )}
    </Field>
  );
}

interface GeofenceFormOptions {
  readonly appId: string;
  /** Undefined for a new one. */
  readonly geofence: Geofence | undefined;
  readonly draft: Signal<Draft>;
  readonly corner: Signal<number | undefined>;
  readonly onClose: () => void;
}

function describe(shown: Geofence): Readonly<Record<string, string>> {
  const { geofences: text } = texts.value;
  return {
    [text.name]: shown.name,
    [text.shape]: `${shapeText(shown)}: ${JSON.stringify(shown.geometry.coordinates)}`,
    [text.windows]: JSON.stringify([shown.timeZone, shown.windows]),
  };
}

/** Describes a shape below the map. */
function shapeTexts(type: Draft['type']) {
  const { geofences: text } = texts.value;
  return {
    Point: { title: text.newCircle, help: text.drawCircle, unfinished: text.needsCentre },
    Polygon: { title: text.newPolygon, help: text.drawPolygon, unfinished: text.needsCorners },
    LineString: { title: text.newCorridor, help: text.drawCorridor, unfinished: text.needsLine },
  }[type];
}

/** The geofence that is drawn on the map, as a form; everything can be typed. */
export function GeofenceForm({ appId, geofence, draft, corner, onClose }: GeofenceFormOptions) {
  const { geofences: text } = texts.value;
  const saving = useSave(geofence);
  const unfinished = useSignal<string | undefined>(undefined);
  const { type } = draft.value;
  const isCircle = type === 'Point';
  const words = shapeTexts(type);
  const submit = () => {
    const body = toBody(draft.value);
    unfinished.value = body ? undefined : words.unfinished;
    if (!body) return;
    const header = headerFor(appId);
    if (!geofence) {
      saving.run(() => answerOf(api.POST('/v1/x/geofences', { params: { header }, body })), onClose);
      return;
    }
    const params = { path: { id: geofence.id }, header };
    saving.runUnlessChanged(
      async () => (await loadGeofences(appId)).find(({ id }) => id === geofence.id),
      () => answerOf(api.PUT('/v1/x/geofences/{id}', { params, body })),
      onClose,
    );
  };
  const { failure } = saving;
  const shapeError = unfinished.value ?? errorOf(failure, 'geometry');
  const title = geofence?.name ?? words.title;
  return (
    <Form class="form geofence-form" aria-label={title} onSubmit={submit}>
      <h2>{title}</h2>
      <TextInput
        label={text.name}
        value={draft.value.name}
        error={errorOf(failure, 'name')}
        maxLength={facts.name.maxLength}
        onValue={(name) => assign(draft, { ...draft.value, name })}
      />
      <p class="muted">{words.help}</p>
      {isCircle && <Circle draft={draft} error={errorOf(failure, 'radiusMetres')} />}
      {!isCircle && <Polygon draft={draft} selected={corner} />}
      {type === 'LineString' && <Width draft={draft} error={errorOf(failure, 'widthMetres')} />}
      <Windows draft={draft} error={errorOf(failure, 'timeZone') ?? errorOf(failure, 'windows')} />
      {shapeError && (
        <small class="field-error" role="alert">
          {shapeError}
        </small>
      )}
      {geofence && <p class="muted">{text.restarts}</p>}
      <FormEnd
        saving={saving}
        describe={describe}
        failure={errorBeyond(failure, ['name', 'geometry', 'radiusMetres', 'widthMetres', 'timeZone', 'windows'])}
        onTheirs={(theirs) => assign(draft, toDraft(theirs))}
        onClose={onClose}
      />
    </Form>
  );
}
