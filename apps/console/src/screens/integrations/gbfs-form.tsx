import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { CallFailure } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { errorOf, Field, NumberInput, SelectField } from '../../parts/forms/fields.tsx';
import { nameVehicles, VehicleScope } from '../../parts/forms/vehicle-picker.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { assign } from '../../signals.ts';
import { lookUp, texts } from '../../texts/texts.ts';
import { type GbfsSettings, readPath, type Section, type Spec, specs, writePath } from './gbfs-members.ts';

interface PartOptions {
  readonly draft: Signal<GbfsSettings>;
  readonly failure: CallFailure | undefined;
}

const set = (draft: Signal<GbfsSettings>, path: string, value: unknown) =>
  assign(draft, writePath(draft.value, path, value) as GbfsSettings);

interface Localized {
  readonly text: string;
  readonly language: string;
}

interface FieldOptions extends PartOptions {
  readonly path: string;
  readonly label: string;
  readonly spec: Spec;
}

/** Fields for a text in each language of the system. */
function textAt(draft: GbfsSettings, path: string): string {
  const value = readPath(draft, path);
  return typeof value === 'string' ? value : '';
}

function LocalizedField({ draft, failure, path, label, spec }: FieldOptions) {
  const { languages } = draft.value.system;
  const entries = (readPath(draft.value, path) as readonly Localized[] | undefined) ?? [];
  const change = (language: string, text: string) => {
    const known = entries.some((entry) => entry.language === language) ? entries : [...entries, { text, language }];
    const next = known.map((entry) => (entry.language === language ? { text, language } : entry));
    const written = next.filter((entry) => entry.text !== '');
    set(draft, path, written.length === 0 ? undefined : written);
  };
  return languages.map((language, index) => (
    <Field
      key={language}
      label={languages.length === 1 ? label : `${label} (${language})`}
      error={index === 0 ? errorOf(failure, path) : undefined}
    >
      {(input) => (
        <input
          {...input}
          class="input"
          required={spec.isRequired}
          maxLength={2000}
          value={entries.find((entry) => entry.language === language)?.text ?? ''}
          onInput={({ currentTarget }) => change(language, currentTarget.value)}
        />
      )}
    </Field>
  ));
}

interface WordsOptions {
  readonly label: string;
  readonly hint: string;
  readonly error: string | undefined;
  readonly words: readonly string[];
  readonly onWords: (words: readonly string[]) => void;
}

/** A field for words, separated by spaces or commas. */
function WordsField({ label, hint, error, words, onWords }: WordsOptions) {
  const written = useSignal('');
  const wordsOf = (text: string) => text.split(/[\s,]+/).filter((word) => word !== '');
  // An opened file replaces the words.
  const isOutdated = wordsOf(written.value).join(' ') !== words.join(' ');
  return (
    <Field label={label} hint={hint} error={error}>
      {(input) => (
        <input
          {...input}
          class="input"
          required
          value={isOutdated ? words.join(' ') : written.value}
          onInput={({ currentTarget: { value } }) => {
            written.value = value;
            onWords(wordsOf(value));
          }}
        />
      )}
    </Field>
  );
}

/** Returns the first price of a list by time or distance, and a function that replaces it and keeps the others. */
function rateOf(draft: GbfsSettings, path: string) {
  const [first, ...others] = (readPath(draft, path) as readonly { rate: number }[] | undefined) ?? [];
  const withRate = (rate: number | undefined) => [{ start: 0, interval: 1, ...first, rate }, ...others];
  return { rate: first?.rate, withRate };
}

function NumberField({ draft, failure, path, label, spec }: FieldOptions) {
  const isRate = spec.kind === 'rate';
  const { rate, withRate } = isRate ? rateOf(draft.value, path) : { rate: undefined, withRate: undefined };
  const value = isRate ? rate : readPath(draft.value, path);
  return (
    <Field label={label} hint={lookUp(texts.value.gbfs.hints, spec.name)} error={errorOf(failure, path)}>
      {(input) => (
        <NumberInput
          {...input}
          minimum={spec.minimum}
          maximum={spec.maximum}
          isRequired={spec.isRequired ?? false}
          value={typeof value === 'number' ? value : undefined}
          onValue={(number) => set(draft, path, withRate ? withRate(number) : number)}
        />
      )}
    </Field>
  );
}

function TextField({ draft, failure, path, label, spec }: FieldOptions) {
  return (
    <Field label={label} hint={lookUp(texts.value.gbfs.hints, spec.name)} error={errorOf(failure, path)}>
      {(input) => (
        <input
          {...input}
          class="input"
          inputMode={spec.kind === 'url' || spec.kind === 'email' ? spec.kind : 'text'}
          autocomplete="off"
          spellcheck={false}
          required={spec.isRequired}
          value={textAt(draft.value, path)}
          onInput={({ currentTarget }) => set(draft, path, currentTarget.value || undefined)}
        />
      )}
    </Field>
  );
}

function FlagField({ draft, path, label }: FieldOptions) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={readPath(draft.value, path) === true}
        onChange={({ currentTarget }) => set(draft, path, currentTarget.checked)}
      />
      {label}
    </label>
  );
}

function ChoiceField({ draft, path, label, spec }: FieldOptions) {
  const { gbfs: text } = texts.value;
  const options = (spec.options ?? []).map((word) => [word, lookUp(text.words, word) ?? word] as const);
  return (
    <SelectField
      label={label}
      value={textAt(draft.value, path)}
      options={spec.isRequired ? options : [['', text.notGiven], ...options]}
      onChange={(word) => set(draft, path, word || undefined)}
    />
  );
}

