import { useEffect, useRef } from 'preact/hooks';

/** A search is started this long after the last key. */
export const typingMs = 250;

interface SearchBoxOptions {
  readonly label: string;
  readonly placeholder: string;
  readonly initial: string;
  /** Called with the text, without white space around it, when a person pauses. */
  readonly onSearch: (text: string) => void;
}

/** A field for text that the platform searches for. */
export function SearchBox({ label, placeholder, initial, onSearch }: SearchBoxOptions) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // A pending search would change the address of the next screen.
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <search class="search">
      <input
        class="input"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        defaultValue={initial}
        onInput={({ currentTarget: { value } }) => {
          clearTimeout(timer.current);
          timer.current = setTimeout(() => onSearch(value.trim()), typingMs);
        }}
      />
    </search>
  );
}
