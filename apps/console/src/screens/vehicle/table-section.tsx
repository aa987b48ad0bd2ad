import type { ComponentChildren } from 'preact';

interface TableOptions {
  readonly title: string;
  readonly none: string;
  readonly heads: readonly string[];
  readonly rows: readonly ComponentChildren[];
}

/** Renders a section with a table, or a message if the table is empty. */
export function TableSection({ title, none, heads, rows }: TableOptions) {
  return (
    <div class="stack">
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="muted">{none}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
        <section class="card table-frame" tabIndex={0} aria-label={title}>
          <table class="table">
            <thead>
              <tr>
                {heads.map((head) => (
                  <th key={head} scope="col">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>{rows}</tbody>
          </table>
        </section>
      )}
    </div>
  );
}
