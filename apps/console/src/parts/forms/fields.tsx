import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { CallFailure } from '../../api/client.ts';
import { preferences } from '../../preferences.ts';
import { readNumber, writeNumber } from '../../texts/numbers.ts';
import { locale, texts } from '../../texts/texts.ts';
import { fromInput, toInput, toInputLimits } from '../../texts/units.ts';

interface FormOptions {
  readonly class: string;
  readonly 'aria-label'?: string;
  readonly onSubmit: (form: HTMLFormElement) => void;
  readonly children: ComponentChildren;
}

/** A form that the page submits in place of the browser. */
export function Form({ onSubmit, ...attributes }: FormOptions) {
  return (
    <form
      {...attributes}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(event.currentTarget);
      }}
    />
  );
}

/** Reads the fields of a form as text; files are left out. */
export function readFields(form: HTMLFormElement): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...new FormData(form)].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

/** Attributes that tie an input to its label and to the message of its fault. */
interface InputAttributes {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string | undefined;
}

interface FieldOptions {
  readonly label: string;
  readonly error?: string | undefined;
  readonly hint?: string | undefined;
  readonly children: (input: InputAttributes) => ComponentChildren;
}

/** An input with its label above it, and below it the message of its fault or a hint. */
export function Field({ label, error, hint, children }: FieldOptions) {
  const id = useId();
  const note = error ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-invalid': error !== undefined, 'aria-describedby': note && `${id}-note` })}
      {note && (
        <small id={`${id}-note`} class={error ? 'field-error' : 'muted'} {...(error && { role: 'alert' })}>
          {note}
        </small>
      )}
    </div>
  );
}

/** The message of a refused call if this field of its body is at fault, or a part of it. */
export function errorOf(failure: CallFailure | undefined, field: string): string | undefined {
  const fault = failure?.field ?? '';
  const isAtFault = fault === field || fault.startsWith(`${field}.`) || fault.startsWith(`${field}[`);
  return isAtFault ? failure?.message : undefined;
}

/** The message of a refused call if none of these fields shows it. */
export function errorBeyond(failure: CallFailure | undefined, fields: readonly string[]): string | undefined {
  return fields.some((field) => errorOf(failure, field) !== undefined) ? undefined : failure?.message;
}

interface NumberInputOptions extends Partial<InputAttributes> {
  readonly value: number | undefined;
  readonly onValue: (value: number | undefined) => void;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly isRequired?: boolean;
  readonly 'aria-label'?: string;
}

/** Describes what is wrong with the text of a number input; empty for nothing. */
function faultOf(text: string, limits: Pick<NumberInputOptions, 'minimum' | 'maximum'>): string {
  if (text.trim() === '') return '';
  const { numbers } = texts.value;
  const number = readNumber(text, locale.value, limits);
  const { minimum = -Infinity, maximum = Infinity } = limits;
  const write = (one: number) => writeNumber(one, locale.value);
  if (number === undefined) return numbers.invalid(write(1234.5));
  if (number >= minimum && number <= maximum) return '';
  return maximum === Infinity ? numbers.atLeast(write(minimum)) : numbers.between(write(minimum), write(maximum));
}

/**
 * An input for a number; undefined while what it holds is none. Not of the type number: Chromium drops the comma of
 * "12,5" in an English browser, and the form would save 125.
 */
export function NumberInput({ value, onValue, minimum, maximum, isRequired, ...attributes }: NumberInputOptions) {
  const input = useRef<HTMLInputElement>(null);
  const limits = { minimum, maximum };
  useLayoutEffect(() => {
    const element = input.current;
    if (!element) return;
    // Half a number, such as "2.", is not rewritten while a person types it.
    if (readNumber(element.value, locale.value, limits) !== value) {
      element.value = value === undefined ? '' : writeNumber(value, locale.value);
    }
    element.setCustomValidity(faultOf(element.value, limits));
  }, [value, minimum, maximum, locale.value]);
  return (
    <input
      {...attributes}
      ref={input}
      class="input"
      type="text"
      // The keyboard for decimals lacks a minus sign on some phones.
      inputMode={minimum !== undefined && minimum >= 0 ? 'decimal' : 'text'}
      autocomplete="off"
      required={isRequired}
      onInput={({ currentTarget }) => {
        currentTarget.setCustomValidity(faultOf(currentTarget.value, limits));
        onValue(readNumber(currentTarget.value, locale.value, limits));
      }}
    />
  );
}