function SettingsField(options: FieldOptions) {
  const { draft, failure, path, label, spec } = options;
  if (spec.kind === 'localized') return <LocalizedField {...options} />;
  if (spec.kind === 'number' || spec.kind === 'rate') return <NumberField {...options} />;
  if (spec.kind === 'flag') return <FlagField {...options} />;
  if (spec.kind === 'choice') return <ChoiceField {...options} />;
  if (spec.kind !== 'words') return <TextField {...options} />;
  return (
    <WordsField
      label={label}
      hint={texts.value.gbfs.languagesHint}
      error={errorOf(failure, path)}
      words={draft.value.system.languages}
      onWords={(languages) => set(draft, path, languages)}
    />
  );
}

/** The fields of an object of the settings. @param prefix of its members */
function Fields({ section, prefix, ...part }: PartOptions & { section: Section; prefix: string }) {
  const labels: Readonly<Record<string, string>> = texts.value.gbfs.fields[section];
  return (
    <div class="field-grid">
      {specs[section].map((spec: Spec) => (
        <SettingsField
          key={spec.name}
          {...part}
          spec={spec}
          path={prefix + spec.name}
          label={labels[spec.name] ?? spec.name}
        />
      ))}
    </div>
  );
}

interface RowsOptions extends PartOptions {
  readonly section: 'vehicleTypes' | 'pricingPlans';
  /** A new row for the person to complete. */
  readonly proposed: object;
  readonly fewest: number;
  readonly children?: ComponentChildren;
}

/** Adds, edits and removes vehicle types or pricing plans. */
function Rows({ section, proposed, fewest, children, ...part }: RowsOptions) {
  const { gbfs: text, remove } = texts.value;
  const { draft } = part;
  const rows: readonly object[] = draft.value[section] ?? [];
  const title = text.sections[section];
  return (
    <fieldset class="plain stack">
      <legend>{title}</legend>
      {children}
      {rows.map((_row, index) => (
        <section key={index} class="card form" aria-label={`${title} ${index + 1}`}>
          <Fields {...part} section={section} prefix={`${section}.${index}.`} />
          {rows.length > fewest && (
            <div class="row start">
              <Button
                aria-label={`${remove}: ${title} ${index + 1}`}
                onClick={() => set(draft, section, rows.toSpliced(index, 1))}
              >
                {remove}
              </Button>
            </div>
          )}
        </section>
      ))}
      <div class="row start">
        <Button onClick={() => set(draft, section, [...rows, proposed])}>{text.addRow[section]}</Button>
      </div>
    </fieldset>
  );
}

/** Chooses the parking spots that are published. */
function Stations({ draft, failure }: PartOptions) {
  const { gbfs: text } = texts.value;
  const { stations } = draft.value;
  const choice = typeof stations === 'string' ? stations : 'listed';
  return (
    <>
      <SelectField
        label={text.stations}
        value={choice}
        options={(['all', 'none', 'listed'] as const).map((one) => [one, text.stationChoices[one]])}
        onChange={(one) => set(draft, 'stations', one === 'listed' ? [] : one)}
      />
      {typeof stations !== 'string' && (
        <WordsField
          label={text.stationIds}
          hint={text.stationIdsHint}
          error={errorOf(failure, 'stations')}
          words={stations}
          onWords={(ids) => set(draft, 'stations', ids)}
        />
      )}
    </>
  );
}

/** Chooses the vehicles that are published. */
function Vehicles({ appId, draft, failure }: PartOptions & { appId: string }) {
  const { vehicleIds } = draft.value;
  // Without plates, the identifiers stay.
  const named = useLoad(() => nameVehicles(appId, vehicleIds ?? []).catch(() => []), [], [vehicleIds?.join()]);
  const vehicles = (vehicleIds ?? []).map((id) => named.data?.find((one) => one.id === id) ?? { id, plate: id });
  return (
    <VehicleScope
      appId={appId}
      scope={{ isForAll: vehicleIds === undefined, vehicles }}
      mayBeAll
      failure={failure}
      onChange={({ isForAll, vehicles: chosen = [] }) =>
        set(draft, 'vehicleIds', isForAll === true ? undefined : chosen.map(({ id }) => id))
      }
    />
  );
}

/** A form for the settings of a publication; members without a field are kept. */
export function GbfsFields({ appId, ...part }: PartOptions & { appId: string }) {
  const { gbfs: text } = texts.value;
  const address: Spec = { name: 'publicUrl', kind: 'url', isRequired: true };
  const language = part.draft.value.system.languages[0] ?? 'en';
  const proposedPlan = {
    ...{ plan_id: '', name: [{ text: '', language }], description: [{ text: '', language }], currency: 'EUR' },
    ...{ price: 0, is_taxable: false },
  };
  return (
    <>
      <TextField {...part} path="publicUrl" label={text.publicUrl} spec={address} />
      <fieldset class="plain stack">
        <legend>{text.sections.system}</legend>
        <Fields {...part} section="system" prefix="system." />
      </fieldset>
      <Rows
        {...part}
        section="vehicleTypes"
        proposed={{ vehicle_type_id: '', form_factor: 'car', propulsion_type: 'combustion' }}
        fewest={1}
      >
        <p class="muted">{text.typesHint}</p>
      </Rows>
      <Rows {...part} section="pricingPlans" proposed={proposedPlan} fewest={0} />
      <fieldset class="plain stack">
        <legend>{text.sections.feeds}</legend>
        <Stations {...part} />
        <Vehicles {...part} appId={appId} />
        <Fields {...part} section="feeds" prefix="" />
      </fieldset>
    </>
  );
}
