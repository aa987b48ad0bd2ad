interface SelectFieldOptions {
  readonly label: string;
  readonly name?: string;
  readonly value: string;
  /** The value and the text of each choice. */
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly hint?: string | undefined;
  readonly isDisabled?: boolean;
  readonly onChange: (value: string) => void;
}

/** A field with a choice of a few values. */
export function SelectField({ label, name, value, options, hint, isDisabled = false, onChange }: SelectFieldOptions) {
  return (
    <label class="field">
      <span>{label}</span>
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
      {hint && <small class="muted">{hint}</small>}
    </label>
  );
}

interface TextFieldOptions {
  readonly label: string;
  readonly name: string;
  readonly hint?: string;
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
    <label class="field">
      <span>{label}</span>
      <input class="input" type="text" name={name} title={hint} autocomplete="off" spellcheck={false} {...rules} />
      {hint && <small class="muted">{hint}</small>}
    </label>
  );
}