interface QuantityInputOptions extends NumberInputOptions {
  /** Metric, like the value and its limits; the person types in the chosen units. */
  readonly unit: string;
}

/** An input for a number with a unit, in the chosen units. */
export function QuantityInput({ unit, value, onValue, minimum, maximum, ...attributes }: QuantityInputOptions) {
  const { units } = preferences.value;
  return (
    <NumberInput
      {...attributes}
      {...toInputLimits({ minimum, maximum }, unit, units)}
      value={value === undefined ? undefined : toInput(value, unit, units)}
      onValue={(typed) => onValue(typed === undefined ? undefined : fromInput(typed, unit, units))}
    />
  );
}

interface TextInputOptions {
  readonly label: string;
  readonly value: string;
  readonly error?: string | undefined;
  readonly hint?: string;
  readonly maxLength: number;
  readonly isOptional?: boolean;
  readonly onValue: (value: string) => void;
}

/** A field for text that the page holds. */
export function TextInput({ label, value, error, hint, maxLength, isOptional = false, onValue }: TextInputOptions) {
  return (
    <Field label={label} error={error} hint={hint}>
      {(input) => (
        <input
          {...input}
          class="input"
          autocomplete="off"
          required={!isOptional}
          maxLength={maxLength}
          value={value}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    </Field>
  );
}

export interface LabelledOptions {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly children: ComponentChildren;
}

/** An input inside its label, with a hint below it. */
export function Labelled({ label, hint, children }: LabelledOptions) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the children hold the input
    <label class="field">
      <span>{label}</span>
      {children}
      {hint && <small class="muted">{hint}</small>}
    </label>
  );
}

interface SelectFieldOptions extends Omit<LabelledOptions, 'children'> {
  readonly name?: string;
  readonly value: string;
  /** The value and the text of each choice. */
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly isDisabled?: boolean;
  readonly onChange: (value: string) => void;
}

/** A field with a choice of a few values. */
export function SelectField({ label, name, value, options, hint, isDisabled = false, onChange }: SelectFieldOptions) {
  return (
    <Labelled label={label} hint={hint}>
      <select
        class="input"
        name={name}
        value={value}
        disabled={isDisabled}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      >
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

interface ChoiceOptions<Word extends string> {
  readonly label: string;
  readonly name: string;
  readonly chosen: Word;
  readonly options: readonly (readonly [value: Word, text: string])[];
  readonly onChoose: (value: Word) => void;
}

/** A radio group for a few options; only screen readers announce its label. */
export function Choice<Word extends string>({ label, name, chosen, options, onChoose }: ChoiceOptions<Word>) {
  return (
    <fieldset class="choice">
      <legend class="visually-hidden">{label}</legend>
      {options.map(([value, text]) => (
        <label key={value}>
          <input
            class="visually-hidden"
            type="radio"
            name={name}
            checked={chosen === value}
            onChange={() => onChoose(value)}
          />
          {text}
        </label>
      ))}
    </fieldset>
  );
}

/** A radio group for a few options, with a visible label. */
export function LabelledChoice<Word extends string>(options: ChoiceOptions<Word>) {
  return (
    <div class="field">
      <span>{options.label}</span>
      <Choice {...options} />
    </div>
  );
}

interface TextFieldOptions extends Omit<LabelledOptions, 'children'> {
  readonly name: string;
  readonly required?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  /** Of the whole text; `hint` says it in words. */
  readonly pattern?: string;
  readonly defaultValue?: string;
}

/** A field for text. */
export function TextField({ label, name, hint, ...rules }: TextFieldOptions) {
  return (
    <Labelled label={label} hint={hint}>
      <input class="input" type="text" name={name} title={hint} autocomplete="off" spellcheck={false} {...rules} />
    </Labelled>
  );
}
